"""``@sink(type = 'stdout')``: writes payloads to the standard output."""

from __future__ import annotations

import sys

from siddhi.errors import ConnectionUnavailableError, MappingFailedError
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import Sink

__all__ = ["StdoutSink"]


class StdoutSink(Sink):
    """Writes each payload as a line, and flushes."""

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        """There are no options."""

    def connect(self) -> None:
        """Do nothing."""

    def publish(self, payload: object, options: DynamicOptions) -> None:
        if isinstance(payload, (bytes, bytearray, memoryview)):
            raise MappingFailedError("sink 'stdout' writes texts, not bytes")
        text = str(payload)
        try:
            sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
            sys.stdout.flush()
        except (OSError, ValueError) as error:
            raise ConnectionUnavailableError(f"the standard output is closed: {error}") from error
