"""Many apps in few jobs of Spark, so that all recorded cases can go through it.

A query of its own costs an app some fifteen seconds of CPU, however few its rows are. Here the fragments of many apps stand
side by side in one query, as those of one app do: each has its programs and its range of shards, and is planned, dealt out,
packed, kept, timed, released and unpacked by the code that does so in production. What differs: there is one source, whose
rows say of which app and stream they are, and what comes out is collected instead of written. In a stream time is one, too,
so that all apps end at the last event of all of them.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import Plan
from siddhi.query_api.definition import Attribute
from siddhi.query_compiler import parse
from siddhi.spark.catalyst.bindings import Binding, bound
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.catalyst.fragment_rows import TICK
from siddhi.spark.catalyst.frames import SEQUENCE, TIME, Base, Branch
from siddhi.spark.plan.fragments import cut
from siddhi.spark.plan.state_keys import EVEN, StateKeys
from siddhi.spark.streaming.plan import Streaming, StreamingPlan, plan_streaming, watermarked
from siddhi.spark.streaming.query import new_run
from siddhi.spark.testing import Row
from siddhi.spark.workers.batch import EndOfInput, sorted_rows
from siddhi.spark.workers.input_schema import InputSchema
from siddhi.spark.workers.program import FragmentProgram, union_columns
from siddhi.spark.workers.record_batch import RowLayout, decode, decode_output, encode
from siddhi.spark.workers.shard import ARROW_TYPES
from siddhi.spark.workers.shard_range import ShardRange
from siddhi.spark.workers.stateful import LATE
from siddhi.types import AttributeType

__all__ = ["ManyApps", "OneApp"]

GRACE = 500
LAST_CLOCK = 221_845_392_000_000
FUTURE_ROWS = ("app", "stream")
"""Columns of the source in front of those of the attributes."""


@dataclass(frozen=True, slots=True)
class OneApp:
    """An app, what it is sent, and the streams that are looked at."""

    text: str
    rows: Sequence[Row]
    outputs: Sequence[str]


Found = dict[str, list[tuple[object, ...]]]
"""By stream what came out, event time first."""


class ManyApps:
    """Apps that go through Spark together.

    Args:
        apps: which.
        shards: number of shards per fragment.
        prefer: ``'native'`` or ``'engine'``.
    """

    def __init__(self, apps: Sequence[OneApp], *, shards: int, prefer: str) -> None:
        self._apps = list(apps)
        self._shards = shards
        self._plans: list[Plan] = [plan(parse(app.text)) for app in apps]
        self._fed = [list(dict.fromkeys(stream for stream, _, _ in app.rows)) for app in apps]
        types = [
            tuple(a.type for a in made.streams[stream].attributes)
            for made, fed in zip(self._plans, self._fed)
            for stream in fed
        ]
        self._slots, places = union_columns(types)
        given = iter(places)
        self._places = [{stream: next(given) for stream in fed} for fed in self._fed]
        self._layouts = [
            cut(made, streaming=True, prefer=prefer, bound=frozenset(fed)) for made, fed in zip(self._plans, self._fed)
        ]
        self._cut = [
            plan_streaming(made, layout, list(app.outputs), always=True, shards=shards)
            for made, layout, app in zip(self._plans, self._layouts, apps)
        ]
        self._whole = StreamingPlan(
            tuple(fragment for each in self._cut for fragment in each.fragments),
            tuple(program for each in self._cut for program in each.programs),
            (),
        )
        self._keys = StateKeys(EVEN, shards)
        self._ranges = tuple(
            ShardRange(n * shards, frozenset((program.fingerprint,)), frozenset(), InputSchema.of(program), ())
            for n, program in enumerate(self._whole.programs)
        )
        self.last = max(time for app in apps for _, time, _ in app.rows)

    # --- in

    @property
    def _schema(self) -> list[Attribute]:
        slots = [Attribute(f"v{n}", type_) for n, type_ in enumerate(self._slots)]
        return [*(Attribute(name, AttributeType.INT) for name in FUTURE_ROWS), *slots]

    def _source_rows(self) -> list[tuple[object, ...]]:
        """App, stream, the slots, event time, place among the rows of the app."""
        rows = []
        for number, app in enumerate(self._apps):
            for n, (stream, time, values) in enumerate(app.rows):
                slots: list[object] = [None] * len(self._slots)
                for slot, value in zip(self._places[number][stream], values, strict=True):
                    slots[slot] = value
                rows.append((number, self._fed[number].index(stream), *slots, time, n))
        return rows

    def write(self, folder: Path, *, files: int, seed: int) -> None:
        """Write the rows as files, shuffled within the grace and cut at random; a stream takes them in this order."""
        rng = random.Random(seed)
        rows = sorted(self._source_rows(), key=lambda row: row[-2] + rng.randint(0, GRACE))
        kinds = [ARROW_TYPES[str(a.type)] for a in self._schema] + [pa.int64(), pa.int64()]
        schema = pa.schema(list(zip([*(a.name for a in self._schema), "ts", "n"], kinds)))
        cuts = sorted(rng.randint(0, len(rows)) for _ in range(files - 1))
        folder.mkdir(parents=True)
        for number, (start, stop) in enumerate(itertools.pairwise([0, *cuts, len(rows)])):
            columns = [pa.array([row[n] for row in rows[start:stop]], kind) for n, kind in enumerate(kinds)]
            path = folder / f"{number:03}.parquet"
            pq.write_table(pa.Table.from_arrays(columns, schema=schema), path)
            os.utime(path, (1_700_000_000 + number,) * 2)

    def _members(self, frame: DataFrame) -> list[_Member]:
        base = bound(Binding("Rows", frame, "ts", sequence=("n",)), self._schema, source=0, sequence=1)
        found, first = [], 0
        for number, (made, layout, cut_) in enumerate(zip(self._plans, self._layouts, self._cut)):
            order = list(made.streams)
            bases = {stream: Base(base.frame, order.index(stream), 1) for stream in self._fed[number]}
            given = {
                stream: Branch(
                    bases[stream],
                    tuple(F.col(f"c{len(FUTURE_ROWS) + slot}") for slot in self._places[number][stream]),
                    (F.col("c0") == number) & (F.col("c1") == n),
                )
                for n, stream in enumerate(self._fed[number])
            }
            member = _Member(
                made, layout, cut_, {}, {}, self._shards, "drop", "", LAST_CLOCK, {},
                self._ranges, self._keys, given=given, first=first,
            )  # fmt: skip
            found.append(member)
            first += len(cut_.programs)
        return found

    # --- streams

    def streamed(self, spark: SparkSession, folder: Path, *, seed: int, files: int = 3) -> tuple[list[Found], int]:
        """What comes out of a stream, by app, and how many rows were late.

        One query reads all there is; a second one, which begins with what the first has kept, goes on to the last event.
        """
        self.write(folder / "in", files=files, seed=seed)
        marks = folder / "marks"
        marks.mkdir()
        schema = ", ".join(f"{a.name} {SPARK_TYPES[a.type]}" for a in self._schema) + ", ts bigint, n bigint"
        source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
        emitted: dict[tuple[int, int], list[tuple[int, int, bytes]]] = {}
        for run in range(2):
            frame = watermarked(spark, Binding("Rows", source, "ts", f"{GRACE} milliseconds"), str(marks))
            members = self._members(frame)
            whole = _Whole(
                members[0].plan, members[0].layout, self._whole, {}, {}, self._shards, "drop", new_run(), LAST_CLOCK, {},
                self._ranges, self._keys, members=members,
            )  # fmt: skip

            def take(batch: DataFrame, number: int, run: int = run) -> None:
                emitted[run, number] = [tuple(row) for row in batch.select("out", "n", "rows").collect()]

            writer = whole.emitted(spark).writeStream.foreachBatch(take).outputMode("append")
            query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
            query.awaitTermination()
            end = pa.array([self.last + GRACE + 1], pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
            pq.write_table(pa.table({"__at": end}), marks / "end.parquet")
        batches = list(emitted.values())
        late = sum(n for batch in batches for out, n, _ in batch if out >= LATE)
        return self._unpacked([(out, data) for batch in batches for out, _, data in batch if out < LATE]), late

    def _unpacked(self, blobs: Iterable[tuple[int, bytes]]) -> list[Found]:
        shapes = [
            (app, shape) for app, each in enumerate(self._cut) for program in each.programs for shape in program.outputs
        ]
        found: list[Found] = [{stream: [] for stream in app.outputs} for app in self._apps]
        for out, data in blobs:
            app, shape = shapes[out]
            blob = pa.RecordBatch.from_arrays([pa.array([data], pa.binary())], names=["rows"])
            for rows in decode_output(shape)([blob]):
                found[app][shape.stream] += zip(*(column.to_pylist() for column in rows.columns))
        return found

    # --- batch

    def in_batch(self, spark: SparkSession, folder: Path, *, seed: int) -> list[Found]:
        """What comes out of rows that end, by app."""
        self.write(folder / "in", files=2, seed=seed)
        members = self._members(spark.read.parquet(str(folder / "in")))
        rows, columns = _rows(members, self._whole)
        order = [F.col(TIME), F.col("source"), F.col(f"{SEQUENCE}0"), F.col("place")]
        clocks = []
        for app, each in zip(self._apps, self._cut):
            times = [time for _, time, _ in app.rows]
            clocks += [(min(times), max(times))] * len(each.programs)
        row_columns = [F.col(name) for name in rows.columns if name.startswith("d")]
        found = (
            rows.repartition(2, F.col("shard"))
            .sortWithinPartitions(F.col("shard"), *order)
            .select("shard", "fragment", TIME, *row_columns)
            .mapInArrow(_one_after_the_other(self._whole.programs, columns, clocks), "fragment int, rows binary")
            .collect()
        )
        outputs: list[Found] = [{stream: [] for stream in app.outputs} for app in self._apps]
        owners = [app for app, each in enumerate(self._cut) for _ in each.programs]
        for fragment, data in found:
            with_output_index = decode(data)
            for number, shape in enumerate(self._whole.programs[fragment].outputs):
                mine = with_output_index.filter(pa.compute.equal(with_output_index.column(0), number))
                columns_ = [mine.column(1), *(mine.column(3 + index) for index in shape.union_indexes)]
                outputs[owners[fragment]][shape.stream] += zip(*(column.to_pylist() for column in columns_))
        return outputs


def _one_after_the_other(
    programs: Sequence[FragmentProgram], columns: Sequence[Sequence[int]], clocks: Sequence[tuple[int, int]]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow`` over rows sorted by shard and time, with a range of shards per fragment."""

    def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            for fragment, group in itertools.groupby(enumerate(batch.column(1).to_pylist()), key=lambda item: item[1]):
                places = [place for place, _ in group]
                part = batch.slice(places[0], len(places))
                ends = [pa.array([clock] * len(places), pa.int64()) for clock in clocks[fragment]]
                row_columns = [part.column(3 + n) for n in columns[fragment]]
                arrays = [part.column(0), part.column(2), *(ends if programs[fragment].timed else ()), *row_columns]
                yield fragment, pa.RecordBatch.from_arrays(arrays, names=[f"x{n}" for n in range(len(arrays))])

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for fragment, parts in itertools.groupby(pieces(batches), key=lambda item: item[0]):
            given = (part for _, part in parts)
            for out in sorted_rows(programs[fragment], EndOfInput(flush=False), f"{fragment}")(given):
                arrays = [pa.array([fragment], pa.int32()), pa.array([encode(out)], pa.binary())]
                yield pa.RecordBatch.from_arrays(arrays, names=["fragment", "rows"])

    return run


# --- how production deals out the rows of one app, for several


@dataclass(frozen=True)
class _Member(Streaming):
    """One of the apps. ``given``: the rows of its streams among those of the source; ``first``: its first fragment."""

    given: Mapping[str, Branch] = field(default_factory=dict)
    first: int = 0

    def branches(self, bases: Mapping[str, Base], stream: str, besides: Collection[str] = ()) -> list[Branch]:
        """As in production, over rows mixed with those of other apps."""
        del bases
        found = super().branches({}, stream, besides)
        return [self.given[stream], *found] if stream in self.given else found

    def options(
        self, whole: StreamingPlan, columns: Sequence[Sequence[int]], slots: Sequence[AttributeType]
    ) -> list[Column]:
        """Return what a row becomes on each way into a fragment; null: the row is another app's."""
        places = {execution.name: n for n, execution in enumerate(self.plan.executions)}
        native = [step.element.name for step in self.layout.catalyst_stages]
        found: list[tuple[int, int, Branch, tuple[int, ...]]] = []
        for at, (fragment, program) in enumerate(zip(self.streaming.fragments, self.streaming.programs)):
            for number, (stream, _) in enumerate(program.inputs):
                head = min(places.get(e.name, -1) for e in fragment.elements if stream in e.reads)
                besides = fragment.names if at < len(self.layout.fragments) else native
                found += [(at, number, branch, (*branch.path, head)) for branch in self.branches({}, stream, besides)]
            if program.ticks:
                found += [(at, TICK, branch, ()) for branch in self.given.values()]
        paths = sorted({path for *_, path in found})
        dealing = replace(self, streaming=whole)
        made = []
        for at, number, branch, path in found:
            fields = dealing._fields(
                self.first + at, number, branch, paths.index(path), columns[self.first + at], slots
            )
            source = F.lit(branch.base.source).alias("source")
            made.append(F.when(branch.condition, F.struct(source, *fields)))
        return made


@dataclass(frozen=True)
class _Whole(Streaming):
    """All the apps."""

    members: Sequence[_Member] = ()

    def _rows(self, spark: SparkSession) -> tuple[DataFrame, RowLayout]:
        del spark
        rows, columns = _rows(self.members, self.streaming)
        return rows, RowLayout(columns, order=(None,) * self.ordering)


def _rows(members: Sequence[_Member], whole: StreamingPlan) -> tuple[DataFrame, tuple[tuple[int, ...], ...]]:
    """Return the rows of all fragments in one pass over the source, and the input columns of each."""
    slots, columns = union_columns([tuple(AttributeType(kind) for kind in p.kinds) for p in whole.programs])
    options = [option for member in members for option in member.options(whole, columns, slots)]
    (frame,) = {id(branch.base.frame): branch.base.frame for m in members for branch in m.given.values()}.values()
    rows = frame.select(F.col(TIME), F.col(f"{SEQUENCE}0"), F.inline(F.array_compact(F.array(*options))))
    order = [F.col(TIME), F.col("source"), F.col(f"{SEQUENCE}0"), F.col("place")]
    row_columns = [F.col(f"d{n}") for n in range(len(slots))]
    shard = F.explode("shards").alias("shard") if "shards" in rows.columns else F.col("shard")
    return rows.select(shard, "fragment", *order, *row_columns), tuple(columns)
