"""Lower a layout over batch DataFrames to DataFrames of its streams."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siddhi.planner.plan.nodes import Plan, QueryPlan
from siddhi.spark.catalyst.bindings import Binding, bound
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.catalyst.fragment_rows import fragment_rows
from siddhi.spark.catalyst.frames import SEQUENCE, SOURCE, TIME, Base, Branch, attribute_column
from siddhi.spark.catalyst.stages import project, table_join, tumbling
from siddhi.spark.catalyst.table_keys import once_per_key
from siddhi.spark.plan.catalyst_forms import Form
from siddhi.spark.plan.fragments import CatalystStage, EngineFragment, Layout
from siddhi.spark.plan.state_keys import EVEN, StateKeys
from siddhi.spark.plan.unsupported import refuse_stored_aggregations
from siddhi.spark.workers.batch import EndOfInput, RowOrder, sorted_rows, unsorted_rows
from siddhi.spark.workers.program import FragmentProgram, TableRows, write_program
from siddhi.types import AttributeType

__all__ = ["BatchLowering", "Settings", "release_all"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of lowering; see :class:`siddhi.spark.SparkRuntime`."""

    shards: int = 64
    exact_floats: bool = False
    prefer: str = "native"
    flush: bool = False
    tasks: int | None = None


class BatchLowering:
    """Lowers an app over batch DataFrames.

    Args:
        plan: plan of the app.
        layout: layout of the plan.
        bindings: bindings by stream.
        tables: DataFrames of read-only tables, with the columns of their attributes.
        settings: options.
        table_rows: returns the rows of a table as an Arrow stream.
        wanted: output streams of fragments that are wanted; others stay inside.
    """

    def __init__(
        self,
        plan: Plan,
        layout: Layout,
        bindings: Mapping[str, Binding],
        tables: Mapping[str, DataFrame],
        settings: Settings,
        table_rows: Callable[[str], bytes],
        wanted: Sequence[str],
    ) -> None:
        self._plan = plan
        self._layout = layout
        self._settings = settings
        self._tables = tables
        self._table_rows = table_rows
        self._wanted = frozenset(wanted)
        self._name = uuid.uuid4().hex
        self._positions = {execution.name: n for n, execution in enumerate(plan.executions)}
        self._queries = {e.name: e for e in plan.executions if isinstance(e, QueryPlan)}
        self._ordered = [fragment for fragment in layout.fragments if fragment.ordered]
        self._own_sequence = max((len(binding.sequence) for binding in bindings.values()), default=1) or 1
        self._sequence = self._own_sequence + len(self._ordered)
        sources = {stream: n for n, stream in enumerate(plan.streams)}
        self._bound = {
            name: bound(binding, plan.streams[name].attributes, source=sources[name], sequence=self._sequence)
            for name, binding in bindings.items()
        }
        self._branches: dict[str, list[Branch]] = {}
        self._fragment_bases: dict[int, Base] = {}
        self._cached: list[DataFrame] = []
        self.cache_fragments = False

    def branches(self, stream: str) -> list[Branch]:
        """Return the rows of a stream; none if nothing fills it."""
        if stream not in self._branches:
            self._branches[stream] = self._made(stream)
        return self._branches[stream]

    def _into(self, fragment: EngineFragment) -> Callable[[str], list[Branch]]:
        """Return a function for the rows of a stream that enter a fragment, which may add to the stream itself."""
        return lambda stream: self._made(stream, fragment) if stream in fragment.produced else self.branches(stream)

    def _made(self, stream: str, besides: EngineFragment | None = None) -> list[Branch]:
        found: list[Branch] = []
        for step in self._layout.steps:
            if step is besides:
                continue
            if isinstance(step, EngineFragment) and stream in step.produced:
                if stream in step.inputs:
                    return self._from_fragment(step, stream)  # the fragment reads and writes the stream
                found += self._from_fragment(step, stream)
            elif isinstance(step, CatalystStage) and stream in step.element.writes:
                found += self._require_catalyst(step)
        if stream in self._bound:
            width = len(self._plan.streams[stream].attributes)
            found.insert(0, Branch(self._bound[stream], tuple(attribute_column(n) for n in range(width))))
        return found

    def _require_catalyst(self, step: CatalystStage) -> list[Branch]:
        query = self._queries[step.element.name]
        position = self._positions[query.name]
        (source,) = step.element.reads
        branches = self.branches(source)
        if not branches:
            return []
        if step.form.kind is Form.PROJECTION:
            return [project(query, branch, position) for branch in branches]
        if step.form.kind is Form.TABLE_JOIN:
            return [table_join(query, branch, position, self._table) for branch in branches]
        end = None if self._settings.flush else self.last_time()
        return [tumbling(query, branches, position, end=end)]

    def _table(self, name: str) -> DataFrame:
        table = self._plan.tables[name]
        frame = self._tables[name].select(
            *(F.col(f"`{a.name}`").cast(SPARK_TYPES[a.type]).alias(f"c{n}") for n, a in enumerate(table.attributes))
        )
        return once_per_key(frame, table)

    # --- engine fragments

    def _from_fragment(self, fragment: EngineFragment, stream: str) -> list[Branch]:
        number = self._layout.fragments.index(fragment)
        if number not in self._fragment_bases:
            fed = any(self._into(fragment)(name) for name in fragment.inputs)
            if not fed and not self.program(fragment).ticks:
                return []  # nothing it reads is bound
            refuse_stored_aggregations(self._plan, [fragment])
            frame = self.run_fragment(fragment, self.program(fragment))
            if self.cache_fragments:
                frame = frame.persist()
                self._cached.append(frame)
            source = None if fragment.ordered else len(self._plan.streams) + number
            self._fragment_bases[number] = Base(frame, source, self._sequence)
        base = self._fragment_bases[number]
        outputs = self.outputs_of(fragment)
        if stream not in outputs:
            return []
        program = self.program(fragment)
        shape = program.outputs[outputs.index(stream)]
        condition = F.col("out") == F.lit(outputs.index(stream)) if len(outputs) > 1 else None
        return [Branch(base, tuple(attribute_column(index) for index in shape.union_indexes), condition)]

    def outputs_of(self, fragment: EngineFragment) -> list[str]:
        """Return the outputs of a fragment that are wanted or that another step reads."""
        read = {
            stream
            for step in self._layout.steps
            if step is not fragment
            for stream in (step.inputs if isinstance(step, EngineFragment) else step.element.reads)
        }
        return [
            stream
            for stream in fragment.produced
            if stream in self._plan.streams
            and (stream in self._wanted or stream in read)
            and all(a.type is not AttributeType.OBJECT for a in self._plan.streams[stream].attributes)
        ]

    def program(self, fragment: EngineFragment) -> FragmentProgram:
        """Return the program of a fragment, without the rows of tables."""
        leaving, shards = self.outputs_of(fragment), self._settings.shards
        return write_program(self._plan, fragment, leaving, ordered=fragment.ordered, shards=shards)

    def run_fragment(self, fragment: EngineFragment, program: FragmentProgram) -> DataFrame:
        """Return the output of a program: the columns out, time, sequence, and the union columns."""
        number = self._layout.fragments.index(fragment)
        feeds = tuple(
            TableRows(stream, self._table_rows(name)) for name, stream in program.fills if name in self._tables
        )
        program = replace(program, tables=feeds)
        rows = fragment_rows(
            fragment,
            program,
            self._plan,
            self._into(fragment),
            self._sequence,
            self._positions,
            self._settings.shards,
            self._bound,
        )
        columns_ = [F.col(f"d{n}") for n in range(len(program.columns))]
        union = [f"c{n} {SPARK_TYPES[AttributeType(kind)]}" for n, kind in enumerate(program.union_types)]
        order = [F.col(TIME), F.col(SOURCE), *(F.col(f"{SEQUENCE}{n}") for n in range(self._sequence)), F.col("place")]
        # Ties are ordered by value, so that repeated work gives the same result.
        ties = [column.asc_nulls_last() for column in columns_]
        carried = None
        placed = any(shape.trace is not None for shape in program.outputs)
        sent = [F.col("shard"), F.col(TIME)]
        head = ["out int", f"{TIME} bigint", f"{SEQUENCE}0 bigint"]
        if placed:
            head[2:] = [f"{SOURCE} int", *(f"{SEQUENCE}{n} bigint" for n in range(self._sequence))]
            own = self._own_sequence + self._ordered.index(fragment)
            carried = RowOrder(self._sequence, own, len(self._plan.streams) + number)
        schema = ", ".join([*head, *union])
        if program.timed:
            sent += [self._clock(F.min).cast("bigint").alias("first"), self._clock(F.max).cast("bigint").alias("last")]
        if placed:
            sent += order[1:]
        sent += columns_
        if fragment.stateless:
            if any(element.reads_clock for element in fragment.elements):
                rows = rows.sortWithinPartitions(F.col(TIME))  # the clock never goes back, and must be at each row
            out = rows.select(*sent).mapInArrow(unsorted_rows(program, f"{self._name} {number}", carried), schema)
        else:
            partitions = 1 if fragment.is_single else self._partitions(rows)
            out = (
                rows.repartition(partitions, _state_key(1 if fragment.is_single else self._settings.shards))
                .sortWithinPartitions(self._sort_prefix(), F.col("shard"), *order, *ties)
                .select(*sent)
                .mapInArrow(
                    sorted_rows(program, EndOfInput(self._settings.flush), f"{self._name} {number}", carried), schema
                )
            )
        if self._sequence > 1 and not placed:
            out = out.select("*", *(F.lit(0).cast("bigint").alias(f"{SEQUENCE}{n}") for n in range(1, self._sequence)))
        return out

    def _sort_prefix(self) -> Column:
        """Return shard and event time as one number: Spark compares whole rows only if this prefix is equal."""
        bits = min(47, 62 - self._settings.shards.bit_length())
        time = F.least(F.greatest(F.col(TIME), F.lit(0).cast("bigint")), F.lit((1 << bits) - 1))
        return F.shiftleft(F.col("shard").cast("bigint"), bits) + time

    def _partitions(self, rows: DataFrame) -> int:
        if self._settings.tasks is not None:
            return self._settings.tasks
        conf = rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or "200"
        return min(self._settings.shards, int(conf))

    def _clock(self, pick: Callable[[Column], Column]) -> Column:
        """Return the first or last event time of all bound streams, read when the query runs."""
        times = [base.frame.select(TIME) for base in self._bound.values()]
        union = times[0]
        for other in times[1:]:
            union = union.unionAll(other)
        return union.agg(pick(F.col(TIME)).alias("clock")).scalar()

    def last_time(self) -> Column:
        """Return the last event time of all bound streams."""
        return self._clock(F.max)

    def release(self) -> None:
        """Release the cached rows."""
        for frame in self._cached:
            frame.unpersist()
        self._cached.clear()


def _state_key(shards: int) -> Column:
    """Return the state key of a row's shard, by which Spark spreads the shards evenly over tasks."""
    if shards == 1:
        return F.col("shard")
    keys = StateKeys(EVEN, shards)
    # One expression: each column is a call of the JVM.
    return F.expr(f"element_at(array({', '.join(str(keys.key(n)) for n in range(shards))}), shard + 1)")


def release_all(cached: list[BatchLowering]) -> None:
    """Release the caches of these lowerings, and forget them."""
    while cached:
        cached.pop().release()
