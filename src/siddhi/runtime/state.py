"""Snapshots of an app: every stateful step under a stable name, in one sealed byte string."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Protocol

from siddhi._core.context import AppContext
from siddhi._core.snapshot import SnapshotReader, SnapshotWriter, seal, unseal
from siddhi.errors import CannotRestoreStateError

if TYPE_CHECKING:
    from siddhi.query_api.app import SiddhiApp

__all__ = ["SnapshotService", "Stateful", "fingerprint_of"]


class Stateful(Protocol):
    """Something whose state is part of snapshots."""

    def save(self, writer: SnapshotWriter, /) -> None: ...
    def load(self, reader: SnapshotReader, /) -> None: ...


def fingerprint_of(app: SiddhiApp) -> str:
    """Identifies what an app says: state fits apps of the same fingerprint."""
    said = _said((app.annotations, app.definitions, app.executions))
    return hashlib.sha256(said.encode()).hexdigest()[:32]


class _Text(str):
    """Text to put out as it is."""

    __slots__ = ()


def _said(app: object) -> str:
    """What ``repr`` would say, in a loop: a chain of operators is a tree as deep as it is long."""
    pieces: list[str] = []
    pending = [app]
    while pending:
        item = pending.pop()
        if isinstance(item, _Text):
            pieces.append(item)
        elif isinstance(item, tuple):
            pending.append(_Text(",)" if len(item) == 1 else ")"))
            for place, part in reversed(list(enumerate(item))):
                pending += (part, _Text(", " if place else ""))
            pending.append(_Text("("))
        elif is_dataclass(item):
            pending.append(_Text(")"))
            for place, part in reversed(list(enumerate(part for part in fields(item) if part.repr))):
                pending += (getattr(item, part.name), _Text(f"{', ' if place else ''}{part.name}="))
            pending.append(_Text(f"{type(item).__qualname__}("))
        else:
            pieces.append(repr(item))
    return "".join(pieces)


class SnapshotService:
    """Takes and restores snapshots of the steps it is given.

    Args:
        context: of the app; its lock keeps events away meanwhile.
        fingerprint: of the app's text.
        steps: the stateful steps by stable name.
    """

    def __init__(self, context: AppContext, fingerprint: str, steps: Mapping[str, Stateful]) -> None:
        self._context = context
        self._fingerprint = fingerprint
        self._steps = dict(steps)

    def take(self) -> bytes:
        """The state of all steps."""
        with self._context.lock:
            writer = SnapshotWriter()
            # In playback an event that comes late is judged by the clock, so the clock is state.
            writer.put(self._context.now if self._context.playback else None)
            writer.put(len(self._steps))
            for name, step in self._steps.items():
                writer.put(name)
                step.save(writer)
            return seal(writer.getvalue(), self._fingerprint)

    def restore(self, data: bytes) -> None:
        """Replace the state of all steps; if that fails, the state stays as it was.

        Raises:
            CannotRestoreStateError: the snapshot is damaged, of an unknown version, or of another app; or what the app
                holds now is no data, so that it could not be put back; or an event is at work in the app that asks.
        """
        if self._context.lock.is_mine:
            raise CannotRestoreStateError(
                f"the state of app '{self._context.name}' was not restored: a callback or function of the app asked for it, "
                "and the event it was called for is still at work; restore when the send has returned"
            )
        with self._context.lock:
            try:
                before = self.take()
            except TypeError as error:
                raise CannotRestoreStateError(
                    f"the state of app '{self._context.name}' was not restored: what it holds now can't be set aside: {error}"
                ) from error
            try:
                self._load(data)
            except (ValueError, OverflowError, MemoryError) as error:
                self._load(before)
                raise CannotRestoreStateError(
                    f"the state of app '{self._context.name}' was not restored: {error}"
                ) from error

    def _load(self, data: bytes) -> None:
        reader = SnapshotReader(unseal(data, self._fingerprint))
        clock = reader.get()
        if clock is not None and not isinstance(clock, int):
            raise ValueError("its clock is no time")
        self._context.cancel_timers()
        if clock is not None:
            self._context.restore_clock(clock)
        if reader.get() != len(self._steps):
            raise ValueError("it holds other elements than the app")
        for name, step in self._steps.items():
            if reader.get() != name:
                raise ValueError(f"it has no state of {name}")
            step.load(reader)
        if not reader.at_end():
            raise ValueError("it has more than the app can take")
