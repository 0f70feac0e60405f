"""Print the inputs of queries."""

from __future__ import annotations

from siddhi.query_api import (
    AbsentState,
    AnonymousInput,
    CountState,
    EveryState,
    Filter,
    Handler,
    JoinInput,
    LogicalState,
    NextState,
    Node,
    OutputRate,
    Pattern,
    Selector,
    Sequence,
    SingleInput,
    State,
    StreamFunction,
    StreamState,
    Trigger,
    WindowHandler,
)
from siddhi.query_compiler.print.expressions import name_text, time_text
from siddhi.query_compiler.print.nodes import node_text, optional, within_per

__all__ = ["clauses"]


def clauses(source: str, selector: Selector, rate: OutputRate | None, output: Node) -> list[str]:
    """Return the clauses of a query, one per line; an empty selection is left out."""
    lines = [f"from {source}"]
    if selector != Selector():
        lines.append(node_text(selector))
    return [*lines, *([node_text(rate)] if rate else []), node_text(output)]


@node_text.register
def _(source: SingleInput) -> str:
    sign = "#" if source.is_inner else "!" if source.is_fault else ""
    alias = f" as {name_text(source.alias)}" if source.alias is not None else ""
    return f"{sign}{name_text(source.source)}{_handlers(source.handlers)}{alias}"


def _handlers(handlers: tuple[Handler, ...]) -> str:
    return "".join(map(node_text, handlers))


@node_text.register
def _(handler: Filter) -> str:
    return f"[{node_text(handler.condition)}]"


@node_text.register
def _(handler: StreamFunction) -> str:
    return f"#{node_text(handler.call)}"


@node_text.register
def _(handler: WindowHandler) -> str:
    return f"#window.{node_text(handler.call)}"


@node_text.register
def _(join: JoinInput) -> str:
    left, right = ("unidirectional" if join.trigger is side else "" for side in (Trigger.LEFT, Trigger.RIGHT))
    words = [node_text(join.left), left, join.type.value, node_text(join.right), right]
    return " ".join(filter(None, [*words, *optional("on", join.on), *within_per(join.within, join.per)]))


@node_text.register
def _(source: AnonymousInput) -> str:
    query = source.query
    text = " ".join(clauses(node_text(query.input), query.selector, query.rate, query.output))
    return f"({text}){_handlers(source.handlers)}"


@node_text.register
def _(pattern: Pattern) -> str:
    state = pattern.state
    text = _chain(state, " -> ")
    if isinstance(state, StreamState) and state.reference is None:
        text = f"({text})"  # without parentheses it would be a single stream
    return text + _within_time(pattern.within_ms)


@node_text.register
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
    return node_text(state)


@node_text.register
def _(state: State) -> str:
    return _chain(state, " -> ")


@node_text.register
def _(state: StreamState) -> str:
    reference = f"{name_text(state.reference)}=" if state.reference is not None else ""
    return reference + node_text(state.input)


@node_text.register
def _(state: CountState) -> str:
    high = state.max if state.max >= 0 else ""
    count = str(state.min) if state.min == state.max else f"{state.min}:{high}"
    return f"{node_text(state.state)}<{count}>"


@node_text.register
def _(state: AbsentState) -> str:
    time = "" if state.for_ms is None else f" for {time_text(state.for_ms)}"
    return f"not {node_text(state.input)}{time}"


@node_text.register
def _(state: LogicalState) -> str:
    return f" {state.operator.value} ".join(map(node_text, state.states))
