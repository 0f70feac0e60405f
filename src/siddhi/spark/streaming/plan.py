"""An app over streaming DataFrames: every source is read once, all islands are one stateful operator, all outputs one query."""

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
    """What a checkpoint is bound to.

    Attributes:
        islands: in order.
        programs: of the islands.
        outputs: (stream, island, number of the output within it), by the number of the output in all.
        native: streams that need no island, where there is none at all.
    """

    fragments: tuple[EngineFragment, ...]
    programs: tuple[FragmentProgram, ...]
    outputs: tuple[tuple[str, int, int], ...]
    catalyst: tuple[str, ...] = ()


def plan_streaming(
    plan: Plan,
    layout: Layout,
    wanted: Sequence[str],
    *,
    always: bool = False,
    shards: int | None = None,
    late: Sequence[str] = (),
) -> StreamingPlan:
    """The islands of a stream that puts out the wanted streams.

    Native steps in front of an island are expressions of its input; what else they fill goes, if anything in the app keeps
    state, through islands that keep none, one for each stream that comes in, so that it comes out in the same query.

    Args:
        always: take that way although nothing keeps state.
        shards: of an island; needed where labels of ranges are spread over them.
        late: bound streams whose late rows are put out. One that reaches no island with all of its rows, as they were bound,
            gets an island without elements, which only sees which of them are late.
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
        # Nothing waits where late rows are seen alone, so a checkpoint must not take it for what rows wait in.
        programs.append(
            program if fragment.names else replace(program, input_stream=f"late rows of {program.input_stream}")
        )
        outputs += [(stream, number, n) for n, stream in enumerate(leaving)]
    return StreamingPlan(tuple(fragments), tuple(programs), tuple(outputs))


def sources_of(plan: Plan, layout: Layout, streaming: StreamingPlan, bound: Collection[str]) -> list[str]:
    """The bound streams that a query reads, in the order in which Spark knows them."""
    if any(program.ticks for program in streaming.programs):
        return [stream for stream in plan.streams if stream in bound]
    wanted = {stream for fragment in streaming.fragments for stream in fragment.inputs} | set(streaming.catalyst)
    for step in reversed(layout.catalyst_stages):
        if wanted.intersection(step.element.writes):
            wanted.update(step.element.reads)
    return [stream for stream in plan.streams if stream in bound and stream in wanted]


def takes_all(fragment: EngineFragment, stream: str) -> bool:
    """Whether all rows of a bound stream, as they were bound, come to some shard of an island."""
    return stream in fragment.inputs and not _by_labels(fragment, stream)


def _by_labels(fragment: EngineFragment, stream: str) -> bool:
    """Whether rows go to the shards of labels that hold for them, which may be none."""
    keys = None if fragment.key is None else fragment.key.streams[stream]
    return bool(keys and keys[0].labels)


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
    max_future_ms: int | None = None

    def emitted(self, spark: SparkSession) -> DataFrame:
        """What the stateful operator emits: see :data:`siddhi.spark.workers.record_batch.RELEASED`."""
        rows, layout = self._rows(spark)
        ordering = self.ordering
        programs = tuple(
            replace(p, tables=tuple(TableRows(s, self.tables[name]) for name, s in p.fills if name in self.tables))
            for p in self.streaming.programs
        )
        schemas = [held.schema for held in self.ranges]
        encoded = rows.mapInArrow(encode_rows(programs, layout, schemas), ENCODED)
        processor = FragmentProcessor(
            programs, self.shards, ordering, self.run, self.late, self.last_clock, self.ranges
        )
        return encoded.groupBy("shard").transformWithStateInPandas(
            statefulProcessor=processor, outputStructType=EMITTED, outputMode="Append", timeMode="EventTime"
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
        for step in self.layout.catalyst_stages:
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
        types, columns = union_columns([tuple(AttributeType(kind) for kind in p.kinds) for p in programs])
        catalyst = [step.element.name for step in self.layout.catalyst_stages]
        own = len(self.layout.fragments)  # islands behind those of the layout do all native steps themselves
        by_base: dict[str, list[tuple[int, int, Branch, tuple[int, ...]]]] = {stream: [] for stream in bases}
        for at, (fragment, program) in enumerate(zip(self.streaming.fragments, programs, strict=True)):
            for number, (stream, _) in enumerate(program.inputs):
                readers = [places.get(e.name, -1) for e in fragment.elements if stream in e.reads]
                first = min(readers, default=-1)
                for branch in self.branches(bases, stream, fragment.names if at < own else catalyst):
                    origin = next(name for name, base in bases.items() if base is branch.base)
                    by_base[origin].append((at, number, branch, (*branch.path, first)))
            if program.ticks:
                for stream, base in bases.items():
                    by_base[stream].append((at, TICK, Branch(base, ()), ()))
        by_base = {origin: self._reporter_first(origin, found) for origin, found in by_base.items() if found}
        copies = self._multicasts or any(len(found) > 1 for found in by_base.values())
        paths = sorted({path for found in by_base.values() for *_, path in found})
        sources = {bases[origin].source for origin in by_base}
        frames = []
        for origin, found in by_base.items():
            base = bases[origin]
            carried = [F.col(TIME), F.lit(base.source).alias("source")]
            carried += [F.col(f"{SEQUENCE}{n}") for n in range(base.sequence)]
            observed = base.frame.observe(f"siddhi_{origin}", F.max(F.col(TIME)).alias("last"))
            if len(found) == 1:
                ((at, number, branch, path),) = found
                fields = self._fields(at, number, branch, paths.index(path), columns[at], types)
                kept = observed if branch.condition is None else observed.where(branch.condition)
                frames.append(kept.select(*carried, *fields))
                continue
            # One pass: every row becomes as many as branches let it through.
            structs = []
            told = F.lit(False)
            for at, number, branch, path in found:
                copy = F.when(told, 1).otherwise(0)
                fields = self._fields(at, number, branch, paths.index(path), columns[at], types, copy)
                made = F.struct(*fields)
                structs.append(made if branch.condition is None else F.when(branch.condition, made))
                told = told | self._reaches(at, number, branch)
            frames.append(observed.select(*carried, F.inline(F.array_compact(F.array(*structs)))))
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
            # The first of a row's shards tells of it where it is late.
            rows = rows.select("*", F.posexplode(F.col("shards")).alias("copy", "shard"))
            again = F.when(F.col("copy") > 0, 1).otherwise(0)
            rows = rows.withColumn("place", F.col("place").bitwiseOR(again))
        return rows.select("shard", *sent), layout

    def _reporter_first(
        self, origin: str, found: list[tuple[int, int, Branch, tuple[int, ...]]]
    ) -> list[tuple[int, int, Branch, tuple[int, ...]]]:
        """The ways of rows into islands, beginning with the one that tells which of them are late; those last that may lead
        to no shard."""
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
        """Whether a row comes to a shard this way."""
        fragment, program = self.streaming.fragments[at], self.streaming.programs[at]
        kept = F.lit(True) if branch.condition is None else branch.condition
        if number == TICK or not _by_labels(fragment, program.inputs[number][0]):
            return kept
        shards = shards_of_row(fragment, program, self.plan, number, branch, self.shards, self.ranges[at].first)
        return kept & (F.size(shards) > 0)

    def late_reporter(self, stream: str) -> tuple[int, int] | None:
        """Where all rows of a bound stream come by that tells of those that are late: the numbers of island and input."""
        for at, (fragment, program) in enumerate(zip(self.streaming.fragments, self.streaming.programs, strict=True)):
            if takes_all(fragment, stream):
                return at, [name for name, _ in program.inputs].index(stream)
        return None

    @property
    def _multicasts(self) -> bool:
        """Whether there are rows that go to other than one shard of an island."""
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
        """What a row becomes on one of its ways. ``copy``: 1 where another way tells of the row if it is late, else 0."""
        fragment, program = self.streaming.fragments[at], self.streaming.programs[at]
        columns_ = input_columns(program, self.plan, number, branch)
        filled = dict(zip(columns, columns_, strict=True))
        nothing = F.lit(None)  # once: each column is a call to the JVM
        name, targets = ("shards", shards_of_row) if self._multicasts else ("shard", shard_of_row)
        first = self.ranges[at].first
        return [
            targets(fragment, program, self.plan, number, branch, self.shards, first).alias(name),
            F.lit(at).alias("fragment"),
            (F.lit(2 * path_index) if copy is None else F.lit(2 * path_index) + copy).alias("place"),
            *(filled.get(n, nothing).cast(SPARK_TYPES[type_]).alias(f"d{n}") for n, type_ in enumerate(types)),
        ]


def watermarked(spark: SparkSession, binding: Binding, punctuation: str | None) -> DataFrame:
    """A stream with its watermark. A row in the punctuation folder moves the watermark and is dropped behind it."""
    time = event_timestamp(binding.frame, binding.timestamp).alias("__at")
    frame = binding.frame.select("*", time, F.lit(False).alias(_MARK))
    if punctuation is not None:
        # Spark deletes those of a batch once it has been committed and the next one is planned.
        punctuations = (
            spark.readStream.schema("__at timestamp")
            .option("cleanSource", "delete")
            .option("ignoreMissingFiles", "true")  # a start deletes those for which its own stand
            .parquet(punctuation)
        )
        frame = frame.unionByName(punctuations.select("*", F.lit(True).alias(_MARK)), allowMissingColumns=True)
    frame = frame.withWatermark("__at", binding.watermark or "0 seconds")
    # One comparison over mark and time: a condition on the mark alone would be pushed below the watermark.
    bound_ = F.when(F.col(_MARK), F.lit(-(1 << 62))).otherwise(F.lit(1 << 62))
    return frame.where(F.unix_micros(F.col("__at")) < bound_).drop("__at", _MARK)
