"""An app over streaming DataFrames: every source is read once, all fragments are one stateful operator, all outputs one query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.planner.plan.nodes import Plan, QueryPlan
from siddhi.spark.catalyst.bindings import Binding, bound, event_timestamp
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.catalyst.fragment_rows import TICK, input_columns, shard_of_row, shards_of_row
from siddhi.spark.catalyst.frames import SEQUENCE, TIME, Base, Branch, attribute_column
from siddhi.spark.catalyst.stages import project
from siddhi.spark.plan.fragments import CatalystStage, EngineFragment, Layout, stateless_fragments
from siddhi.spark.plan.naming import app_called
from siddhi.spark.plan.state_keys import StateKeys
from siddhi.spark.streaming.future_rows import drop_future_rows
from siddhi.spark.workers.late import LatePolicy
from siddhi.spark.workers.program import FragmentProgram, TableRows, union_columns, write_program
from siddhi.spark.workers.record_batch import EMITTED, ENCODED, RowLayout, encode_rows
from siddhi.spark.workers.shard_range import ShardRange
from siddhi.spark.workers.stateful import FragmentProcessor
from siddhi.types import AttributeType

__all__ = ["Streaming", "StreamingPlan", "plan_streaming", "sources_of", "takes_all"]

_MARK = "__punctuation"


@dataclass(frozen=True, slots=True)
class StreamingPlan:
    """The part of a stream that its checkpoint depends on.

    Attributes:
        fragments: engine fragments, in order.
        programs: their programs.
        outputs: (stream, fragment, index of the output within it), by output number.
        catalyst: output streams that need no fragment, if there is no fragment at all.
    """

    fragments: tuple[EngineFragment, ...]
    programs: tuple[FragmentProgram, ...]
    outputs: tuple[tuple[str, int, int], ...]
    catalyst: tuple[str, ...] = ()

    @property
    def follows_clock(self) -> bool:
        """Whether every bound stream moves the clock, also those that nothing reads."""
        return any(program.ticks or program.timed for program in self.programs)


def plan_streaming(
    plan: Plan,
    layout: Layout,
    wanted: Sequence[str],
    *,
    always: bool = False,
    shards: int | None = None,
    late: Sequence[str] = (),
) -> StreamingPlan:
    """Return the fragments of a stream with the wanted outputs.

    Catalyst stages in front of a fragment become expressions of its input. If anything in the app keeps state, other Catalyst
    outputs pass through stateless fragments, one per input stream, so that one query emits all outputs.

    Args:
        always: pass through fragments although nothing keeps state.
        shards: number of shards; required for labels of ranges.
        late: bound streams with an output of late rows. If no fragment gets all rows of one as they were bound, a fragment
            without elements reports which of them are late.
    """
    fragments = list(layout.fragments)
    watched = [stream for stream in late if not any(takes_all(fragment, stream) for fragment in fragments)]
    catalyst = [
        stream
        for stream in wanted
        if any(stream in step.element.writes for step in layout.catalyst_stages)
        and not any(stream in fragment.inputs and stream in fragment.produced for fragment in fragments)
    ]
    if not fragments and not watched and not always:
        return StreamingPlan((), (), (), tuple(catalyst))
    if catalyst:
        needed: list[CatalystStage] = []
        streams = set(catalyst)
        for step in reversed(layout.catalyst_stages):
            if streams.intersection(step.element.writes):
                needed.append(step)
                streams.update(step.element.reads)
        fragments += stateless_fragments([step.element for step in reversed(needed)], layout.bound)
    watched = [stream for stream in watched if not any(takes_all(fragment, stream) for fragment in fragments)]
    fragments += [EngineFragment([], (stream,), stateless=True) for stream in watched]
    programs = []
    outputs: list[tuple[str, int, int]] = []
    for number, fragment in enumerate(fragments):
        leaving = [stream for stream in fragment.produced if stream in wanted and stream in plan.streams]
        program = write_program(plan, fragment, leaving, shards=shards)
        # A fragment without elements buffers nothing, so its schema must not match one that does.
        programs.append(
            program if fragment.names else replace(program, input_stream=f"late rows of {program.input_stream}")
        )
        outputs += [(stream, number, n) for n, stream in enumerate(leaving)]
    return StreamingPlan(tuple(fragments), tuple(programs), tuple(outputs))


def sources_of(plan: Plan, layout: Layout, streaming: StreamingPlan, bound: Collection[str]) -> list[str]:
    """Return the bound streams that a query reads, in Spark's order of sources: all, if timers can emit rows."""
    if streaming.follows_clock:
        return [stream for stream in plan.streams if stream in bound]
    wanted = {stream for fragment in streaming.fragments for stream in fragment.inputs} | set(streaming.catalyst)
    for step in reversed(layout.catalyst_stages):
        if wanted.intersection(step.element.writes):
            wanted.update(step.element.reads)
    return [stream for stream in plan.streams if stream in bound and stream in wanted]


def takes_all(fragment: EngineFragment, stream: str) -> bool:
    """Return whether all rows of a bound stream, as they were bound, reach a shard of a fragment."""
    return stream in fragment.inputs and not _by_labels(fragment, stream)


def _by_labels(fragment: EngineFragment, stream: str) -> bool:
    """Return whether rows go to the shards of labels whose condition they meet, possibly none."""
    keys = None if fragment.key is None else fragment.key.streams[stream]
    return bool(keys and keys[0].labels)


@dataclass(frozen=True, slots=True)
class Streaming:
    """Lowers a streaming plan over bindings.

    Attributes:
        punctuation: folder of the punctuations of each stream.
        run: id of this run of the query.
        last_clock: watermark (ms) from which on time advances until no timer is left.
        ranges: shards of each fragment.
        keys: state keys of the shards.
        max_future_ms: how far (ms) rows may be ahead of the clock; None: no limit.
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
    keys: StateKeys
    max_future_ms: int | None = None

    def emitted(self, spark: SparkSession) -> DataFrame:
        """Return the output of the stateful operator, see :data:`siddhi.spark.workers.record_batch.EMITTED`."""
        rows, layout = self._rows(spark)
        ordering = self.ordering
        programs = tuple(
            replace(p, tables=tuple(TableRows(s, self.tables[name]) for name, s in p.fills if name in self.tables))
            for p in self.streaming.programs
        )
        schemas = [key_range.schema for key_range in self.ranges]
        encoded = rows.mapInArrow(encode_rows(programs, layout, schemas, self.keys), ENCODED)
        processor = FragmentProcessor(
            programs, self.shards, ordering, self.run, self.late, self.last_clock, self.ranges, self.keys
        )
        return encoded.groupBy("shard").transformWithStateInPandas(
            statefulProcessor=processor, outputStructType=EMITTED, outputMode="Append", timeMode="EventTime"
        )

    def bases(self, spark: SparkSession) -> dict[str, Base]:
        """Return the bound streams."""
        sources = {stream: n for n, stream in enumerate(self.plan.streams)}
        sequence = self._sequence
        found = {}
        for stream in self.plan.streams:  # the order of the app: Spark knows sources by their position
            binding = self.bindings.get(stream)
            if binding is None:
                continue
            if self.max_future_ms is not None:
                time = event_timestamp(binding.frame, binding.timestamp)
                app, late = app_called(self.plan), self.late
                kept = drop_future_rows(binding.frame, time, self.max_future_ms, stream=stream, app=app, late=late)
                binding = replace(binding, frame=kept)
            frame = watermarked(spark, binding, self.punctuation.get(stream))
            attributes = self.plan.streams[stream].attributes
            found[stream] = bound(replace(binding, frame=frame), attributes, source=sources[stream], sequence=sequence)
        return found

    @property
    def ordering(self) -> int:
        """The number of order columns: event time, source, sequence, position."""
        return self._sequence + 3

    @property
    def _sequence(self) -> int:
        return max((len(binding.sequence) for binding in self.bindings.values()), default=1) or 1

    def branches(self, bases: Mapping[str, Base], stream: str, besides: Collection[str] = ()) -> list[Branch]:
        """Return the rows of a stream that Catalyst stages fill, without the stages that a fragment runs itself."""
        positions = {execution.name: n for n, execution in enumerate(self.plan.executions)}
        queries = {e.name: e for e in self.plan.executions if isinstance(e, QueryPlan)}
        found: list[Branch] = []
        if stream in bases:
            width = len(self.plan.streams[stream].attributes)
            found.append(Branch(bases[stream], tuple(attribute_column(n) for n in range(width))))
        for step in self.layout.catalyst_stages:
            if stream in step.element.writes and step.element.name not in besides:
                (source,) = step.element.reads
                query = queries[step.element.name]
                found += [project(query, branch, positions[query.name]) for branch in self.branches(bases, source)]
        return found

    def _rows(self, spark: SparkSession) -> tuple[DataFrame, RowLayout]:
        """Return the rows of all fragments, in one pass over each source, and their columns."""
        positions = {execution.name: n for n, execution in enumerate(self.plan.executions)}
        bases = self.bases(spark)
        programs = self.streaming.programs
        types, columns = union_columns([tuple(AttributeType(kind) for kind in p.kinds) for p in programs])
        catalyst = [step.element.name for step in self.layout.catalyst_stages]
        own = len(self.layout.fragments)  # later fragments run all Catalyst stages themselves
        by_base: dict[str, list[tuple[int, int, Branch, tuple[int, ...]]]] = {stream: [] for stream in bases}
        for at, (fragment, program) in enumerate(zip(self.streaming.fragments, programs, strict=True)):
            for number, (stream, _) in enumerate(program.inputs):
                readers = [positions.get(e.name, -1) for e in fragment.elements if stream in e.reads]
                first = min(readers, default=-1)
                for branch in self.branches(bases, stream, fragment.names if at < own else catalyst):
                    origin = next(name for name, base in bases.items() if base is branch.base)
                    by_base[origin].append((at, number, branch, (*branch.path, first)))
            if program.ticks:
                for stream, base in bases.items():
                    by_base[stream].append((at, TICK, Branch(base, ()), ()))
        unread = [origin for origin, found in by_base.items() if not found]
        by_base = {origin: self._reporter_first(origin, found) for origin, found in by_base.items() if found}
        copies = self._multicasts or any(len(found) > 1 for found in by_base.values())
        paths = sorted({path for found in by_base.values() for *_, path in found})
        sources = {bases[origin].source for origin in by_base}
        frames = []
        for origin, found in by_base.items():
            base = bases[origin]
            carried = [F.col(TIME), F.lit(base.source).alias("source")]
            carried += [F.col(f"{SEQUENCE}{n}") for n in range(base.sequence)]
            observed = _observed(base, origin)
            if len(found) == 1:
                ((at, number, branch, path),) = found
                fields = self._fields(at, number, branch, paths.index(path), columns[at], types)
                kept = observed if branch.condition is None else observed.where(branch.condition)
                frames.append(kept.select(*carried, *fields))
                continue
            # One pass: every row becomes one row per branch that it passes.
            structs = []
            is_reached = F.lit(False)
            for at, number, branch, path in found:
                copy = F.when(is_reached, 1).otherwise(0)
                fields = self._fields(at, number, branch, paths.index(path), columns[at], types, copy)
                made = F.struct(*fields)
                structs.append(made if branch.condition is None else F.when(branch.condition, made))
                is_reached = is_reached | self._reaches(at, number, branch)
            frames.append(observed.select(*carried, F.inline(F.array_compact(F.array(*structs)))))
        if self.streaming.follows_clock:
            frames += [self._clock_alone(bases[origin], origin, frames[0]) for origin in unread]
        rows = frames[0]
        for frame in frames[1:]:
            rows = rows.unionByName(frame)
        layout = RowLayout(
            input_columns=tuple(columns),
            order=(
                None,
                next(iter(sources)) if len(sources) == 1 else None,
                *(None for _ in range(self._sequence)),
                0 if len(paths) == 1 and not copies else None,
            ),
            fragment=0 if len(programs) == 1 else None,
        )
        names = [TIME, "source", *(f"{SEQUENCE}{n}" for n in range(self._sequence)), "place"]
        sent = ["fragment"] if layout.fragment is None else []
        sent += [name for name, value in zip(names, layout.order, strict=True) if value is None]
        sent += [f"d{n}" for n in range(len(types))]
        if self._multicasts:
            # The copy for the first shard reports a late row.
            rows = rows.select("*", F.posexplode(F.col("shards")).alias("copy", "shard"))
            again = F.when(F.col("copy") > 0, 1).otherwise(0)
            rows = rows.withColumn("place", F.col("place").bitwiseOR(again))
        return rows.select("shard", *sent), layout

    @staticmethod
    def _clock_alone(base: Base, origin: str, like: DataFrame) -> DataFrame:
        """Return a stream that moves the watermark and has no rows, with the columns of another frame."""
        # Opaque: Spark would drop a source behind a condition that it knows to be false.
        none = _observed(base, origin).where(F.spark_partition_id() < 0)
        return none.select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in like.schema.fields))

    def _reporter_first(
        self, origin: str, found: list[tuple[int, int, Branch, tuple[int, ...]]]
    ) -> list[tuple[int, int, Branch, tuple[int, ...]]]:
        """Order the ways of rows into fragments: first the one that reports late rows, last those that may lead to no shard."""
        late_reporter = self.late_reporter(origin)

        def rank(way: tuple[int, int, Branch, tuple[int, ...]]) -> int:
            at, number, branch, _ = way
            if (at, number) == late_reporter and branch.path == ():
                return 0
            if number == TICK:
                return 2
            return 3 if _by_labels(self.streaming.fragments[at], self.streaming.programs[at].inputs[number][0]) else 1

        return sorted(found, key=rank)

    def _reaches(self, at: int, number: int, branch: Branch) -> Column:
        """Return whether a row reaches a shard this way."""
        fragment, program = self.streaming.fragments[at], self.streaming.programs[at]
        kept = F.lit(True) if branch.condition is None else branch.condition
        if number == TICK or not _by_labels(fragment, program.inputs[number][0]):
            return kept
        shards = shards_of_row(fragment, program, self.plan, number, branch, self.shards, self.ranges[at].first)
        return kept & (F.size(shards) > 0)

    def late_reporter(self, stream: str) -> tuple[int, int] | None:
        """Return the fragment and the input that get all rows of a bound stream and report the late ones."""
        for at, (fragment, program) in enumerate(zip(self.streaming.fragments, self.streaming.programs, strict=True)):
            if takes_all(fragment, stream):
                return at, [name for name, _ in program.inputs].index(stream)
        return None

    @property
    def _multicasts(self) -> bool:
        """Whether rows may go to several shards of a fragment."""
        return any(fragment.key is not None and fragment.key.multicasts for fragment in self.streaming.fragments)

    def _fields(
        self,
        at: int,
        number: int,
        branch: Branch,
        path_index: int,
        columns: Sequence[int],
        types: Sequence[AttributeType],
        copy: Column | None = None,
    ) -> list[Column]:
        """Return the columns of a row on one of its ways. ``copy``: 1 if another way reports the row when it is late, else 0."""
        fragment, program = self.streaming.fragments[at], self.streaming.programs[at]
        columns_ = input_columns(program, self.plan, number, branch)
        filled = dict(zip(columns, columns_, strict=True))
        nothing = F.lit(None)  # shared: each column is a call of the JVM
        name, targets = ("shards", shards_of_row) if self._multicasts else ("shard", shard_of_row)
        first = self.ranges[at].first
        return [
            targets(fragment, program, self.plan, number, branch, self.shards, first).alias(name),
            F.lit(at).alias("fragment"),
            (F.lit(2 * path_index) if copy is None else F.lit(2 * path_index) + copy).alias("place"),
            *(filled.get(n, nothing).cast(SPARK_TYPES[type_]).alias(f"d{n}") for n, type_ in enumerate(types)),
        ]


def _observed(base: Base, stream: str) -> DataFrame:
    """Return the rows of a stream; Spark reports their number and last event time."""
    seen = F.max(F.col(TIME)).alias("last"), F.count(F.lit(1)).alias("rows")
    return base.frame.observe(f"siddhi_{stream}", *seen)


def watermarked(spark: SparkSession, binding: Binding, punctuation: str | None) -> DataFrame:
    """Return a stream with its watermark. A punctuation moves the watermark and is dropped after it."""
    time = event_timestamp(binding.frame, binding.timestamp).alias("__at")
    frame = binding.frame.select("*", time, F.lit(False).alias(_MARK))
    if punctuation is not None:
        # Spark deletes the files of a committed batch when it plans the next one.
        punctuations = (
            spark.readStream.schema("__at timestamp")
            .option("cleanSource", "delete")
            .option("ignoreMissingFiles", "true")  # a start deletes those that its own replace
            .parquet(punctuation)
        )
        frame = frame.unionByName(punctuations.select("*", F.lit(True).alias(_MARK)), allowMissingColumns=True)
    frame = frame.withWatermark("__at", binding.watermark or "0 seconds")
    # One comparison of mark and time: a condition on the mark alone would be pushed below the watermark.
    bound_ = F.when(F.col(_MARK), F.lit(-(1 << 62))).otherwise(F.lit(1 << 62))
    return frame.where(F.unix_micros(F.col("__at")) < bound_).drop("__at", _MARK)
