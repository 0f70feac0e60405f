"""Print queries, partitions and their clauses."""

from __future__ import annotations

import re

from siddhi.query_api import (
    DeleteFrom,
    EventRate,
    InsertInto,
    OnDemandQuery,
    Order,
    OrderBy,
    OutputAttribute,
    OutputEventType,
    Partition,
    Query,
    RangeKey,
    RateKind,
    ReturnOutput,
    Selector,
    SetAttribute,
    SnapshotRate,
    StoreInput,
    TimeRate,
    UpdateOrInsertInto,
    UpdateTable,
    ValueKey,
)
from siddhi.query_compiler.print.expressions import name_text, string_text, time_text
from siddhi.query_compiler.print.inputs import clauses
from siddhi.query_compiler.print.nodes import annotated, listed, node_text, optional, within_per

QUOTED = re.compile(r'"{3}.*?"{3}|`[^`]*`|"[^"]*"|\'[^\']*\'', re.DOTALL)


@node_text.register
def _(query: Query) -> str:
    lines = clauses(node_text(query.input), query.selector, query.rate, query.output)
    return annotated(query.annotations, "\n".join(lines))


@node_text.register
def _(partition: Partition) -> str:
    queries = "\n".join(_indented(node_text(query) + ";") for query in partition.queries)
    return annotated(partition.annotations, f"partition with ({listed(partition.keys)})\nbegin\n{queries}\nend")


def _indented(text: str) -> str:
    # A line break inside quotes is part of a string or name, and so is the white space after it.
    if any("\n" in quoted for quoted in QUOTED.findall(text)):
        return text
    return "\n".join("    " + line for line in text.split("\n"))


@node_text.register
def _(key: ValueKey) -> str:
    return f"{node_text(key.expression)} of {name_text(key.stream)}"


@node_text.register
def _(key: RangeKey) -> str:
    ranges = " or ".join(f"{node_text(condition)} as {string_text(label)}" for label, condition in key.ranges)
    return f"{ranges} of {name_text(key.stream)}"


@node_text.register
def _(query: OnDemandQuery) -> str:
    has_selection = query.selector != Selector() or isinstance(query.output, (InsertInto, UpdateOrInsertInto))
    lines = [node_text(query.selector)] if has_selection else []
    if query.input is not None:
        lines.insert(0, f"from {node_text(query.input)}")
    if query.output is not None:
        lines.append(node_text(query.output))
    return "\n".join(lines)


@node_text.register
def _(store: StoreInput) -> str:
    alias = [f"as {name_text(store.alias)}"] if store.alias is not None else []
    return " ".join([name_text(store.store), *alias, *optional("on", store.on), *within_per(store.within, store.per)])


@node_text.register
def _(selector: Selector) -> str:
    lines = [f"select {listed(selector.attributes) or '*'}"]
    if selector.group_by:
        lines.append(f"group by {listed(selector.group_by)}")
    lines += optional("having", selector.having)
    if selector.order_by:
        lines.append(f"order by {listed(selector.order_by)}")
    lines += optional("limit", selector.limit)
    lines += optional("offset", selector.offset)
    return "\n".join(lines)


@node_text.register
def _(attribute: OutputAttribute) -> str:
    rename = f" as {name_text(attribute.rename)}" if attribute.rename is not None else ""
    return node_text(attribute.expression) + rename


@node_text.register
def _(order: OrderBy) -> str:
    return node_text(order.variable) + (" desc" if order.order is Order.DESC else "")


def _kind(kind: RateKind) -> str:
    return "" if kind is RateKind.ALL else f"{kind.value} "


@node_text.register
def _(rate: EventRate) -> str:
    return f"output {_kind(rate.kind)}every {rate.events} events"


@node_text.register
def _(rate: TimeRate) -> str:
    return f"output {_kind(rate.kind)}every {time_text(rate.every_ms)}"


@node_text.register
def _(rate: SnapshotRate) -> str:
    return f"output snapshot every {time_text(rate.every_ms)}"


def _events(event_type: OutputEventType | None, prefix: str) -> str:
    return "" if event_type is None else f" {prefix}{event_type.value}"


@node_text.register
def _(output: InsertInto) -> str:
    sign = "#" if output.is_inner else "!" if output.is_fault else ""
    return f"insert{_events(output.event_type, '')} into {sign}{name_text(output.target)}"


@node_text.register
def _(output: ReturnOutput) -> str:
    return f"return{_events(output.event_type, '')}"


@node_text.register
def _(output: DeleteFrom) -> str:
    head = f"delete {name_text(output.target)}{_events(output.event_type, 'for ')}"
    return " ".join([head, *optional("on", output.on)])


@node_text.register
def _(output: UpdateTable) -> str:
    return _update("update", output)


@node_text.register
def _(output: UpdateOrInsertInto) -> str:
    return _update("update or insert into", output)


def _update(verb: str, output: UpdateTable | UpdateOrInsertInto) -> str:
    head = f"{verb} {name_text(output.target)}{_events(output.event_type, 'for ')}"
    assignments = [] if output.set is None else [f"set {listed(output.set)}"]
    return " ".join([head, *assignments, f"on {node_text(output.on)}"])


@node_text.register
def _(assignment: SetAttribute) -> str:
    return f"{node_text(assignment.target)} = {node_text(assignment.value)}"
