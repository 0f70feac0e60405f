"""Aggregation plan → operators that aggregate events, and searches of the buckets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from siddhi._core.aggregate.aggregator import AggregatorStates
from siddhi._core.query.entry import QueryEntry
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.rollup.aggregation import (
    Aggregation,
    AggregationPurge,
    AggregationSearch,
    BucketLength,
    Calendar,
    FinishKind,
    Fold,
    FoldKind,
)
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.table.table import Table
from siddhi._frozen import frozen
from siddhi.planner.plan.access import JoinLookup
from siddhi.planner.plan.aggregations import AggregationPlan, AggregationReadPlan, BaseKind, OutputKind
from siddhi.planner.plan.expressions import OUTPUT_SLOT, Attr, Comparison, Const, TypedExpression
from siddhi.planner.plan.time import duration_named, kept_duration, time_range
from siddhi.planner.plan.walk import conjuncts
from siddhi.query_api.definition import Duration
from siddhi.query_api.expression import CompareOperator
from siddhi.runtime.assembly.aggregation.store import BucketStore
from siddhi.runtime.assembly.chain import Chain, add_handlers, leading_filters, read_mask
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.limits import key_limit
from siddhi.runtime.assembly.query import Site
from siddhi.runtime.assembly.record_layout import RecordLayout
from siddhi.runtime.assembly.types import layout_of
from siddhi.types import AttributeType

__all__ = ["AggregationContent", "BuiltAggregation", "bounds_in_zone"]

_LENGTHS = {
    Duration.SECONDS: BucketLength.SECOND,
    Duration.MINUTES: BucketLength.MINUTE,
    Duration.HOURS: BucketLength.HOUR,
    Duration.DAYS: BucketLength.DAY,
    Duration.MONTHS: BucketLength.MONTH,
    Duration.YEARS: BucketLength.YEAR,
}
_FOLDS = {
    BaseKind.COUNT: FoldKind.COUNT,
    BaseKind.SUM: FoldKind.SUM,
    BaseKind.MINIMUM: FoldKind.MINIMUM,
    BaseKind.MAXIMUM: FoldKind.MAXIMUM,
    BaseKind.DISTINCT: FoldKind.DISTINCT,
    BaseKind.DEVIATION: FoldKind.DEVIATION,
    BaseKind.LATEST: FoldKind.LATEST,
}
_FINISHES = {
    OutputKind.STORED: FinishKind.AS_STORED,
    OutputKind.MEAN: FinishKind.MEAN,
    OutputKind.SIZE: FinishKind.SIZE,
    OutputKind.SPREAD: FinishKind.SPREAD,
    OutputKind.COMPUTED: FinishKind.COMPUTED,
}
_GATED = (AttributeType.STRING, AttributeType.LONG, AttributeType.INT)
_HOUR_MS = 3_600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def bounds_in_zone(name: str) -> Callable[[int, int], tuple[int, int]] | None:
    """Return a function for begin and end of buckets of an hour and longer in a time zone; None for GMT.

    Args:
        name: name of the zone.

    Raises:
        ZoneInfoNotFoundError: there is no such zone.
    """
    if name in ("GMT", "UTC"):
        return None
    zone = ZoneInfo(name)

    def bounds(length: int, time: int) -> tuple[int, int]:
        try:
            local = (_EPOCH + timedelta(milliseconds=time)).astimezone(zone)
        except OverflowError:
            raise ValueError(
                f"time {time} ms is out of range in time zone '{name}': expected a year from 1 to 9999"
            ) from None
        if length == BucketLength.HOUR:
            # By the offset of the time itself: the repeated hour at the end of summer time is two buckets.
            offset = local.utcoffset() or timedelta()
            start = time - (time + offset // timedelta(milliseconds=1)) % _HOUR_MS
            return start, start + _HOUR_MS
        day, month, year = local.day, local.month, local.year
        if length == BucketLength.DAY:
            first = datetime(year, month, day, tzinfo=zone)
            following = first + timedelta(days=1)
        elif length == BucketLength.MONTH:
            first = datetime(year, month, 1, tzinfo=zone)
            following = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=zone)
        else:
            first, following = datetime(year, 1, 1, tzinfo=zone), datetime(year + 1, 1, 1, tzinfo=zone)
        return _ms(first), _ms(following)

    return bounds


def _ms(time: datetime) -> int:
    return (time.astimezone(timezone.utc) - _EPOCH) // timedelta(milliseconds=1)


@dataclass(slots=True)
class BuiltAggregation:
    """An aggregation of an app.

    Args:
        plan: the aggregation.
        source: the stream it reads.
        site: build context of queries outside of partitions.
    """

    plan: AggregationPlan
    source: StreamJunction
    site: Site
    core: Aggregation = field(init=False)
    entry: QueryEntry = field(init=False)
    answers: Layout = field(init=False)
    pool: EventPool = field(init=False)
    stateful: dict[str, Processor] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        plan, site = self.plan, self.site
        self.answers = layout_of(plan.attributes)
        self.pool = EventPool(self.answers)
        chain, record_layout, copier = Chain(), RecordLayout(self.source.layout), None
        filters, handlers = leading_filters(plan.input.before)
        builder = site.builder({0: record_layout.cells})
        conditions = builder.build_all([handler.condition for handler in filters])
        aggregators = builder.aggregators
        if handlers:
            record_layout, copier = record_layout.widened(plan.input, plan.input.before)
            more, processors = add_handlers(handlers, plan.input.source_width, record_layout, chain, site)
            aggregators += more
            for number, step in enumerate(processors):
                step.make_state(0)
                self.stateful[f"processor {number}"] = step
        self.core = self._build(record_layout)
        chain.add(self.core)
        if plan.limit is not None:
            where, limit = f"aggregation '{plan.id}'", plan.limit
            self.core.set_limit(
                key_limit(site.context.name, where, "groups in buckets", "aggregation.keys", limit, limit.keys, None)
            )
        if aggregators:
            self.stateful["filters"] = AggregatorStates(site.context, aggregators)
            self.stateful["filters"].make_state(0)
        self.stateful["rows"] = self.core
        if plan.purge is not None and any(retention is not None for retention in plan.purge.retention_ms):
            purge = AggregationPurge(self.core, plan.purge.interval_ms, plan.purge.retention_ms)
            self.stateful["purge"] = purge
            site.starting.append(purge)
        reads = read_mask(plan.input)
        self.entry = QueryEntry(site.context, conditions, copier, chain.first or self.core, self.source, reads)
        if plan.limit is not None:
            self.entry.set_refusals(self.core.refusals)

    def _build(self, record_layout: RecordLayout) -> Aggregation:
        plan = self.plan
        builder = self.site.builder({0: record_layout.cells})
        tables = [
            (int(_LENGTHS[duration]), self._rows(table))
            for duration, table in zip(plan.durations, plan.tables, strict=True)
        ]
        in_memory = tables[0][1]
        over_rows = self.site.builder({0: Cells(layout_of(plan.stored))})
        fold = Fold(
            in_memory.pool if isinstance(in_memory, Table) else EventPool(layout_of(plan.stored)),
            self.pool,
            [
                (int(_FOLDS[base.kind]), None if base.argument is None else builder.build(base.argument), base.position)
                for base in plan.base_values
            ],
            [
                (
                    int(_FINISHES[output.kind]),
                    output.position,
                    output.count,
                    None if output.expression is None else over_rows.build(output.expression),
                )
                for output in plan.outputs
            ],
            -1 if plan.last is None else plan.last,
        )
        return Aggregation(
            self.site.context,
            plan.id,
            fold,
            tables,
            Calendar(bounds_in_zone(plan.zone)),
            None if plan.by is None else builder.build(plan.by),
            builder.build_all(plan.group_by),
            plan.first_group,
            plan.shard is not None,
        )

    def _rows(self, table: str) -> Table | BucketStore:
        tables, plan = self.site.tables, self.plan
        if table not in tables.stores:
            return tables[table]
        by = 0 if plan.by is None else plan.first_group - 1 + (plan.shard is not None)
        return BucketStore(tables.stores[table], plan.shard, by, len(plan.group_by), plan.span)

    def search(
        self, reading: AggregationReadPlan, condition: TypedExpression | None, slot: int, builder: ExpressionBuilder
    ) -> AggregationSearch:
        """Build a search of the aggregation.

        Args:
            reading: time range and bucket length of the search.
            condition: condition over the rows found; None: all rows match.
            slot: event slot of the rows found.
            builder: has the cells of all slots.
        """
        plan = self.plan
        search = AggregationSearch(
            self.core,
            slot,
            None if condition is None else builder.build(condition),
            builder.build_all(reading.within) if reading.range is None else reading.range,
            time_range,
            builder.build(reading.per)
            if reading.duration is None
            else kept_duration(reading.duration, plan.durations, plan.id),
            lambda text: kept_duration(duration_named(text), plan.durations, plan.id),
            [(group, builder.build(value)) for group, value in self._gates(condition, slot)],
        )
        search.meter = self.site.context.meter("Aggregations", plan.id, "find")
        return search

    def _gates(self, condition: TypedExpression | None, slot: int) -> Iterator[tuple[int, TypedExpression]]:
        """Yield the group attributes that a condition compares with a value that does not depend on the row."""
        group_at = {
            1 + number: output.position - self.plan.first_group for number, output in enumerate(self.plan.outputs)
        }
        for part in conjuncts(condition):
            if not isinstance(part, Comparison) or part.operator is not CompareOperator.EQUAL:
                continue
            for key, value in ((part.left, part.right), (part.right, part.left)):
                if not isinstance(key, Attr) or key.slot != slot or key.type not in _GATED:
                    continue
                group = group_at.get(key.position, -1)
                is_known = isinstance(value, Const) or (
                    isinstance(value, Attr) and value.slot not in (slot, OUTPUT_SLOT)
                )
                if 0 <= group < len(self.plan.group_by) and is_known and value.type is key.type:
                    yield group, value
                    break


@frozen
class AggregationContent:
    """An aggregation as one side of a join."""

    built: BuiltAggregation
    reading: AggregationReadPlan

    @property
    def layout(self) -> Layout:
        """Layout of the rows found."""
        return self.built.answers

    def search(
        self,
        on: TypedExpression | None,
        lookup: JoinLookup | None,
        slot: int,
        builder: ExpressionBuilder,
    ) -> AggregationSearch:
        """Build a search of the aggregation; buckets are found by time alone."""
        if lookup is not None:
            raise TypeError("a join with an aggregation has no access by index")
        return self.built.search(self.reading, on, slot, builder)
