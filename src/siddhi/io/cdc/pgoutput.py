"""Messages of logical replication with the plugin ``pgoutput``, protocol version 1.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

__all__ = ["UNCHANGED", "Begin", "Change", "Commit", "Decoder"]

_EPOCH_MS = 946_684_800_000  # of PostgreSQL: 2000-01-01


class _Unchanged:
    """Stands for a large value that an update did not change, and that is not sent."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED = _Unchanged()


@dataclass(frozen=True, slots=True)
class Begin:
    """The begin of a transaction: position of its commit, and time of it in ms since 1970."""

    final: int
    time_ms: int


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction: the position after it."""

    end: int


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a row.

    Attributes:
        operation: insert, update or delete.
        relation: the object id of the table.
        before: the old values; of the key alone, or None, by the replica identity of the table.
        after: the new values; None for a delete.
    """

    operation: str
    relation: int
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    is_key: bool
    type: int


def _bytes(text: str) -> bytes:
    if not text.startswith("\\x"):
        raise ValueError(text)
    return bytes.fromhex(text[2:])


def _datetime(text: str) -> datetime | str:
    # '2024-01-31 12:30:00.5+02': Python before 3.11 wants three or six digits, and minutes of the offset.
    head, dot, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    zone = rest[len(digits) :]
    if not dot:
        at = max(head.rfind("+"), head.rfind("-", 11))
        head, zone = (head[:at], head[at:]) if at > 0 else (head, "")
    if zone and zone.count(":") == 0:
        zone += ":00"
    return datetime.fromisoformat(head + (f".{digits:0<6}" if digits else "") + zone)


_READERS: dict[int, Callable[[str], Any]] = {
    16: lambda text: text == "t",
    17: _bytes,
    **dict.fromkeys((20, 21, 23, 26), int),
    **dict.fromkeys((700, 701), float),
    1700: Decimal,
    1082: date.fromisoformat,
    1083: lambda text: time.fromisoformat(text) if "." not in text else time.fromisoformat(f"{text:0<15}"),
    1114: _datetime,
    1184: _datetime,
}
"""How texts of types of PostgreSQL are read, by object id; other types stay texts."""

_ABSENT: dict[int, Any] = {
    16: False,
    **dict.fromkeys((20, 21, 23, 26), 0),
    **dict.fromkeys((700, 701), 0.0),
    1700: Decimal(0),
}
"""What stands for a value of a side that a change does not have; texts otherwise."""


class Decoder:
    """Reads messages. Tables are described once, before their first change."""

    def __init__(self) -> None:
        self._relations: dict[int, list[_Column]] = {}

    def decode(self, message: bytes) -> Begin | Commit | Change | None:
        """Return what a message says; None: nothing about rows.

        Raises:
            ValueError: it is not a message of the protocol.
        """
        try:
            return self._decode(message)
        except (struct.error, IndexError, KeyError, UnicodeDecodeError) as error:
            raise ValueError(f"not a message of pgoutput: {type(error).__name__} in {message[:40]!r}") from error

    def _decode(self, message: bytes) -> Begin | Commit | Change | None:
        kind = message[:1]
        if kind == b"B":
            final, micros = struct.unpack_from("!Qq", message, 1)
            return Begin(final, _EPOCH_MS + micros // 1000)
        if kind == b"C":
            return Commit(struct.unpack_from("!Q", message, 10)[0])
        if kind == b"R":
            self._describe(message)
            return None
        if kind not in (b"I", b"U", b"D"):
            return None  # origin, type, truncate, message
        (relation,) = struct.unpack_from("!I", message, 1)
        columns = self._relations[relation]
        at, before, after = 5, None, None
        while at < len(message):
            side = message[at : at + 1]
            values, at = _tuple(message, at + 1, columns)
            if side == b"N":
                after = values
            else:  # the old row, or its key: columns that are not in the key are null in the message
                before = values if side == b"O" else {one.name: values[one.name] for one in columns if one.is_key}
        if after is not None and before is not None:
            after = {name: before.get(name, value) if value is UNCHANGED else value for name, value in after.items()}
        operation = {b"I": "insert", b"U": "update", b"D": "delete"}[kind]
        if operation == "update" and before is None and after is not None:
            before = {one.name: after[one.name] for one in columns if one.is_key}  # else the old key would be there
        return Change(operation, relation, before, after)

    def absent(self, relation: int) -> dict[str, Any]:
        """Return the values that stand for a side which a change of a table does not have."""
        return {column.name: _ABSENT.get(column.type, "") for column in self._relations[relation]}

    def _describe(self, message: bytes) -> None:
        (relation,) = struct.unpack_from("!I", message, 1)
        at = message.index(b"\0", message.index(b"\0", 5) + 1) + 2  # behind schema, name and replica identity
        (count,) = struct.unpack_from("!H", message, at)
        at += 2
        columns = []
        for _ in range(count):
            end = message.index(b"\0", at + 1)
            (type_,) = struct.unpack_from("!I", message, end + 1)
            columns.append(_Column(message[at + 1 : end].decode(), bool(message[at] & 1), type_))
            at = end + 9
        self._relations[relation] = columns


def _tuple(message: bytes, at: int, columns: list[_Column]) -> tuple[dict[str, Any], int]:
    (count,) = struct.unpack_from("!H", message, at)
    at += 2
    values: dict[str, Any] = {}
    for column in columns[:count]:
        kind = message[at : at + 1]
        at += 1
        if kind == b"n":
            values[column.name] = None
        elif kind == b"u":
            values[column.name] = UNCHANGED
        else:
            (length,) = struct.unpack_from("!I", message, at)
            at += 4
            values[column.name] = _value(message[at : at + length].decode(), column.type)
            at += length
    return values, at


def _value(text: str, type_: int) -> Any:
    reader = _READERS.get(type_)
    if reader is None:
        return text
    try:
        return reader(text)
    except (ValueError, ArithmeticError):
        return text  # such as 'infinity', or a year before Christ
