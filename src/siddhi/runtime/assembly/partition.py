"""Partition plan → keys, receivers and inner queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from siddhi._core.expression.cast import make_convert
from siddhi._core.expression.executor import Executor
from siddhi._core.query.partition import (
    BroadcastReceiver,
    PartitionKeys,
    PartitionReceiver,
    PartitionUses,
    RangePartitionReceiver,
    ValuePartitionReceiver,
)
from siddhi._core.record.event import TypeCode
from siddhi._core.runtime.key_limit import KeyLimit
from siddhi._core.stream.junction import StreamJunction
from siddhi.planner.plan.nodes import PartitionPlan, RangeKeyPlan, ValueKeyPlan
from siddhi.runtime.assembly.expressions import Cells
from siddhi.runtime.assembly.limits import key_limit
from siddhi.runtime.assembly.query import BuiltQuery, Site
from siddhi.runtime.assembly.types import type_code

__all__ = ["BuiltPartition"]


@dataclass(slots=True)
class BuiltPartition:
    """A partition: its keys, and one receiver per stream that its queries read.

    Attributes:
        plan: the partition.
        site: build context of its queries.
        outer: junctions of the app by stream.
        inner: junctions of the partition's inner streams.
        queries: the queries built so far; they have one state per key.
        limit: limit of the keys.
        uses: order in which limited keys were used.
    """

    plan: PartitionPlan
    site: Site
    outer: Mapping[str, StreamJunction]
    inner: dict[str, StreamJunction] = field(default_factory=dict)
    queries: list[BuiltQuery] = field(default_factory=list)
    keys: PartitionKeys = field(init=False)
    limit: KeyLimit | None = field(init=False, default=None)
    uses: PartitionUses | None = field(init=False, default=None)
    _receivers: dict[str, PartitionReceiver] = field(default_factory=dict)
    _key_type: int = field(init=False)

    def __post_init__(self) -> None:
        types = {
            type_code(key.expression.type) if isinstance(key, ValueKeyPlan) else int(TypeCode.STRING)
            for key in self.plan.keys
        }
        # Keys of one type are compared as they are; keys of several types as text, so that int 5 equals string "5".
        self._key_type = types.pop() if len(types) == 1 else int(TypeCode.STRING)
        purge = self.plan.purge
        self.keys = PartitionKeys(
            self.site.context,
            self._key_type,
            self._make_state,
            self._drop_state,
            0 if purge is None else purge.interval_ms,
            0 if purge is None else purge.idle_period_ms,
        )
        if self.plan.limit is not None:
            where, limit = f"partition '{self.plan.name}'", self.plan.limit
            self.limit = key_limit(self.site.context.name, where, "keys", "partition.keys", limit, limit.keys, None)
            self.uses = self.keys.set_limit(self.limit)

    def receiver(self, stream: str) -> PartitionReceiver:
        """Return the receiver of a stream, to which the entries of queries subscribe."""
        receiver = self._receivers.get(stream)
        if receiver is None:
            receiver = self._build_receiver(stream)
            self._receivers[stream] = receiver
            self.outer[stream].subscribe(receiver)
        return receiver

    def look_for(self, wanted: Callable[[str], bool]) -> None:
        """Process only events with a wanted label."""
        for receiver in self._receivers.values():
            if isinstance(receiver, RangePartitionReceiver):
                receiver.look_for(wanted)

    def _build_receiver(self, stream: str) -> PartitionReceiver:
        key = next((key for key in self.plan.keys if key.stream == stream), None)
        context = self.site.context
        builder = self.site.builder({0: Cells(self.outer[stream].layout)})
        if key is None:
            return BroadcastReceiver(context, self.keys, self.outer[stream])
        if isinstance(key, RangeKeyPlan):
            return RangePartitionReceiver(
                context,
                self.keys,
                self.outer[stream],
                tuple(label for label, _ in key.ranges),
                builder.build_all([condition for _, condition in key.ranges]),
            )
        expression = self._as_key(builder.build(key.expression))
        return ValuePartitionReceiver(context, self.keys, self.outer[stream], expression)

    def _as_key(self, executor: Executor) -> Executor:
        return executor if executor.type == self._key_type else make_convert(executor, self._key_type)

    def _make_state(self, slot: int) -> None:
        for query in self.queries:
            query.make_state(slot)

    def _drop_state(self, slot: int) -> None:
        for query in self.queries:
            query.drop_state(slot)
