"""Explain temporal streams and queries."""

from __future__ import annotations

from collections.abc import Iterator

from siddhi.planner.plan.expressions import OUTPUT_SLOT
from siddhi.planner.plan.nodes import PartitionPlan, Plan, QueryPlan, SingleInputPlan, StreamPlan, ValueKeyPlan
from siddhi.planner.plan.temporal import (
    AlterLifetimePlan,
    AntiJoinPlan,
    ClipPlan,
    CorrectionPlan,
    MatchPlan,
    ShiftPlan,
    TemporalFilterPlan,
    TemporalInputPlan,
    TemporalPartitionPlan,
    TemporalQueryPlan,
    TemporalStepPlan,
    TemporalStreamPlan,
    TemporalWindowPlan,
    WindowKind,
)
from siddhi.planner.plan.text import expression_text
from siddhi.planner.problems import schema_text
from siddhi.types import AttributeType

__all__ = ["correction_lines", "correction_text", "temporal_partition_lines", "temporal_query_lines", "temporal_text"]

_STEP = "  "
_LABELS: dict[int, str] = {}

_HEAD_BYTES = 32  # of a record, before null bits and values
_ENTRY_BYTES = 24  # of the log, without the record
_ROW_BYTES = 8  # of an output, without the record


def temporal_text(stream: TemporalStreamPlan, *, is_derived: bool = False) -> str:
    """Return the settings of a temporal stream; one that temporal queries fill has no policy, as nothing comes late."""
    parts = [f"temporal {stream.model.value}"]
    if not is_derived:
        parts.append(f"late {stream.policy.value}")
    if stream.by_start:
        parts.append("in order of start")
    if stream.by_row:
        parts.append("ties in order of rows")
    if stream.filled:
        parts.append("CTI with the release to classical queries, which fill it")
    if stream.advance is not None:
        made = stream.advance
        when = [f"every {made.count} starts"] if made.count else []
        when += [f"every {made.duration_ms} ms"] if made.duration_ms else []
        reference = "last" if made.last else "highest"
        parts.append(f"CTI {' or '.join(when)}, {made.delay_ms} ms behind the {reference} start")
    return ", ".join(parts)


def correction_text(stream: CorrectionPlan) -> str:
    """Return the settings of a corrected stream."""
    return f"corrected if late by up to {stream.bound_ms} ms"


def correction_lines(plan: Plan) -> Iterator[str]:
    """Yield what an app that corrects late events keeps for that, and with what it grows; nothing if it does not."""
    corrected = plan.corrected_streams()
    if not corrected:
        return
    bound = max(stream.correction.bound_ms for stream in corrected if stream.correction is not None)
    yield f"corrections, for events that are late by up to {bound} ms"
    yield f"{_STEP}log: the events of that time, or since the CTI if that is later"
    for stream in corrected:
        yield f"{_STEP * 2}event of stream {stream.id}: {_ENTRY_BYTES + _record_bytes(stream)} bytes{_and_objects(stream)}"
    yield f"{_STEP}rows: those of that time, of each stream with a callback or sink, and each query with a callback"
    for stream in plan.streams.values():
        if stream.correction is None:
            size = _ROW_BYTES + _record_bytes(stream)
            yield f"{_STEP * 2}row of stream {stream.id}: {size} bytes{_and_objects(stream)}"
    yield f"{_STEP}checkpoints: the first after 1,024 events, then so far apart that they take 3 % of the time (at least 16 events)"
    yield f"{_STEP * 2}number: up to 16, then about 4 more whenever the log doubles, and as many around a late event"
    yield f"{_STEP * 2}size of each: that of the state of {', '.join(_with_state(plan)) or 'the clock alone'}"
    yield f"{_STEP}a late event: replays those behind the checkpoint before it, up to one where the state is as it was"


def _record_bytes(stream: StreamPlan) -> int:
    width = len(stream.attributes)
    return _HEAD_BYTES + 8 * ((width + 63) // 64 + width)


def _and_objects(stream: StreamPlan) -> str:
    has_objects = any(attribute.type in (AttributeType.STRING, AttributeType.OBJECT) for attribute in stream.attributes)
    return ", and its strings and objects" if has_objects else ""


def _with_state(plan: Plan) -> Iterator[str]:
    """Yield the parts of an app that a checkpoint contains."""
    yield from (f"table {id_}" for id_ in plan.tables)
    yield from (f"window {id_}" for id_ in plan.windows)
    yield from (f"aggregation {id_}" for id_ in plan.aggregations)
    yield from (f"trigger {id_}" for id_, trigger in plan.triggers.items() if not trigger.at_start)
    for execution in plan.executions:
        if isinstance(execution, PartitionPlan):
            yield f"partition {execution.name} (per key)"
        elif _has_state(execution):
            yield f"query {execution.name}"


def _has_state(query: QueryPlan) -> bool:
    if query.rate is not None or query.selector.has_aggregates or query.selector.group_by:
        return True
    return not isinstance(query.input, SingleInputPlan) or query.input.window is not None


def temporal_partition_lines(partition: TemporalPartitionPlan) -> Iterator[str]:
    """Yield the lines of a partition, without those of its queries."""
    yield f"partition {partition.name} [temporal], key {partition.key_type}"
    if partition.purge is not None:
        yield f"{_STEP}purge every {partition.purge.interval_ms} ms, idle period {partition.purge.idle_period_ms} ms"
    for key in partition.keys:
        if isinstance(key, ValueKeyPlan):
            yield f"{_STEP}key of stream {key.stream}: {expression_text(key.expression, _LABELS)}"
            continue
        for label, condition in key.ranges:
            yield f"{_STEP}range '{label}' of stream {key.stream}: {expression_text(condition, _LABELS)}"
    for stream in partition.inner_streams:
        yield f"{_STEP}stream {stream.id} {schema_text(stream.attributes)}"


def temporal_query_lines(query: TemporalQueryPlan) -> Iterator[str]:
    """Yield the lines of a temporal query, from its output down to its sources."""
    yield f"query {query.name} [temporal]"
    yield f"{_STEP}insert lifetimes into stream {query.target}"
    depth = 2
    yield f"{_STEP * depth}select{' when the end is known' if query.reads_end else ''}"
    labels = {**_LABELS, 0: "left", 1: "right"} if query.join is not None else _LABELS
    for column in query.selector.columns:
        text = expression_text(column.expression, labels)
        yield f"{_STEP * (depth + 1)}{column.name} {column.expression.type} = {text}"
    if query.selector.having is not None:
        having = expression_text(query.selector.having, {**labels, OUTPUT_SLOT: ""})
        yield f"{_STEP * (depth + 1)}having {having}"
    depth += 1
    if query.window is not None:
        yield _STEP * depth + _window_text(query, query.window)
        depth += 1
    if query.join is not None:
        yield f"{_STEP * depth}{query.join.type.value} of overlapping lifetimes{_match_text(query.join.match, query.inputs)}"
        depth += 1
    for input_ in query.inputs:
        at = depth
        for step in reversed(input_.steps):
            yield _STEP * at + _step_text(step, input_)
            at += 1
        yield f"{_STEP * at}from temporal stream {input_.source}"


def _window_text(query: TemporalQueryPlan, window: TemporalWindowPlan) -> str:
    if window.kind is WindowKind.SNAPSHOT:
        text = "snapshot window"
    elif window.kind is WindowKind.COUNT_BY_START:
        text = f"window of {window.count} distinct starts"
    else:
        shape = "during the window" if window.clip else "at its end"
        text = f"window of {window.size_ms} ms every {window.hop_ms} ms from {window.alignment_ms} ms, results {shape}"
    text += ", aggregates" if window.aggregates else ", rows"
    attributes = query.inputs[0].attributes
    if window.conditions:
        text += f" where {' and '.join(expression_text(condition, _LABELS) for condition in window.conditions)}"
    if window.group_by:
        text += f" by {', '.join(attributes[position].name for position in window.group_by)}"
    if window.order_by:
        columns = query.selector.columns
        text += f" by {', '.join(f'{columns[at].name} {order.value}' for at, order in window.order_by)}"
    return text if window.limit is None else f"{text}, first {window.limit} with ties"


def _step_text(step: TemporalStepPlan, input_: TemporalInputPlan) -> str:
    if isinstance(step, TemporalFilterPlan):
        return f"filter {expression_text(step.condition, _LABELS)}"
    if isinstance(step, ShiftPlan):
        return f"shift lifetimes by {step.by_ms} ms"
    if isinstance(step, AlterLifetimePlan):
        start = "start" if step.start is None else expression_text(step.start, _LABELS)
        duration = "infinite" if step.duration is None else expression_text(step.duration, _LABELS)
        return f"lifetime from {start}, duration {duration}{', waits for the end' if step.reads_end else ''}"
    if isinstance(step, AntiJoinPlan):
        other = TemporalInputPlan(step.other, step.other_attributes)
        return f"anti join with stream {step.other}{_match_text(step.match, (input_, other))}"
    assert isinstance(step, ClipPlan)
    other = input_ if step.other is None else TemporalInputPlan(step.other, step.other_attributes)
    by = "itself" if step.other is None else f"stream {step.other}"
    return f"clip by {by}{_match_text(step.match, (input_, other))}"


def _match_text(match: MatchPlan, inputs: tuple[TemporalInputPlan, ...]) -> str:
    left, right = (input_.attributes for input_ in inputs)
    pairs = zip(match.left_keys, match.right_keys, strict=True)
    keys = ", ".join(f"left.{left[at].name} = right.{right[other].name}" for at, other in pairs)
    text = f", key {keys}" if keys else ""
    if match.condition is not None:
        text += f", on {expression_text(match.condition, {0: 'left', 1: 'right'})}"
    return text
