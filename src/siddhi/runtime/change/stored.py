"""The states of a snapshot that elements of another version of the app can take over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from siddhi.runtime.state.identity import matched, owner_of
from siddhi.runtime.state.snapshot import difference

if TYPE_CHECKING:
    from siddhi._core.snapshot.format import SnapshotReader
    from siddhi.runtime.change.matching import Parts
    from siddhi.runtime.state.snapshot import SnapshotService

__all__ = ["StoredStates"]


class StoredStates:
    """The states of a snapshot by the present names of their elements.

    Args:
        state: the elements of the app.
        snapshot: the snapshot.
        parts: definitions, queries and partitions of the app.
        reset: names or labels of elements that start anew.

    Attributes:
        clock: the clock of the app in playback, ms; None: it ran on the system's clock.
        states: state by label.
        buffers: state of buffers of ``@async`` streams by label.
        anew: labels of the elements that start anew.
        reasons: by label, why an element can't take its state.

    Raises:
        DamagedSnapshotError, CannotRestoreStateError: the snapshot can't be read.
        ValueError: there is no element of a name in ``reset``.
    """

    def __init__(self, state: SnapshotService, snapshot: bytes, parts: Parts, reset: Sequence[str]) -> None:
        self.clock, found = state.read(snapshot)
        requested = parts.requested(reset, parts)
        owned = {
            f"table '{id_}'"
            for id_, table in parts.plan.tables.items()
            if table.owner and f"aggregation '{table.owner}'" in requested
        }
        self.anew = {label for label in state.elements if owner_of(label) in requested | owned}
        self.states: dict[str, SnapshotReader] = {}
        self.buffers: dict[str, SnapshotReader] = {}
        self.reasons: dict[str, str] = {}
        names = matched(
            {label: definition for label, (definition, _) in found.items()},
            {label: element.definition for label, element in state.elements.items()},
        )
        for label, (definition, reader) in found.items():
            target = names.get(label)
            if target is None or target not in state.elements or target in self.anew:
                continue
            change = difference(target, definition, state.elements[target].definition)
            if change is not None:
                self.reasons[target] = f"{target}: {change}"
            elif label.startswith("buffer of "):
                self.buffers[target] = reader
            else:
                self.states[target] = reader
