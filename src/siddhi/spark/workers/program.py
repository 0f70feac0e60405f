"""Program of an engine fragment, as workers get it: the text of a small app and the columns of its rows. Plain data.

All rows of a fragment enter through one input stream. If it has several inputs, the input stream has columns for the
attributes of all of them, and queries route its rows in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from siddhi._version import __version__
from siddhi.planner.distribution.sub_app import sub_app
from siddhi.planner.plan.elements import ElementKind
from siddhi.planner.plan.expressions import Call
from siddhi.planner.plan.graph import expressions_of, sources_of
from siddhi.planner.plan.nodes import OnErrorAction, PartitionPlan, Plan, QueryPlan, StreamPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.processors import processors_of
from siddhi.planner.plan.walk import walk
from siddhi.query_api.annotation import find_annotation
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.selection import SnapshotRate, TimeRate
from siddhi.query_compiler import parse, to_siddhiql
from siddhi.sandbox import SandboxPolicy
from siddhi.spark.plan.fragments import EngineFragment
from siddhi.spark.plan.key_hash import shard_of_key
from siddhi.spark.plan.naming import INPUT_STREAM, TRACE, app_called
from siddhi.spark.workers.extension_modules import modules_of
from siddhi.types import AttributeType

__all__ = ["FragmentProgram", "OutputShape", "TableRows", "is_query_timed", "union_columns", "write_program"]

_STREAM = "input"
_LITERALS = {
    AttributeType.INT: "0",
    AttributeType.LONG: "0L",
    AttributeType.FLOAT: "0.0f",
    AttributeType.DOUBLE: "0.0",
    AttributeType.BOOL: "false",
    AttributeType.STRING: "''",
}
_WITHOUT_TIME = frozenset(
    "length lengthBatch batch sort frequent lossyFrequent expression expressionBatch externalTime".split()
)
"""Windows that only events change."""


@dataclass(frozen=True, slots=True)
class OutputShape:
    """An output stream; ``union_indexes`` are the union columns of its attributes.

    ``trace``: the stream that is collected instead. A row whose first column is true precedes the output of each input row; the
    other rows are the output. So each output row can be traced to its input row.
    """

    stream: str
    types: tuple[str, ...]
    union_indexes: tuple[int, ...]
    trace: str | None = None

    @property
    def collected(self) -> str:
        """The stream whose rows are collected."""
        return self.stream if self.trace is None else self.trace


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of a read-only table, and the stream that fills it first."""

    stream: str
    rows: bytes


@dataclass(frozen=True, slots=True)
class FragmentProgram:
    """An engine fragment as data.

    Attributes:
        app: the app in messages.
        names: elements of the fragment.
        text: SiddhiQL text.
        input_stream: the stream that takes the rows.
        columns: names of its attributes, in the order of the columns of the rows.
        kinds: types of its attributes.
        inputs: indexes of the columns of each input.
        outputs: output streams.
        union_types: types of the union columns of all outputs.
        fingerprint: identifies programs with compatible state.
        ticks: whether every event of the app moves the clock, not only events of the inputs; rows whose first column is -1 are
            clock ticks.
        fills: read-only tables, and the streams that fill them.
        tolerated: origins of errors that do not end the query: streams with @OnError, and written tables, which may refuse a row
            by primary key.
        random: whether it generates UUIDs, which must be the same in a repeated task.
        timed: whether timers can emit rows.
        tables: rows of read-only tables.
        modules: modules to import first, for extensions.
        on_demand: an on-demand query that every shard runs at the end of its input.
        answer: output of this query.
        labels: labels of ranges with the shard that processes each.
        shards: number of shards, where it matters.
        policy: the limits of keys, rows and partial matches of the app's policy; the driver has checked what the text may use.
        version: version of siddhi.
    """

    app: str
    names: tuple[str, ...]
    text: str
    input_stream: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[OutputShape, ...]
    union_types: tuple[str, ...]
    fingerprint: str
    ticks: bool = False
    fills: tuple[tuple[str, str], ...] = ()
    tolerated: tuple[str, ...] = ()
    random: bool = False
    timed: bool = True
    tables: tuple[TableRows, ...] = ()
    modules: tuple[str, ...] = ()
    on_demand: str = ""
    answer: OutputShape | None = None
    labels: tuple[tuple[str, int], ...] = ()
    shards: int = 1
    policy: SandboxPolicy | None = None
    version: str = __version__


def union_columns(schemas: Iterable[Sequence[AttributeType]]) -> tuple[list[AttributeType], list[tuple[int, ...]]]:
    """Return columns for rows of several schemas, shared by attributes of one type; and the column indexes of each schema."""
    union_types: list[AttributeType] = []
    positions: list[tuple[int, ...]] = []
    for schema in schemas:
        taken: set[int] = set()
        mine: list[int] = []
        for type_ in schema:
            at = next((n for n, other in enumerate(union_types) if other is type_ and n not in taken), len(union_types))
            if at == len(union_types):
                union_types.append(type_)
            taken.add(at)
            mine.append(at)
        positions.append(tuple(mine))
    return union_types, positions


def write_program(
    plan: Plan,
    fragment: EngineFragment,
    outputs: Sequence[str],
    *,
    ordered: Collection[str] = (),
    shards: int | None = None,
) -> FragmentProgram:
    """Return the program of an engine fragment.

    Args:
        plan: plan of the app.
        fragment: fragment of its layout.
        outputs: output streams.
        ordered: output streams that are traced to input rows.
        shards: number of shards; required for labels of ranges.
    """
    labels = () if fragment.key is None else fragment.key.labels
    assert shards is not None or not labels, "labels need a number of shards"
    cut = sub_app(plan, fragment.names)
    streams = list(fragment.inputs)
    schemas = [tuple(a.type for a in plan.streams[name].attributes) for name in streams]
    union_types, positions = union_columns(schemas)
    lines: list[str] = []
    dealt: list[str] = []
    ticks = needs_ticks(plan, fragment)
    if len(streams) == 1 and not ticks and not ordered:
        input_stream, columns = streams[0], tuple(a.name for a in plan.streams[streams[0]].attributes)
        kinds = tuple(str(type_) for type_ in schemas[0])
        positions = [tuple(range(len(kinds)))]
    else:
        input_stream, columns = INPUT_STREAM, (_STREAM, *(f"c{n}" for n in range(len(union_types))))
        kinds = ("int", *(str(type_) for type_ in union_types))
        lines.append(_define_input_stream(union_types))
        trace = [name for name in outputs if name in ordered]
        lines += [_trace_stream(plan, name, number) for number, name in enumerate(trace)]
        dealt = [*_trace_queries(plan, trace), *_route_queries(plan, streams, positions)]
        positions = [tuple(position + 1 for position in mine) for mine in positions]
    marks = {name: f"{TRACE}{n}" for n, name in enumerate(name for name in outputs if name in ordered)}
    left = [plan.streams[name].attributes for name in outputs]
    union, indexes = union_columns([tuple(a.type for a in attributes) for attributes in left])
    return FragmentProgram(
        app=app_called(plan),
        names=fragment.names,
        text=_joined(cut.text, [*lines, *dealt]),
        input_stream=input_stream,
        columns=columns,
        kinds=kinds,
        inputs=tuple(zip(streams, positions, strict=True)),
        outputs=tuple(
            OutputShape(name, tuple(str(a.type) for a in attributes), mine, marks.get(name))
            for name, attributes, mine in zip(outputs, left, indexes, strict=True)
        ),
        union_types=tuple(str(type_) for type_ in union),
        fingerprint=cut.fingerprint,
        ticks=ticks,
        random=_makes_uuids(plan, fragment),
        timed=_is_timed(plan, fragment),
        fills=tuple(cut.fills.items()),
        modules=modules_of(cut.text),
        tolerated=(
            *(stream.id for stream in plan.streams.values() if _tolerates(stream)),
            *(f"table '{name}'" for name in plan.tables if name not in cut.fills),
        ),
        labels=tuple((label, shard_of_key([label], shards or 1)) for label in labels),
        shards=shards or 1,
        policy=_limits_of(plan.policy),
    )


def _limits_of(policy: SandboxPolicy | None) -> SandboxPolicy | None:
    """Return a policy that sets the limits of the state that data can fill, and allows everything."""
    if policy is None:
        return None
    return replace(
        SandboxPolicy.trusted(), max_keys=policy.max_keys, max_rows=policy.max_rows, max_events=policy.max_events
    )


def needs_ticks(plan: Plan, fragment: EngineFragment) -> bool:
    """Return whether something in a fragment starts with the first event of the app, of any stream."""
    if any(element.kind is ElementKind.TRIGGER for element in fragment.elements):
        return True
    queries = [e for e in plan.executions if isinstance(e, QueryPlan) and e.name in fragment.names]
    return fragment.is_single and any(_starts_by_time(query) for query in queries)


def _is_timed(plan: Plan, fragment: EngineFragment) -> bool:
    """Return whether timers can emit rows."""
    if any(element.kind is ElementKind.TRIGGER for element in fragment.elements):
        return True
    used = [plan.windows[element.name].window for element in fragment.elements if element.name in plan.windows]
    if any(window.window.builtin not in _WITHOUT_TIME for window in used):
        return True
    filled = [
        plan.aggregations[element.name].input for element in fragment.elements if element.name in plan.aggregations
    ]
    if any(processor.clock_driven for processor in processors_of(filled)):
        return True
    executions = [execution for execution in plan.executions if execution.name in fragment.names]
    return any(
        is_query_timed(query)
        for execution in executions
        for query in ((execution,) if isinstance(execution, QueryPlan) else execution.queries)
    ) or any(isinstance(execution, PartitionPlan) and execution.purge is not None for execution in executions)


def _makes_uuids(plan: Plan, fragment: EngineFragment) -> bool:
    return any(
        isinstance(node, Call) and node.function.builtin == "UUID"
        for execution in plan.executions
        if execution.name in fragment.names
        for query in ((execution,) if isinstance(execution, QueryPlan) else execution.queries)
        for expression in expressions_of(query)
        for node in walk(expression)
    )


def is_query_timed(query: QueryPlan) -> bool:
    """Return whether timers change the state or the output of a query."""
    if isinstance(query.rate, (TimeRate, SnapshotRate)):
        return True
    if isinstance(query.input, PatternPlan):
        return query.input.waits
    if any(processor.clock_driven for processor in processors_of(sources_of(query))):
        return True
    windows = [source.window for source in sources_of(query)]
    return any(window is not None and window.window.builtin not in _WITHOUT_TIME for window in windows)


def _starts_by_time(query: QueryPlan) -> bool:
    if isinstance(query.rate, (TimeRate, SnapshotRate)):
        return True
    if not isinstance(query.input, PatternPlan):
        return False
    return any(query.input.slots[slot].for_ms is not None for slot in query.input.states[0].slots)


def _tolerates(stream: StreamPlan) -> bool:
    """Return whether the app says what happens to events that fail; otherwise they end the query."""
    if stream.on_error is not OnErrorAction.LOG:
        return True
    said = find_annotation(stream.annotations, "OnError")
    return said is not None and (said.element("action") or "").lower() == "log"


def _define_input_stream(union_types: Sequence[AttributeType]) -> str:
    columns = ", ".join([f"{_STREAM} int", *(f"c{n} {type_}" for n, type_ in enumerate(union_types))])
    return f"define stream {INPUT_STREAM} ({columns});"


def _route_queries(plan: Plan, streams: Sequence[str], positions: Sequence[tuple[int, ...]]) -> list[str]:
    lines = []
    for number, (name, mine) in enumerate(zip(streams, positions, strict=True)):
        attributes = plan.streams[name].attributes
        selected = ", ".join(f"c{position} as {_name(a.name)}" for position, a in zip(mine, attributes, strict=True))
        lines.append(
            f"@info(name = '{INPUT_STREAM}-{number}') from {INPUT_STREAM}[{_STREAM} == {number}] select {selected} insert into {_name(name)};"
        )
    return lines


def _trace_stream(plan: Plan, stream: str, number: int) -> str:
    attributes = plan.streams[stream].attributes
    return (
        f"define stream {TRACE}{number} (mark bool, {', '.join(f'c{n} {a.type}' for n, a in enumerate(attributes))});"
    )


def _trace_queries(plan: Plan, streams: Sequence[str]) -> list[str]:
    """Return queries that emit a mark for each input row, before anything it leads to, and then the output."""
    lines = []
    for number, stream in enumerate(streams):
        attributes = plan.streams[stream].attributes
        marks = ", ".join(["true as mark", *(f"{_LITERALS[a.type]} as c{n}" for n, a in enumerate(attributes))])
        rows = ", ".join(["false as mark", *(f"{_name(a.name)} as c{n}" for n, a in enumerate(attributes))])
        into = f"insert into {TRACE}{number};"
        lines.append(f"@info(name = '{TRACE}-{number}') from {INPUT_STREAM} select {marks} {into}")
        lines.append(f"@info(name = '{TRACE}-{number}-rows') from {_name(stream)} select {rows} {into}")
    return lines


def _joined(text: str, more: Sequence[str]) -> str:
    """Return an app with more definitions and queries."""
    if not more:
        return text
    app, added = parse(text), parse("\n".join(more))
    whole = SiddhiApp(
        annotations=app.annotations,
        definitions=(*app.definitions, *added.definitions),
        executions=(*app.executions, *added.executions),
    )
    return to_siddhiql(whole)


def _name(name: str) -> str:
    return f"`{name}`"
