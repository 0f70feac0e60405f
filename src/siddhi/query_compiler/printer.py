"""The object model back to SiddhiQL: ``parse(to_siddhiql(app)) == app``."""

from __future__ import annotations

import re
from functools import singledispatch

from siddhi.query_api import (
    AbsentState,
    AggregationDefinition,
    Annotation,
    AnonymousInput,
    Attribute,
    CountState,
    Definition,
    DeleteFrom,
    Element,
    EventRate,
    EveryState,
    Expression,
    Filter,
    FunctionDefinition,
    Handler,
    InsertInto,
    JoinInput,
    LogicalState,
    NextState,
    OnDemandQuery,
    Order,
    OrderBy,
    OutputAttribute,
    OutputEventType,
    OutputRate,
    Partition,
    Pattern,
    Query,
    RangeKey,
    RateKind,
    ReturnOutput,
    Selector,
    Sequence,
    SetAttribute,
    SiddhiApp,
    SingleInput,
    SnapshotRate,
    State,
    StoreInput,
    StreamDefinition,
    StreamFunction,
    StreamState,
    TableDefinition,
    TimeRate,
    Trigger,
    TriggerDefinition,
    UpdateOrInsertInto,
    UpdateTable,
    ValueKey,
    WindowDefinition,
    WindowHandler,
)
from siddhi.query_api.span import Node
from siddhi.query_compiler.print_annotations import annotation_text, element_text
from siddhi.query_compiler.print_expressions import expression_text, name_text, string_text, time_text

__all__ = ["to_siddhiql"]

QUOTED = re.compile(r'"{3}.*?"{3}|`[^`]*`|"[^"]*"|\'[^\']*\'', re.DOTALL)


def to_siddhiql(node: Node) -> str:
    """SiddhiQL text that compiles to an equal node; an app is laid out one clause a line.

    Raises:
        ValueError: the node holds something SiddhiQL can't express, such as a name with a back quote.
    """
    return _print(node)


@singledispatch
def _print(node: Node) -> str:
    raise TypeError(f"not a node of a Siddhi app: {node!r}")


def _optional(prefix: str, node: Node | None) -> list[str]:
    return [] if node is None else [f"{prefix} {_print(node)}"]


def _list(nodes: tuple[Node, ...]) -> str:
    return ", ".join(map(_print, nodes))


def _annotated(annotations: tuple[Annotation, ...], text: str) -> str:
    return "\n".join([*map(annotation_text, annotations), text])


_print.register(Expression, expression_text)
_print.register(Annotation, annotation_text)
_print.register(Element, element_text)


# ---- apps and definitions


@_print.register
def _(app: SiddhiApp) -> str:
    blocks = []
    if app.annotations:
        blocks.append("\n".join(annotation_text(annotation, "app:") for annotation in app.annotations))
    if app.definitions:
        blocks.append("\n".join(_print(definition) + ";" for definition in app.definitions))
    blocks += [_print(execution) + ";" for execution in app.executions]
    return "\n\n".join(blocks) + "\n"


@_print.register
def _(attribute: Attribute) -> str:
    return f"{name_text(attribute.name)} {attribute.type}"


def _schema(kind: str, definition: Definition) -> str:
    return f"define {kind} {name_text(definition.id)} ({_list(definition.attributes)})"


@_print.register
def _(definition: StreamDefinition) -> str:
    return _annotated(definition.annotations, _schema("stream", definition))


@_print.register
def _(definition: TableDefinition) -> str:
    return _annotated(definition.annotations, _schema("table", definition))


@_print.register
def _(definition: WindowDefinition) -> str:
    output = f" output {definition.output.value}" if definition.output else ""
    return _annotated(definition.annotations, f"{_schema('window', definition)} {_print(definition.window)}{output}")


@_print.register
def _(definition: TriggerDefinition) -> str:
    if definition.every_ms is not None:
        at = f"every {time_text(definition.every_ms)}"
    elif definition.at is not None:
        at = string_text(definition.at)
    else:
        raise ValueError(f"the trigger '{definition.id}' has neither a time nor a schedule")
    return f"define trigger {name_text(definition.id, strict=True)} at {at}"


@_print.register
def _(definition: FunctionDefinition) -> str:
    name, language = (name_text(name, strict=True) for name in (definition.id, definition.language))
    return f"define function {name}[{language}] return {definition.return_type} {{{definition.body}}}"


@_print.register
def _(definition: AggregationDefinition) -> str:
    lines = [
        f"define aggregation {name_text(definition.id, strict=True)}",
        f"from {_print(definition.input)}",
        _print(definition.selector),
    ]
    by = f" by {_print(definition.aggregate_by)}" if definition.aggregate_by else ""
    every = ("..." if definition.is_range else ", ").join(duration.value for duration in definition.durations)
    return _annotated(definition.annotations, "\n".join([*lines, f"aggregate{by} every {every}"]))


# ---- queries and partitions


def _clauses(source: str, selector: Selector, rate: OutputRate | None, output: Node) -> list[str]:
    lines = [f"from {source}"]
    if selector != Selector():
        lines.append(_print(selector))
    return [*lines, *([_print(rate)] if rate else []), _print(output)]


@_print.register
def _(query: Query) -> str:
    lines = _clauses(_print(query.input), query.selector, query.rate, query.output)
    return _annotated(query.annotations, "\n".join(lines))


@_print.register
def _(partition: Partition) -> str:
    queries = "\n".join(_indented(_print(query) + ";") for query in partition.queries)
    return _annotated(partition.annotations, f"partition with ({_list(partition.keys)})\nbegin\n{queries}\nend")


def _indented(text: str) -> str:
    # A line break inside quotes is part of a text or name, and so is the white space behind it.
    if any("\n" in quoted for quoted in QUOTED.findall(text)):
        return text
    return "\n".join("    " + line for line in text.split("\n"))


@_print.register
def _(key: ValueKey) -> str:
    return f"{_print(key.expression)} of {name_text(key.stream)}"


@_print.register
def _(key: RangeKey) -> str:
    ranges = " or ".join(f"{_print(condition)} as {string_text(label)}" for label, condition in key.ranges)
    return f"{ranges} of {name_text(key.stream)}"


@_print.register
def _(query: OnDemandQuery) -> str:
    has_selection = query.selector != Selector() or isinstance(query.output, (InsertInto, UpdateOrInsertInto))
    lines = [_print(query.selector)] if has_selection else []
    if query.input is not None:
        lines.insert(0, f"from {_print(query.input)}")
    if query.output is not None:
        lines.append(_print(query.output))
    return "\n".join(lines)


@_print.register
def _(store: StoreInput) -> str:
    alias = [f"as {name_text(store.alias)}"] if store.alias is not None else []
    return " ".join([name_text(store.store), *alias, *_optional("on", store.on), *_within(store.within, store.per)])


def _within(within: tuple[Expression, ...], per: Expression | None) -> list[str]:
    return [f"within {_list(within)} per {_print(per)}"] if within and per else []


# ---- inputs


@_print.register
def _(source: SingleInput) -> str:
    sign = "#" if source.is_inner else "!" if source.is_fault else ""
    alias = f" as {name_text(source.alias)}" if source.alias is not None else ""
    return f"{sign}{name_text(source.source)}{_handlers(source.handlers)}{alias}"


def _handlers(handlers: tuple[Handler, ...]) -> str:
    return "".join(map(_print, handlers))


@_print.register
def _(handler: Filter) -> str:
    return f"[{_print(handler.condition)}]"


@_print.register
def _(handler: StreamFunction) -> str:
    return f"#{_print(handler.call)}"


@_print.register
def _(handler: WindowHandler) -> str:
    return f"#window.{_print(handler.call)}"


@_print.register
def _(join: JoinInput) -> str:
    left, right = ("unidirectional" if join.trigger is side else "" for side in (Trigger.LEFT, Trigger.RIGHT))
    words = [_print(join.left), left, join.type.value, _print(join.right), right]
    return " ".join(filter(None, [*words, *_optional("on", join.on), *_within(join.within, join.per)]))


@_print.register
def _(source: AnonymousInput) -> str:
    query = source.query
    text = " ".join(_clauses(_print(query.input), query.selector, query.rate, query.output))
    return f"({text}){_handlers(source.handlers)}"


@_print.register
def _(pattern: Pattern) -> str:
    return _chain(pattern.state, " -> ") + _within_time(pattern.within_ms)


@_print.register
def _(sequence: Sequence) -> str:
    return _chain(sequence.state, ", ") + _within_time(sequence.within_ms)


def _within_time(milliseconds: int | None) -> str:
    return "" if milliseconds is None else f" within {time_text(milliseconds)}"


def _chain(state: State, sign: str) -> str:
    if isinstance(state, NextState):
        return sign.join(_element(element, sign) for element in state.states)
    return _element(state, sign)


def _element(state: State, sign: str) -> str:
    if isinstance(state, NextState):
        return f"({_chain(state, sign)})"
    if isinstance(state, EveryState):
        return f"every {_element(state.state, sign)}"
    return _print(state)


@_print.register
def _(state: State) -> str:
    return _chain(state, " -> ")


@_print.register
def _(state: StreamState) -> str:
    reference = f"{name_text(state.reference)}=" if state.reference is not None else ""
    return reference + _print(state.input)


@_print.register
def _(state: CountState) -> str:
    high = state.max if state.max >= 0 else ""
    count = str(state.min) if state.min == state.max else f"{state.min}:{high}"
    return f"{_print(state.state)}<{count}>"


@_print.register
def _(state: AbsentState) -> str:
    time = "" if state.for_ms is None else f" for {time_text(state.for_ms)}"
    return f"not {_print(state.input)}{time}"


@_print.register
def _(state: LogicalState) -> str:
    return f" {state.operator.value} ".join(map(_print, state.states))


# ---- selection, rate and output


@_print.register
def _(selector: Selector) -> str:
    lines = [f"select {_list(selector.attributes) or '*'}"]
    if selector.group_by:
        lines.append(f"group by {_list(selector.group_by)}")
    lines += _optional("having", selector.having)
    if selector.order_by:
        lines.append(f"order by {_list(selector.order_by)}")
    lines += _optional("limit", selector.limit)
    lines += _optional("offset", selector.offset)
    return "\n".join(lines)


@_print.register
def _(attribute: OutputAttribute) -> str:
    rename = f" as {name_text(attribute.rename)}" if attribute.rename is not None else ""
    return _print(attribute.expression) + rename


@_print.register
def _(order: OrderBy) -> str:
    return _print(order.variable) + (" desc" if order.order is Order.DESC else "")


def _kind(kind: RateKind) -> str:
    return "" if kind is RateKind.ALL else f"{kind.value} "


@_print.register
def _(rate: EventRate) -> str:
    return f"output {_kind(rate.kind)}every {rate.events} events"


@_print.register
def _(rate: TimeRate) -> str:
    return f"output {_kind(rate.kind)}every {time_text(rate.every_ms)}"


@_print.register
def _(rate: SnapshotRate) -> str:
    return f"output snapshot every {time_text(rate.every_ms)}"


def _events(event_type: OutputEventType | None, prefix: str) -> str:
    return "" if event_type is None else f" {prefix}{event_type.value}"


@_print.register
def _(output: InsertInto) -> str:
    sign = "#" if output.is_inner else "!" if output.is_fault else ""
    return f"insert{_events(output.event_type, '')} into {sign}{name_text(output.target)}"


@_print.register
def _(output: ReturnOutput) -> str:
    return f"return{_events(output.event_type, '')}"


@_print.register
def _(output: DeleteFrom) -> str:
    head = f"delete {name_text(output.target)}{_events(output.event_type, 'for ')}"
    return " ".join([head, *_optional("on", output.on)])


@_print.register
def _(output: UpdateTable) -> str:
    return _update("update", output)


@_print.register
def _(output: UpdateOrInsertInto) -> str:
    return _update("update or insert into", output)


def _update(verb: str, output: UpdateTable | UpdateOrInsertInto) -> str:
    head = f"{verb} {name_text(output.target)}{_events(output.event_type, 'for ')}"
    assignments = [] if output.set is None else [f"set {_list(output.set)}"]
    return " ".join([head, *assignments, f"on {_print(output.on)}"])


@_print.register
def _(assignment: SetAttribute) -> str:
    return f"{_print(assignment.target)} = {_print(assignment.value)}"
