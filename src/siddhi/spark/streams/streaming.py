"""An app over streaming DataFrames: every source is read once, all islands are one stateful operator, all outputs one query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.planner import Plan
from siddhi.planner.nodes import QueryPlan
from siddhi.spark.catalyst.bindings import Binding, bound, event_timestamp
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.catalyst.frames import SEQUENCE, TIME, Base, Branch, attribute_column
from siddhi.spark.catalyst.island_rows import TICK, door_columns, shard_of_row, shards_of_row
from siddhi.spark.catalyst.native import project
from siddhi.spark.layout.islands import Island, Layout, NativeStep, stateless_island
from siddhi.spark.layout.naming import app_called
from siddhi.spark.streams.ahead import behind_clock
from siddhi.spark.workers.late import LatePolicy
from siddhi.spark.workers.pack import PACKED, RELEASED, RowLayout, pack_rows
from siddhi.spark.workers.program import IslandProgram, TableFeed, slots_of, write_program
from siddhi.spark.workers.stateful import IslandProcessor, ShardRange
from siddhi.types import AttributeType

__all__ = ["Streaming", "StreamingPlan", "plan_streaming", "sources_of"]

_MARK = "__punctuation"


@dataclass(frozen=True, slots=True)
class StreamingPlan:
    """What a checkpoint is bound to.

    Attributes:
        islands: in order.
        programs: of the islands.
        outputs: (stream, island, number of the output within it), by the number of the output in all.
        native: streams that need no island, where there is none at all.
    """

    islands: tuple[Island, ...]
    programs: tuple[IslandProgram, ...]
    outputs: tuple[tuple[str, int, int], ...]
    native: tuple[str, ...] = ()


def plan_streaming(
    plan: Plan, layout: Layout, wanted: Sequence[str], *, always: bool = False, shards: int | None = None
) -> StreamingPlan:
    """The islands of a stream that puts out the wanted streams.

    Native steps in front of an island are expressions of its input; what else they fill goes, if anything in the app keeps
    state, through an island of its own that keeps none, so that it comes out in the same query.

    Args:
        always: take that way although nothing keeps state.
        shards: of an island; needed where labels of ranges are spread over them.
    """
    islands = list(layout.islands)
    native = [
        stream
        for stream in wanted
        if any(stream in step.element.writes for step in layout.native_steps)
        and not any(stream in island.inputs and stream in island.produced for island in islands)
    ]
    if not islands and (not always):
        return StreamingPlan((), (), (), tuple(native))
    if native:
        needed: list[NativeStep] = []
        streams = set(native)
        for step in reversed(layout.native_steps):
            if streams.intersection(step.element.writes):
                needed.append(step)
                streams.update(step.element.reads)
        islands.append(stateless_island([step.element for step in reversed(needed)], layout.bound))
    programs = []
    outputs: list[tuple[str, int, int]] = []
    for number, island in enumerate(islands):
        leaving = [stream for stream in island.produced if stream in wanted and stream in plan.streams]
        programs.append(write_program(plan, island, leaving, shards=shards))
        outputs += [(stream, number, n) for n, stream in enumerate(leaving)]
    return StreamingPlan(tuple(islands), tuple(programs), tuple(outputs))


def sources_of(plan: Plan, layout: Layout, streaming: StreamingPlan, bound: Collection[str]) -> list[str]:
    """The bound streams that a query reads, in the order in which Spark knows them."""
    if any(program.ticks for program in streaming.programs):
        return [stream for stream in plan.streams if stream in bound]
    wanted = {stream for island in streaming.islands for stream in island.inputs} | set(streaming.native)
    for step in reversed(layout.native_steps):
        if wanted.intersection(step.element.writes):
            wanted.update(step.element.reads)
    return [stream for stream in plan.streams if stream in bound and stream in wanted]


@dataclass(frozen=True, slots=True)
class Streaming:
    """Lowers a streaming plan over bindings.

    Attributes:
        punctuation: by stream, the folder of its punctuation.
        run: identifies this run of the query.
        last_clock: from this watermark on (ms) time goes on until nothing waits for it.
        ranges: the shards of each island.
        max_ahead: how far (ms) rows may be ahead of the clock; None: as far as they like.
    """

    plan: Plan
    layout: Layout
    streaming: StreamingPlan
    bindings: Mapping[str, Binding]
    punctuation: Mapping[str, str]
    shards: int
    late: LatePolicy
    run: str
    last_clock: int
    tables: Mapping[str, bytes]
    ranges: tuple[ShardRange, ...]
    max_ahead: int | None = None

    def released(self, spark: SparkSession) -> DataFrame:
        """What the stateful operator puts out: see :data:`siddhi.spark.workers.pack.RELEASED`."""
        rows, layout = self._rows(spark)
        ordering = self.ordering
        programs = tuple(
            replace(p, tables=tuple(TableFeed(s, self.tables[name]) for name, s in p.fills if name in self.tables))
            for p in self.streaming.programs
        )
        packed = rows.mapInArrow(pack_rows(programs, layout), PACKED)
        processor = IslandProcessor(programs, self.shards, ordering, self.run, self.late, self.last_clock, self.ranges)
        return packed.groupBy("shard").transformWithStateInPandas(
            statefulProcessor=processor, outputStructType=RELEASED, outputMode="Append", timeMode="EventTime"
        )

    def bases(self, spark: SparkSession) -> dict[str, Base]:
        """The bound streams."""
        sources = {stream: n for n, stream in enumerate(self.plan.streams)}
        sequence = self._sequence
        found = {}
        for stream in self.plan.streams:  # in this order, whatever the user's: Spark knows sources by their place
            binding = self.bindings.get(stream)
            if binding is None:
                continue
            if self.max_ahead is not None:
                time = event_timestamp(binding.frame, binding.timestamp)
                app, late = app_called(self.plan), self.late
                kept = behind_clock(binding.frame, time, self.max_ahead, stream=stream, app=app, late=late)
                binding = replace(binding, frame=kept)
            frame = watermarked(spark, binding, self.punctuation.get(stream))
            attributes = self.plan.streams[stream].attributes
            found[stream] = bound(replace(binding, frame=frame), attributes, source=sources[stream], sequence=sequence)
        return found

    @property
    def ordering(self) -> int:
        """How many columns order the rows: event time, source, those of the sequence, place."""
        return self._sequence + 3

    @property
    def _sequence(self) -> int:
        return max((len(binding.sequence) for binding in self.bindings.values()), default=1) or 1

    def branches(self, bases: Mapping[str, Base], stream: str, besides: Collection[str] = ()) -> list[Branch]:
        """The rows of a stream that native steps fill, those that an island does itself aside."""
        places = {execution.name: n for n, execution in enumerate(self.plan.executions)}
        queries = {e.name: e for e in self.plan.executions if isinstance(e, QueryPlan)}
        found: list[Branch] = []
        if stream in bases:
            width = len(self.plan.streams[stream].attributes)
            found.append(Branch(bases[stream], tuple(attribute_column(n) for n in range(width))))
        for step in self.layout.native_steps:
            if stream in step.element.writes and step.element.name not in besides:
                (source,) = step.element.reads
                query = queries[step.element.name]
                found += [project(query, branch, places[query.name]) for branch in self.branches(bases, source)]
        return found

    def _rows(self, spark: SparkSession) -> tuple[DataFrame, RowLayout]:
        """Rows of all islands in one pass over each source, and their layout."""
        places = {execution.name: n for n, execution in enumerate(self.plan.executions)}
        bases = self.bases(spark)
        programs = self.streaming.programs
        slots, columns = slots_of([tuple(AttributeType(kind) for kind in p.kinds) for p in programs])
        by_base: dict[str, list[tuple[int, int, Branch, tuple[int, ...]]]] = {stream: [] for stream in bases}
        for at, (island, program) in enumerate(zip(self.streaming.islands, programs, strict=True)):
            for number, (stream, _) in enumerate(program.inputs):
                first = min(places.get(e.name, -1) for e in island.elements if stream in e.reads)
                for branch in self.branches(bases, stream, island.names):
                    origin = next(name for name, base in bases.items() if base is branch.base)
                    by_base[origin].append((at, number, branch, (*branch.path, first)))
            if program.ticks:
                for stream, base in bases.items():
                    by_base[stream].append((at, TICK, Branch(base, ()), ()))
        by_base = {origin: found for origin, found in by_base.items() if found}
        paths = sorted({path for found in by_base.values() for *_, path in found})
        sources = {bases[origin].source for origin in by_base}
        frames = []
        for origin, found in by_base.items():
            base = bases[origin]
            carried = [F.col(TIME), F.lit(base.source).alias("source")]
            carried += [F.col(f"{SEQUENCE}{n}") for n in range(base.sequence)]
            observed = base.frame.observe(f"siddhi_{origin}", F.max(F.col(TIME)).alias("last"))
            made = [
                (branch.condition, self._fields(at, number, branch, paths.index(path), columns[at], slots))
                for at, number, branch, path in found
            ]
            if len(made) == 1:
                ((condition, fields),) = made
                frames.append((observed if condition is None else observed.where(condition)).select(*carried, *fields))
                continue
            # One pass: every row becomes as many as branches let it through.
            structs = [F.struct(*fields) if c is None else F.when(c, F.struct(*fields)) for c, fields in made]
            frames.append(observed.select(*carried, F.inline(F.array_compact(F.array(*structs)))))
        rows = frames[0]
        for frame in frames[1:]:
            rows = rows.unionByName(frame)
        layout = RowLayout(
            doors=tuple(columns),
            order=(
                None,
                next(iter(sources)) if len(sources) == 1 else None,
                *(None for _ in range(self._sequence)),
                0 if len(paths) == 1 and not self._spreads else None,
            ),
            island=0 if len(programs) == 1 else None,
        )
        names = [TIME, "source", *(f"{SEQUENCE}{n}" for n in range(self._sequence)), "place"]
        sent = ["island"] if layout.island is None else []
        sent += [name for name, value in zip(names, layout.order, strict=True) if value is None]
        sent += [f"d{n}" for n in range(len(slots))]
        if self._spreads:
            # The first of a row's shards tells of it where it is late.
            rows = rows.select("*", F.posexplode(F.col("shards")).alias("copy", "shard"))
            rows = rows.withColumn("place", F.when(F.col("copy") > 0, F.col("place") + 1).otherwise(F.col("place")))
        return rows.select("shard", *sent), layout

    @property
    def _spreads(self) -> bool:
        """Whether there are rows that go to other than one shard of an island."""
        return any(island.key is not None and island.key.spreads for island in self.streaming.islands)

    def _fields(
        self,
        at: int,
        number: int,
        branch: Branch,
        place: int,
        columns: Sequence[int],
        slots: Sequence[AttributeType],
    ) -> list[Column]:
        island, program = self.streaming.islands[at], self.streaming.programs[at]
        door = door_columns(program, self.plan, number, branch)
        filled = dict(zip(columns, door, strict=True))
        nothing = F.lit(None)  # once: each column is a call to the JVM
        name, targets = ("shards", shards_of_row) if self._spreads else ("shard", shard_of_row)
        first = self.ranges[at].first
        return [
            targets(island, program, self.plan, number, branch, self.shards, first).alias(name),
            F.lit(at).alias("island"),
            F.lit(2 * place).alias("place"),  # and one more for what is a copy
            *(filled.get(n, nothing).cast(SPARK_TYPES[slot]).alias(f"d{n}") for n, slot in enumerate(slots)),
        ]


def watermarked(spark: SparkSession, binding: Binding, punctuation: str | None) -> DataFrame:
    """A stream with its watermark. A row in the punctuation folder moves the watermark and is dropped behind it."""
    time = event_timestamp(binding.frame, binding.timestamp).alias("__at")
    frame = binding.frame.select("*", time, F.lit(False).alias(_MARK))
    if punctuation is not None:
        marks = spark.readStream.schema("__at timestamp").parquet(punctuation)
        frame = frame.unionByName(marks.select("*", F.lit(True).alias(_MARK)), allowMissingColumns=True)
    frame = frame.withWatermark("__at", binding.watermark or "0 seconds")
    # One comparison over mark and time: a condition on the mark alone would be pushed below the watermark.
    bound_ = F.when(F.col(_MARK), F.lit(-(1 << 62))).otherwise(F.lit(1 << 62))
    return frame.where(F.unix_micros(F.col("__at")) < bound_).drop("__at", _MARK)
