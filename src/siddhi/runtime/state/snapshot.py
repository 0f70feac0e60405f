"""Snapshots of an app: the state of every element under a stable name, in one sealed byte string."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from siddhi._core.runtime.context import AppContext
from siddhi._core.snapshot.format import SnapshotReader, SnapshotWriter, TornSnapshotError, seal, unseal
from siddhi.errors import CannotRestoreStateError, CannotSaveStateError, DamagedSnapshotError

__all__ = ["Element", "SnapshotService", "Stateful"]

logger = logging.getLogger("siddhi")

_LATEST = 1 << 62
"""No clock stands beyond it, in ms: times can be added without overflow."""

_AT_WORK = (
    "a callback or function of the app asked for it, or waits in it, and the event it was called for is still at work"
)
_RESTORE_LATER = "restore when the send has returned"
_ASK_LATER = "save when the send has returned, from another thread, or with manager.persist_every(...)"
_TOO_LATE = f"beyond the {_LATEST} ms that a snapshot can hold: timestamps are milliseconds since 1970"
_NAME_QUERIES = " (name queries with @info(name = '...'))"


class Stateful(Protocol):
    """Something whose state is part of snapshots."""

    def save(self, writer: SnapshotWriter, /) -> None: ...
    def load(self, reader: SnapshotReader, /) -> None: ...


@dataclass
class Element:
    """A query, partition, table, ... that holds state.

    Attributes:
        tell: what the app says about it; its state fits what says the same.
        steps: where the state is, by a name that is the same whenever the app is built.
        renew: called in place of loading where a snapshot has no state of it but of what it belongs to; None: it stays as it is.
    """

    tell: Callable[[], str]
    steps: dict[str, Stateful] = field(default_factory=dict)
    renew: Callable[[], None] | None = None

    @cached_property
    def said(self) -> str:
        """What the app says about it."""
        return self.tell()


class SnapshotService:
    """Takes and restores snapshots of the elements it is given.

    Args:
        context: of the app; its lock keeps events away meanwhile.
        elements: those that hold state, by stable name.
    """

    def __init__(self, context: AppContext, elements: Mapping[str, Element]) -> None:
        self._context = context
        self._elements = dict(elements)

    def take(self, meanwhile: Callable[[], None] = lambda: None) -> bytes:
        """The state of all elements; ``meanwhile`` is called while no event can come.

        Raises:
            CannotSaveStateError: an event is at work in the app that asks, of which some elements know and others not yet;
                or the app holds an object that is not data, or an extension in it fails, or its clock stands where
                :meth:`restore` takes none.
        """
        lock = self._context.lock
        if lock.is_mine:
            raise self._not_taken(f"{_AT_WORK}; {_ASK_LATER}")
        with lock:
            if lock.is_borrowed:
                raise self._not_taken(f"{_AT_WORK}; {_ASK_LATER}")
            return self._take(meanwhile)

    def _take(self, meanwhile: Callable[[], None]) -> bytes:
        with self._context.lock:
            meanwhile()
            clock = self._context.now if self._context.playback else None
            if not _is_clock(clock):
                raise self._not_taken(f"its clock stands at {clock} ms, {_TOO_LATE}")
            writer = SnapshotWriter()
            # In playback an event that comes late is judged by the clock, so the clock is state.
            writer.put(clock)
            writer.put(len(self._elements))
            for name, element in self._elements.items():
                writer.put(name)
                writer.put(element.said)
                begun = writer.begin()
                self._save(name, element, writer)
                writer.end(begun)
            return seal(writer.getvalue())

    def restore(self, data: bytes) -> None:
        """Replace the state of all elements the snapshot knows; if that fails, the state stays as it was.

        Elements that the app has and the snapshot has not stay as they are; the state of those that the app has no more is
        left behind, with a warning.

        Raises:
            DamagedSnapshotError: the bytes are not those of a snapshot as it was taken.
            CannotRestoreStateError: the snapshot is of an unknown version, of another app, or of one that said something else
                of an element; or what the app holds now is not data, so that it could not be put back; or an event is at work
                in the app that asks.
        """
        if self._context.lock.is_mine:
            raise self._refusal(f"{_AT_WORK}; {_RESTORE_LATER}")
        try:
            payload = unseal(data)
        except TornSnapshotError as error:
            raise self._refusal(error, DamagedSnapshotError) from error
        except ValueError as error:
            raise self._refusal(error) from error
        with self._context.lock:
            if self._context.lock.is_borrowed:
                raise self._refusal(f"{_AT_WORK}; {_RESTORE_LATER}")
            try:
                before = unseal(self._take(lambda: None))
            except CannotSaveStateError as error:
                raise self._refusal(f"what it holds now can't be set aside: {error}") from error
            try:
                self._load(payload, before)
            except Exception as error:
                left = self._put_back(before)
                raise self._refusal(f"{error}{left}") from error

    def leave_out(self, name: str) -> None:
        """Keep an element out of snapshots; restoring leaves it as it is."""
        self._elements.pop(name, None)

    def shown(self, name: str, part: str = "") -> dict[str, list[object]]:
        """The state of an element for a person to look at, by step; nothing where it has none.

        Args:
            name: of the element.
            part: of it: the steps ``part/step``, and those that belong to no part; empty: all of it.
        """
        found: dict[str, list[object]] = {}
        with self._context.lock:
            for step, stateful in self._elements[name].steps.items() if name in self._elements else ():
                owner, inside, own = step.rpartition("/")
                if part and inside and owner != part:
                    continue
                writer = SnapshotWriter(shows=True)
                stateful.save(writer)
                found[own if part else step] = writer.shown
        return found

    def _load(self, payload: bytes, before: bytes) -> None:
        clock, parts = _parts(payload)
        known = [name for name in parts if name in self._elements]
        if parts and not known:
            raise ValueError(
                f"the snapshot belongs to another app: it has the state of {_listed(parts)}{_hint(parts, parts)}"
            )
        changed = [_difference(name, parts[name][0], self._elements[name].said) for name in known]
        if any(changed):
            raise ValueError("\n".join(filter(None, changed)))
        gone = [name for name, (said, _) in parts.items() if name not in self._elements and said != "@limit"]
        if gone:
            logger.warning(
                "app '%s': the snapshot has state of what the app has no more; it is left behind: %s%s",
                self._context.name,
                _listed(gone),
                _hint(parts, gone),
            )
        kept = _parts(before)[1]
        self._begin(clock)
        for name, element in self._elements.items():
            if name not in parts and element.renew is not None:
                element.renew()
            else:
                _load(name, element, (parts[name] if name in parts else kept[name])[1])

    def _put_back(self, before: bytes) -> str:
        """Load what the app held before; what says which elements did not take it, where it is code of the user's."""
        clock, parts = _parts(before)
        self._begin(clock)
        failed = []
        for name, element in self._elements.items():
            try:
                _load(name, element, parts[name][1])
            except Exception:
                logger.exception("app '%s': %s could not be given back its state", self._context.name, name)
                failed.append(name)
        return f"; what it held before could not be given back to {_listed(failed)}" if failed else ""

    def _begin(self, clock: int | None) -> None:
        self._context.cancel_timers()
        if clock is not None:
            self._context.restore_clock(clock)

    def _save(self, name: str, element: Element, writer: SnapshotWriter) -> None:
        for step, stateful in element.steps.items():
            writer.put(step)
            try:
                stateful.save(writer)
            except Exception as error:
                raise self._not_taken(f"{name}, {step}: {error}") from error

    def _not_taken(self, why: str) -> CannotSaveStateError:
        return CannotSaveStateError(f"the state of app '{self._context.name}' was not saved: {why}")

    def _refusal(
        self, why: object, kind: type[CannotRestoreStateError] = CannotRestoreStateError
    ) -> CannotRestoreStateError:
        return kind(f"the state of app '{self._context.name}' was not restored: {why}")


def _load(name: str, element: Element, part: SnapshotReader) -> None:
    for step, stateful in element.steps.items():
        if part.get() != step:
            raise ValueError(f"it has no state of {step} of {name}")
        stateful.load(part)
    if not part.at_end():
        raise ValueError(f"it has more of {name} than the app can take")


def _parts(payload: bytes) -> tuple[int | None, dict[str, tuple[str, SnapshotReader]]]:
    """The clock, and by element what the app said of it and its state."""
    reader = SnapshotReader(payload)
    clock = reader.get()
    if not _is_clock(clock):
        raise ValueError("snapshot is damaged: its clock is not a time")
    count = reader.get()
    if type(count) is not int:
        raise ValueError("snapshot is damaged: it does not say how many elements it has")
    parts: dict[str, tuple[str, SnapshotReader]] = {}
    for _ in range(count):
        name, said = reader.get(), reader.get()
        if type(name) is not str or type(said) is not str or name in parts:
            raise ValueError("snapshot is damaged: an element without name")
        parts[name] = (said, reader.part())
    if not reader.at_end():
        raise ValueError("snapshot is damaged: it has more than it says")
    return clock, parts


def _is_clock(clock: object) -> bool:
    return clock is None or (type(clock) is int and -_LATEST <= clock <= _LATEST)


def _difference(name: str, before: str, now: str) -> str | None:
    """What says that an element is another one than in the snapshot; None where it is the same."""
    if before == now:
        return None
    lines = [
        line
        for line in difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]
    shown = "\n".join(f"  {line}" for line in lines[:8])
    hint = _NAME_QUERIES if _is_unnamed(name, now) else ""
    return f"{name} is not what it was when the snapshot was taken{hint}:\n{shown}"


def _is_unnamed(name: str, said: str) -> bool:
    return name.startswith("query") and "@info" not in said


def _hint(parts: Mapping[str, tuple[str, SnapshotReader]], names: Iterable[str]) -> str:
    """What to say where queries are missing that are known by their place only."""
    return _NAME_QUERIES if any(_is_unnamed(name, parts[name][0]) for name in names) else ""


def _listed(names: Mapping[str, object] | list[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")
