"""Server-sent events: the lines of a stream ``text/event-stream``, read and written."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

__all__ = ["EventReader", "ServerEvent", "event_text"]


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event.

    Attributes:
        data: its lines, joined.
        event: its kind; without one ``message``.
        id: the last identifier until it; None: there was none.
    """

    data: str
    event: str = "message"
    id: str | None = None


class EventReader:
    """Reads events from the bytes of a stream, which may be cut anywhere.

    Args:
        most: characters of the largest event.
        last_id: the last identifier before the stream.

    Attributes:
        last_id: the last identifier; None: there was none.
        retry: seconds to wait before the next connection, if the server has said so.
    """

    def __init__(self, most: int, last_id: str | None = None) -> None:
        self.last_id = last_id
        self.retry: float | None = None
        self._most = most
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._left = ""
        self._is_first = True
        self._after_return = False
        self._data: list[str] = []
        self._size = 0
        self._event = ""

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Return the events that end in some bytes.

        Raises:
            ValueError: an event is too large.
        """
        text = self._decoder.decode(data)
        if self._is_first and text:
            self._is_first = False
            text = text.removeprefix("\ufeff")
        if self._after_return and text:  # a line may end with CR LF, of which LF arrives later
            text = text.removeprefix("\n")
            self._after_return = False
        if text.endswith("\r"):
            self._after_return = True
        *lines, self._left = (self._left + text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if len(self._left) + self._size > self._most:
            raise ValueError(f"an event has more than {self._most} characters")
        events = []
        for line in lines:
            event = self._line(line)
            if event is not None:
                events.append(event)
        return events

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            data, event = self._data, self._event
            self._data, self._event, self._size = [], "", 0
            return ServerEvent("\n".join(data), event or "message", self.last_id) if data else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._size += len(value) + 1
            if self._size > self._most:
                raise ValueError(f"an event has more than {self._most} characters")
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id":
            if "\0" not in value:
                self.last_id = value or None
        elif name == "retry" and value.isascii() and value.isdecimal():
            self.retry = int(value) / 1000
        return None


def event_text(data: str, event: str | None = None, id_: str | None = None) -> str:
    """Return the text of an event.

    Raises:
        ValueError: kind or identifier contains a line end.
    """
    lines = []
    for name, value in (("event", event), ("id", id_)):
        if value is not None:
            if any(character in value for character in "\r\n\0"):
                raise ValueError(f"the {name} of an event can't contain line ends: {value!r}")
            lines.append(f"{name}: {value}\n")
    texts = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines.extend(f"data: {line}\n" for line in texts)
    return "".join(lines) + "\n"
