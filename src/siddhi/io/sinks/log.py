"""``@sink(type = 'log')``: logs payloads."""

from __future__ import annotations

import logging

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import Sink

__all__ = ["LogSink"]

logger = logging.getLogger("siddhi")

_LEVELS: dict[str, int | None] = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": None,
}


class LogSink(Sink):
    """Logs payloads to the logger ``siddhi``."""

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        priority = options.static("priority", "INFO")
        if priority.upper() not in _LEVELS:
            raise SiddhiAppCreationError(
                f"invalid priority '{priority}' of sink 'log'", code="E326", hint=f"use one of {', '.join(_LEVELS)}"
            )
        self._level = _LEVELS[priority.upper()]
        self._prefix = options.static("prefix", f"{context.app} : {context.stream}")

    def connect(self) -> None:
        """Do nothing."""

    def publish(self, payload: object, options: DynamicOptions) -> None:
        if self._level is not None:
            logger.log(self._level, "%s : %s", self._prefix, payload)
