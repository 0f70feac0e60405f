"""Explain plans as stable text (no ids, no addresses), for users and for golden files.

A query is listed from its output down to its source; an indented line feeds the line above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from siddhi.planner.explain.access import access_text, lookup_text
from siddhi.planner.explain.aggregations import aggregation_lines
from siddhi.planner.explain.inputs import input_lines, window_text
from siddhi.planner.explain.limits import limit_text, on_full_text
from siddhi.planner.explain.patterns import pattern_labels
from siddhi.planner.explain.temporal import (
    correction_lines,
    correction_text,
    temporal_partition_lines,
    temporal_query_lines,
    temporal_text,
)
from siddhi.planner.plan.access import TableAccess
from siddhi.planner.plan.connectors import SourceErrorAction
from siddhi.planner.plan.expressions import TABLE_SLOT, Attr, InTable, TypedExpression
from siddhi.planner.plan.graph import expressions_of
from siddhi.planner.plan.nodes import (
    Action,
    FilterPlan,
    JoinPlan,
    OnErrorAction,
    OutputPlan,
    PartitionPlan,
    Plan,
    QueryPlan,
    SelectionOperator,
    SelectMode,
    SelectorPlan,
    SourceKind,
    StreamPlan,
    TablePlan,
    TriggerPlan,
    ValueKeyPlan,
)
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.text import executor_text, expression_text
from siddhi.planner.plan.walk import walk
from siddhi.planner.problems import schema_text
from siddhi.query_api.selection import EventRate, OutputRate, SnapshotRate, TimeRate

__all__ = ["explain"]

_STEP = "  "


def explain(plan: Plan) -> str:
    """Return the plan as text: definitions, then queries and partitions, then batch safety."""
    lines = [f"app {plan.app.name}" if plan.app.name is not None else "app"]
    if plan.playback is not None:
        beat = plan.playback
        heartbeat = f" idle {beat.idle_time_ms} ms, increment {beat.increment_ms} ms" if beat.idle_time_ms else ""
        lines.append(f"{_STEP}playback{heartbeat}{', exact timers' if beat.exact else ''}")
    if plan.statistics is not None:
        lines.append(f"{_STEP}statistics")
    derived = {query.target for query in plan.temporal_queries}
    lines += [_stream_line(stream, is_derived=stream.id in derived) for stream in plan.streams.values()]
    lines += [_table_line(table) for table in plan.tables.values()]
    for window in plan.windows.values():
        lines.append(
            f"window {window.id} {schema_text(window.attributes)} {window_text(window.window)} output {window.output.value}"
        )
    for aggregation in plan.aggregations.values():
        lines += aggregation_lines(aggregation)
        conditions = [handler.condition for handler in aggregation.input.before if isinstance(handler, FilterPlan)]
        lines += [_STEP + line for line in _in_lines(conditions, {}, plan.tables)]
    lines += [_trigger_line(trigger) for trigger in plan.triggers.values()]
    for function in plan.functions.values():
        lines.append(f"function {function.id}[{function.language}] returns {function.return_type}")
    lines += correction_lines(plan)
    for execution in plan.executions:
        lines.append("")
        if isinstance(execution, QueryPlan):
            lines += _query_lines(execution, plan.tables)
        else:
            lines += _partition_lines(execution, plan.tables)
    for partition in plan.temporal_partitions:
        lines.append("")
        lines += temporal_partition_lines(partition)
    for query in plan.temporal_queries:
        lines.append("")
        lines += temporal_query_lines(query)
    if plan.batches:
        lines.append("")
    for batch in plan.batches:
        lines.append(f"batch {batch.stream}: {'columns' if batch.columnar else f'row by row, {batch.reason}'}")
    lines += [f"warning: {warning}" for warning in plan.warnings]
    return "\n".join(lines)


def _stream_line(stream: StreamPlan, *, is_derived: bool = False) -> str:
    notes = [stream.origin.value]
    if stream.predicate_index is not None:
        index = stream.predicate_index
        names = ", ".join(stream.attributes[position].name for position in index.positions) or "no attribute"
        notes.append(f"predicate index on {names} for {index.queries} queries")
    if stream.temporal is not None:
        notes.append(temporal_text(stream.temporal, is_derived=is_derived))
    if stream.correction is not None:
        notes.append(correction_text(stream.correction))
    if stream.on_error is not OnErrorAction.LOG:
        notes.append(f"on error {stream.on_error.value}")
    if stream.async_settings is not None:
        settings = stream.async_settings
        notes.append(
            f"async buffer {settings.buffer_size}, workers {settings.workers}, batch {settings.batch_size_max}"
        )
    for source in stream.sources:
        action = source.on_mapping_error
        handled = "" if action is SourceErrorAction.STORE else f", on mapping error {action.value}"
        notes.append(f"source {source.source.full_name} by {source.mapper.full_name}{handled}")
    for sink in stream.sinks:
        spread = "" if sink.distribution is None else f", {sink.distribution.strategy.full_name}"
        notes.append(f"sink {sink.sink.full_name} by {sink.mapper.full_name}{spread}, on error {sink.on_error.value}")
    return f"stream {stream.id} {schema_text(stream.attributes)} [{'; '.join(notes)}]"


def _table_line(table: TablePlan) -> str:
    notes = []
    if table.primary_key:
        notes.append(f"primary key {', '.join(table.attributes[position].name for position in table.primary_key)}")
    if table.indexes:
        notes.append(f"index {', '.join(table.attributes[position].name for position in table.indexes)}")
    if table.store is not None:
        notes.append(f"store {table.store.store.full_name}")
    if table.limit is not None:
        notes.append(f"at most {table.limit.rows} rows, then {on_full_text(table.limit.on_full)}")
    return f"table {table.id} {schema_text(table.attributes)}" + (f" [{'; '.join(notes)}]" if notes else "")


def _trigger_line(trigger: TriggerPlan) -> str:
    when = "start" if trigger.at_start else f"cron {trigger.cron}"
    return f"trigger {trigger.id} at {f'every {trigger.every_ms} ms' if trigger.every_ms is not None else when}"


def _partition_lines(partition: PartitionPlan, tables: Mapping[str, TablePlan]) -> Iterator[str]:
    yield f"partition {partition.name}"
    for key in partition.keys:
        if isinstance(key, ValueKeyPlan):
            yield f"{_STEP}key of {key.kind.value} {key.stream}: {_described(key.expression, {})}"
            yield from (_STEP * 2 + line for line in _in_lines((key.expression,), {}, tables))
            continue
        for label, condition in key.ranges:
            yield f"{_STEP}range '{label}' of {key.kind.value} {key.stream}: {_described(condition, {})}"
            yield from (_STEP * 2 + line for line in _in_lines((condition,), {}, tables))
    if partition.purge is not None:
        yield f"{_STEP}purge every {partition.purge.interval_ms} ms, idle period {partition.purge.idle_period_ms} ms"
    if partition.limit is not None:
        yield _STEP + limit_text(partition.limit)
    for stream in partition.inner_streams:
        yield _STEP + _stream_line(stream)
    for query in partition.queries:
        yield from (_STEP + line for line in _query_lines(query, tables))


def _query_lines(query: QueryPlan, tables: Mapping[str, TablePlan]) -> Iterator[str]:
    yield f"query {query.name}" + (
        "" if query.synchronized is None else f" [synchronized {str(query.synchronized).lower()}]"
    )
    depth = 1
    for line in _output_lines(query.output, tables):
        yield _STEP * depth + line
    depth += 1
    if query.rate is not None:
        yield _STEP * depth + _rate_text(query.rate)
        depth += 1
    if query.limit is not None:
        yield _STEP * depth + limit_text(query.limit)
        depth += 1
    labels = _labels(query)
    for line in _selector_lines(query.selector, labels, query.selection, stores_groups=query.stores_groups):
        yield _STEP * depth + line
    depth += 1
    for line in input_lines(query.input, labels, query.fused):
        yield _STEP * depth + line
    if isinstance(query.input, JoinPlan):
        for slot, side in enumerate((query.input.left, query.input.right)):
            lookup = query.input.lookups[slot]
            if isinstance(lookup, TableAccess):
                access = access_text(tables[side.source], lookup)
                yield f"{_STEP * (depth + 1)}finds rows of {labels[slot]} by {access}"
            elif query.input.triggers(1 - slot) and (side.kind is SourceKind.WINDOW or side.window is not None):
                yield f"{_STEP * (depth + 1)}finds events of {labels[slot]} by {lookup_text(lookup)}"
    for line in _in_lines(expressions_of(query), labels, tables):
        yield _STEP + line


def _in_lines(
    expressions: Iterable[TypedExpression], labels: Mapping[int, str], tables: Mapping[str, TablePlan]
) -> Iterator[str]:
    """Yield how each ``in`` of the expressions finds rows; equal lines once."""
    lines = [
        f"{expression_text(node, labels)} finds rows by {access_text(tables[node.table], node.access)}"
        for expression in expressions
        for node in walk(expression)
        if isinstance(node, InTable) and node.access is not None
    ]
    yield from dict.fromkeys(lines)


def _labels(query: QueryPlan) -> dict[int, str]:
    """Return the names of the events of a join or pattern, by slot."""
    if isinstance(query.input, PatternPlan):
        return pattern_labels(query.input)
    if not isinstance(query.input, JoinPlan):
        return {}
    left, right = query.input.left, query.input.right
    names = (left.alias or left.source, right.alias or right.source)
    return {0: names[0], 1: names[1] if names[1] != names[0] else f"{names[1]} (right)"}


def _output_lines(output: OutputPlan, tables: Mapping[str, TablePlan]) -> Iterator[str]:
    if output.action is Action.RETURN:
        yield f"return {output.event_type.value}"
        return
    if output.action is Action.INSERT:
        yield f"insert {output.event_type.value} into {output.kind.value} {output.target}"
        return
    yield f"{output.action.value} {output.kind.value} {output.target} for {output.event_type.value}"
    labels = {TABLE_SLOT: output.target}
    for assignment in output.set or ():
        value = _described(assignment.value, labels)
        name = tables[output.target].attributes[assignment.position].name
        yield f"{_STEP}set {name} = {value}"
    if output.condition is not None:
        yield f"{_STEP}on {_described(output.condition, labels)}"
    if output.access is not None:
        yield f"{_STEP}finds rows by {access_text(tables[output.target], output.access)}"
    if output.action is Action.UPDATE_OR_INSERT and output.change is not None:
        change = output.change
        if change.pending is not None:
            access = access_text(tables[output.target].pending(), change.pending)
            yield f"{_STEP}adds rows at the end of the chunk, finds them by {access} until then"
        else:
            yield f"{_STEP}{'overwrites and adds rows' if change.overwrites else 'adds rows'} at once"


def _rate_text(rate: OutputRate) -> str:
    if isinstance(rate, EventRate):
        return f"output {rate.kind.value} every {rate.events} events"
    if isinstance(rate, TimeRate):
        return f"output {rate.kind.value} every {rate.every_ms} ms"
    assert isinstance(rate, SnapshotRate)
    return f"output snapshot every {rate.every_ms} ms"


def _selector_lines(
    selector: SelectorPlan,
    labels: Mapping[int, str],
    operator: SelectionOperator = SelectionOperator.SELECTOR,
    *,
    stores_groups: bool = False,
) -> Iterator[str]:
    end = ", computed at its end" if operator is SelectionOperator.SELECTOR_AT_CHUNK_END else ""
    mode = "" if selector.mode is SelectMode.EACH else f" [{selector.mode.value}{end}]"
    yield f"select{mode}"
    for column in selector.columns:
        yield f"{_STEP}{column.name} {column.expression.type} = {_described(column.expression, labels)}"
    if selector.group_by:
        keys = ", ".join(expression_text(key, labels) for key in selector.group_by)
        yield f"{_STEP}group by {keys}{'  [group id stored in the event]' if stores_groups else ''}"
    if selector.having is not None:
        yield f"{_STEP}having {_described(selector.having, labels)}"
    if selector.order_by:
        order_by = (f"{expression_text(order.key, labels)} {order.order.value}" for order in selector.order_by)
        yield f"{_STEP}order by {', '.join(order_by)}"
    if selector.limit is not None:
        yield f"{_STEP}limit {selector.limit}"
    if selector.offset is not None:
        yield f"{_STEP}offset {selector.offset}"


def _described(expression: TypedExpression, labels: Mapping[int, str]) -> str:
    """Return the expression, and its executor unless it is a plain attribute."""
    text = expression_text(expression, labels)
    return text if isinstance(expression, Attr) else f"{text}  [{executor_text(expression)}]"
