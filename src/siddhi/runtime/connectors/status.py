"""What is known of a running source or sink: its counters, buffer and connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ConnectorStatus", "size_of"]


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """A source or sink of an app since it was started.

    Attributes:
        kind: source or sink.
        stream: its stream.
        number: which source or sink of the stream, from 1.
        type: the name of the connector, such as kafka.
        connected: whether it is connected.
        paused: whether it is a source that is paused.
        payloads: number of payloads received or published.
        events: number of events that a source sent into the app, or that a sink was given.
        bytes: size of the payloads that are texts or bytes.
        failures: number of payloads that could not be mapped, or not be published.
        reconnects: how often the connection was made again.
        waiting: number of payloads in its buffer; None: it has none.
        capacity: largest number of payloads in its buffer.
        lag: number of messages that the server has for a source and that it has not received; None: unknown.
        error: the error of the last attempt to connect, if it failed.
    """

    kind: Literal["source", "sink"]
    stream: str
    number: int
    type: str
    connected: bool
    paused: bool = False
    payloads: int = 0
    events: int = 0
    bytes: int = 0
    failures: int = 0
    reconnects: int = 0
    waiting: int | None = None
    capacity: int | None = None
    lag: int | None = None
    error: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name in statistics: the stream, with a number from its second connector on."""
        name = self.stream if self.number == 1 else f"{self.stream}.{self.number}"
        return "Sources" if self.kind == "source" else "Sinks", name


def size_of(payload: object) -> int:
    """Return the bytes of a text, in UTF-8, or of bytes; 0 for other payloads."""
    if isinstance(payload, str):
        return len(payload) if payload.isascii() else len(payload.encode("utf-8", "surrogatepass"))
    return len(payload) if isinstance(payload, (bytes, bytearray, memoryview)) else 0
