"""Snapshots of an app: every stateful step under a stable name, in one sealed byte string."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
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
    said = repr((app.annotations, app.definitions, app.executions))
    return hashlib.sha256(said.encode()).hexdigest()[:32]


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
                holds now is no data, so that it could not be put back.
        """
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
