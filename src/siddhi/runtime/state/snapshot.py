"""Snapshots of an app: the state of every element under a stable name, in one byte string with a checksum."""

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

__all__ = ["Element", "SnapshotService", "Stateful", "check_form", "difference"]

_States = dict[str, tuple[str, SnapshotReader]]
"""Definition and state of each element of a snapshot, by name."""

logger = logging.getLogger("siddhi")

_LATEST = 1 << 62
"""Latest valid time of a clock in ms: times can be added without overflow."""

_PROCESSING = "it was requested from within a callback or function of the app, whose event is still being processed"
_RESTORE_LATER = "restore after the send has returned"
_SAVE_LATER = "save after the send has returned, from another thread, or with manager.persist_every(...)"
_TOO_LATE = f"later than the maximum of {_LATEST} ms in a snapshot: timestamps are milliseconds since 1970"
_CHANGED = "its definition has changed"
_NAME_QUERIES = " (name queries with @info(name = '...'))"


class Stateful(Protocol):
    """An object whose state is part of snapshots."""

    def save(self, writer: SnapshotWriter, /) -> None: ...
    def load(self, reader: SnapshotReader, /) -> None: ...


@dataclass
class Element:
    """A query, partition, table, ... with state.

    Attributes:
        describe: returns its definition in the app; a state can be restored if the definition is the same.
        steps: the objects with state, by a name that is stable across builds of the app.
        reset: called instead of loading if a snapshot has state of its owner but none of it; None: it keeps its state.
    """

    describe: Callable[[], str]
    steps: dict[str, Stateful] = field(default_factory=dict)
    reset: Callable[[], None] | None = None

    @cached_property
    def definition(self) -> str:
        """Its definition in the app."""
        return self.describe()


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
        """Return the state of all elements; call ``meanwhile`` while no event can arrive.

        Raises:
            CannotSaveStateError: the caller is processing an event of the app, which some elements have seen and others
                have not; or the state can't be serialized, or an extension fails, or :meth:`restore` would refuse the state,
                such as a time out of range.
        """
        lock = self._context.lock
        if lock.is_mine:
            raise self._not_taken(f"{_PROCESSING}; {_SAVE_LATER}")
        with lock:
            if lock.is_borrowed:
                raise self._not_taken(f"{_PROCESSING}; {_SAVE_LATER}")
            return self._take(meanwhile)

    def _take(self, meanwhile: Callable[[], None]) -> bytes:
        with self._context.lock:
            meanwhile()
            clock = self._context.now if self._context.playback else None
            if not _is_clock(clock):
                raise self._not_taken(f"its clock is at {clock} ms, {_TOO_LATE}")
            writer = SnapshotWriter()
            # In playback the clock decides whether an event is late, so the clock is state.
            writer.put(clock)
            writer.put(len(self._elements))
            for name, element in self._elements.items():
                writer.put(name)
                writer.put(element.definition)
                begun = writer.begin()
                self._save(name, element, writer)
                writer.end(begun)
            return seal(writer.getvalue())

    def restore(self, data: bytes) -> None:
        """Replace the state of all elements in the snapshot; if that fails, the state is unchanged.

        Elements without state in the snapshot keep theirs. State of elements that the app no longer has is ignored with a
        warning.

        Raises:
            DamagedSnapshotError: the bytes are not those of a snapshot as it was taken.
            CannotRestoreStateError: the snapshot is of an unknown version or of another app, or the definition of an element
                has changed; or the current state can't be serialized, so that it could not be rolled back; or the caller is
                processing an event of the app.
        """
        if self._context.lock.is_mine:
            raise self._restore_error(f"{_PROCESSING}; {_RESTORE_LATER}")
        try:
            payload = unseal(data)
        except TornSnapshotError as error:
            raise self._restore_error(error, DamagedSnapshotError) from error
        except ValueError as error:
            raise self._restore_error(error) from error
        with self._context.lock:
            if self._context.lock.is_borrowed:
                raise self._restore_error(f"{_PROCESSING}; {_RESTORE_LATER}")
            try:
                before = unseal(self._take(lambda: None))
            except CannotSaveStateError as error:
                raise self._restore_error(f"its current state can't be saved for a rollback: {error}") from error
            try:
                self._load(payload, before)
            except Exception as error:
                left = self._roll_back(before)
                raise self._restore_error(f"{error}{left}") from error

    @property
    def elements(self) -> Mapping[str, Element]:
        """The elements with state, by name."""
        return self._elements

    def read(self, data: bytes) -> tuple[int | None, _States]:
        """Return the clock of a snapshot, and definition and state of each of its elements by its name in the snapshot.

        Raises:
            DamagedSnapshotError: the bytes are not those of a snapshot as it was taken.
            CannotRestoreStateError: the snapshot is of an unknown version.
        """
        try:
            return _parts(unseal(data))
        except TornSnapshotError as error:
            raise self._restore_error(error, DamagedSnapshotError) from error
        except ValueError as error:
            raise self._restore_error(error) from error

    def save_element(self, name: str) -> bytes:
        """Return the state of one element; the caller holds the app's lock.

        Raises:
            CannotSaveStateError: the state can't be serialized.
        """
        writer = SnapshotWriter()
        begun = writer.begin()
        self._save(name, self._elements[name], writer)
        writer.end(begun)
        return writer.getvalue()

    def load_elements(self, states: Mapping[str, SnapshotReader], *, renew: bool = True) -> None:
        """Load the states of some elements.

        Args:
            states: by element.
            renew: the operators are new: reset what was not in use with the states.

        Raises:
            Exception: a state does not fit its element.
        """
        for name, element in self._elements.items():
            if name in states:
                _load(name, element, states[name])
            elif renew and element.reset is not None:
                element.reset()

    def include(self, name: str, element: Element) -> None:
        """Add an element; the caller holds the app's lock."""
        self._elements[name] = element

    def leave_out(self, name: str) -> None:
        """Exclude an element from snapshots; restoring does not change it."""
        self._elements.pop(name, None)

    def shown(self, name: str, part: str = "") -> dict[str, list[object]]:
        """Return the state of an element for display, by step; empty if it has none.

        Args:
            name: name of the element.
            part: only the steps ``part/step`` and those that belong to no part; empty: all steps.
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
        parts = self._by_present_name(parts)
        known = [name for name in parts if name in self._elements]
        if parts and not known:
            raise ValueError(
                f"the snapshot belongs to another app: it contains state of {_listed(parts)}{_hint(parts, parts)}"
            )
        changed = [
            f"the definition of {name} has changed since the snapshot was taken{said.removeprefix(_CHANGED)}"
            for name in known
            if (said := difference(name, parts[name][0], self._elements[name].definition)) is not None
        ]
        if changed:
            raise ValueError("\n".join(changed))
        removed = [
            name for name, (definition, _) in parts.items() if name not in self._elements and definition != "@limit"
        ]
        if removed:
            logger.warning(
                "app '%s': ignored state in the snapshot of elements that the app no longer has: %s%s",
                self._context.name,
                _listed(removed),
                _hint(parts, removed),
            )
        kept = _parts(before)[1]
        self._begin(clock)
        for name, element in self._elements.items():
            if name not in parts and element.reset is not None:
                element.reset()
            else:
                _load(name, element, (parts[name] if name in parts else kept[name])[1])

    def _by_present_name(self, parts: _States) -> _States:
        """Return the states of a snapshot by the present names of their elements: queries without a name have others."""
        from siddhi.runtime.state.identity import matched  # loaded with the first restore

        before = {name: definition for name, (definition, _) in parts.items()}
        names = matched(before, {name: element.definition for name, element in self._elements.items()})
        taken = set(names.values())
        # A former element is not one of the app that happens to have its name.
        return {names.get(name, f"former {name}" if name in taken else name): part for name, part in parts.items()}

    def _roll_back(self, before: bytes) -> str:
        """Roll back to the previous state; return a text with the elements (of extensions) that failed to load it."""
        clock, parts = _parts(before)
        self._begin(clock)
        failed = []
        for name, element in self._elements.items():
            try:
                _load(name, element, parts[name][1])
            except Exception:
                logger.exception(
                    "app '%s': the previous state of %s could not be rolled back", self._context.name, name
                )
                failed.append(name)
        return f"; the previous state could not be rolled back in {_listed(failed)}" if failed else ""

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

    def _restore_error(
        self, why: object, kind: type[CannotRestoreStateError] = CannotRestoreStateError
    ) -> CannotRestoreStateError:
        return kind(f"the state of app '{self._context.name}' was not restored: {why}")


def _load(name: str, element: Element, part: SnapshotReader) -> None:
    for step, stateful in element.steps.items():
        if part.get() != step:
            raise ValueError(f"the snapshot has no state of {step} of {name}")
        stateful.load(part)
    if not part.at_end():
        raise ValueError(f"the snapshot has state of {name} that the app does not expect")


def check_form(data: bytes) -> None:
    """Check that the bytes are a whole snapshot of this format version, with a state under each of its elements' names.

    Raises:
        ValueError: they are not.
    """
    _parts(unseal(data))


def _parts(payload: bytes) -> tuple[int | None, _States]:
    """Return the clock, and by element its definition and its state."""
    reader = SnapshotReader(payload)
    clock = reader.get()
    if not _is_clock(clock):
        raise ValueError("the snapshot is damaged: its clock is not a valid time")
    count = reader.get()
    if type(count) is not int:
        raise ValueError("the snapshot is damaged: its number of elements is invalid")
    parts: dict[str, tuple[str, SnapshotReader]] = {}
    for _ in range(count):
        name, definition = reader.get(), reader.get()
        if type(name) is not str or type(definition) is not str or name in parts:
            raise ValueError("the snapshot is damaged: the name of an element is invalid")
        parts[name] = (definition, reader.part())
    if not reader.at_end():
        raise ValueError("the snapshot is damaged: there are bytes after its last element")
    return clock, parts


def _is_clock(clock: object) -> bool:
    return clock is None or (type(clock) is int and -_LATEST <= clock <= _LATEST)


def difference(name: str, before: str, now: str) -> str | None:
    """Return the lines in which two definitions of an element differ; None: they are equal."""
    if before == now:
        return None
    from siddhi.runtime.state.identity import is_unnamed  # loaded with the first difference

    lines = [
        line
        for line in difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]
    shown = "\n".join(f"  {line}" for line in lines[:8])
    hint = _NAME_QUERIES if is_unnamed(name, now) else ""
    return f"{_CHANGED}{hint}:\n{shown}"


def _hint(parts: Mapping[str, tuple[str, SnapshotReader]], names: Iterable[str]) -> str:
    """Return a hint if queries are missing that are identified only by their text."""
    from siddhi.runtime.state.identity import is_unnamed  # loaded with the first difference

    return _NAME_QUERIES if any(is_unnamed(name, parts[name][0]) for name in names) else ""


def _listed(names: Mapping[str, object] | list[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")
