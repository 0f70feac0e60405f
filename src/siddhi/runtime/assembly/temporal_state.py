"""State of the temporal streams and queries of an app, as steps of one element of its snapshots.

Lifetimes are shared by operators. So the first step has the lifetimes themselves, and the others refer to them by number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from siddhi._core.temporal.lifetime import LifetimePool, TemporalOperator

if TYPE_CHECKING:
    from siddhi._core.snapshot.format import SnapshotReader, SnapshotWriter
    from siddhi.runtime.state.snapshot import Stateful

__all__ = ["SHARED", "steps_of"]

SHARED = "(streams)"
"""Part of the steps that belong to no query."""


class _Network(Protocol):
    """What a state needs of the temporal operators of an app."""

    @property
    def lifetimes(self) -> LifetimePool: ...
    @property
    def operators(self) -> Mapping[str, TemporalOperator]:
        """Operators that every build of the app has, by a stable name."""

    @property
    def outputs(self) -> Mapping[str, TemporalOperator]:
        """What streams show, by stream; those that something receives."""

    @property
    def released(self) -> tuple[TemporalOperator, tuple[str, ...]] | None:
        """The release to classical queries and its streams; None: there are no such queries."""

    def require_output(self, stream: str) -> TemporalOperator:
        """Return what a stream shows; make it if nothing receives it yet.

        Raises:
            ValueError: there is no such stream.
        """


def steps_of(network: _Network) -> dict[str, Stateful]:
    """Return the steps of the element, in the order in which they are read."""
    steps: dict[str, Stateful] = {f"{SHARED}/lifetimes": _Lifetimes(network)}
    steps |= network.operators
    steps[f"{SHARED}/release"] = _Release(network)
    steps[f"{SHARED}/outputs"] = _Outputs(network)
    return steps


class _Lifetimes:
    def __init__(self, network: _Network) -> None:
        self._network = network

    def save(self, writer: SnapshotWriter, /) -> None:
        self._network.lifetimes.save(writer)

    def load(self, reader: SnapshotReader, /) -> None:
        network = self._network
        released = () if network.released is None else (network.released[0],)
        for operator in (*network.operators.values(), *network.outputs.values(), *released):
            operator.forget()
        network.lifetimes.load(reader)


class _Release:
    def __init__(self, network: _Network) -> None:
        self._network = network

    def save(self, writer: SnapshotWriter, /) -> None:
        released = self._network.released
        writer.put([] if released is None else list(released[1]))
        if released is not None:
            released[0].save(writer)

    def load(self, reader: SnapshotReader, /) -> None:
        released = self._network.released
        before, now = reader.get(), [] if released is None else list(released[1])
        if before != now:
            raise ValueError(
                "the temporal streams that classical queries read have changed since the snapshot was taken: "
                f"{before} before, {now} now"
            )
        if released is not None:
            released[0].load(reader)


class _Outputs:
    """What streams show. An output that exists only in the snapshot is made: callbacks may be added after the restore."""

    def __init__(self, network: _Network) -> None:
        self._network = network

    def save(self, writer: SnapshotWriter, /) -> None:
        outputs = self._network.outputs
        writer.put(sorted(outputs))
        for stream in sorted(outputs):
            outputs[stream].save(writer)

    def load(self, reader: SnapshotReader, /) -> None:
        streams = reader.get()
        if type(streams) is not list or not all(type(stream) is str for stream in streams):
            raise ValueError("snapshot is damaged: the names of temporal streams are invalid")
        if len(set(streams)) != len(streams):
            raise ValueError("snapshot is damaged: a temporal stream is there twice")
        for stream in streams:
            self._network.require_output(stream).load(reader)
        self._network.lifetimes.settle()
