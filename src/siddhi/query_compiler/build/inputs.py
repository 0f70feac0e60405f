"""Builder of the inputs of queries: sources, joins, patterns, sequences, inner queries."""

from __future__ import annotations

from siddhi._frozen import replace
from itertools import pairwise
from typing import NamedTuple

from siddhi.errors import SiddhiParserError
from siddhi.query_api import (
    AbsentState,
    AnonymousInput,
    CountState,
    EveryState,
    Expression,
    Filter,
    FunctionCall,
    Handler,
    Input,
    JoinInput,
    JoinType,
    LogicalOperator,
    LogicalState,
    NextState,
    OutputEventType,
    OutputRate,
    Pattern,
    Query,
    ReturnOutput,
    Selector,
    Sequence,
    SingleInput,
    State,
    StreamFunction,
    StreamState,
    Trigger,
    WindowHandler,
)
from siddhi.query_api.span import Span
from siddhi.query_compiler.build.expressions import ExpressionBuilder

__all__ = ["InputBuilder", "SourceName"]

PATTERN, SEQUENCE = "->", ","


class SourceName(NamedTuple):
    name: str
    is_inner: bool = False
    is_fault: bool = False
    span: Span | None = None  # set with '#' or '!', which is not allowed everywhere


class Chain(NamedTuple):
    """Elements as written, and the separator between them (None for a single element)."""

    elements: tuple[Element, ...]
    sign: str | None
    span: Span


class Every(NamedTuple):
    """``every element``."""

    element: Element
    span: Span


class Counted(NamedTuple):
    """A counting state; ``is_sign`` marks ``+``, ``*`` and ``?``, which only sequences allow."""

    state: CountState
    is_sign: bool


Element = State | Chain | Every | Counted


class InputBuilder(ExpressionBuilder):
    """One method per rule, as in the base class."""

    # ---- sources and their handlers

    def source_name(self, name: str) -> SourceName:
        return SourceName(name)

    def inner_source(self, name: str) -> SourceName:
        return SourceName(name, is_inner=True, span=self.here)

    def fault_source(self, name: str) -> SourceName:
        return SourceName(name, is_fault=True, span=self.here)

    def basic(self, source: SourceName, handlers: tuple[Handler, ...]) -> SingleInput:
        windows = [handler for handler in handlers if isinstance(handler, WindowHandler)]
        if len(windows) > 1:
            hint = "insert into a stream and use the second window on that stream"
            raise self.error("a source can have only one window", code="E109", hint=hint, span=windows[1].span)
        return SingleInput(
            source.name,
            handlers,
            is_inner=source.is_inner,
            is_fault=source.is_fault,
            span=self.here,
        )

    def handlers(self, *handlers: Handler) -> tuple[Handler, ...]:
        return handlers

    def filter(self, condition: Expression) -> Handler:
        return Filter(condition, span=self.here)

    def stream_function(self, call: FunctionCall) -> Handler:
        return StreamFunction(call, span=self.here)

    def window_handler(self, call: FunctionCall) -> Handler:
        return WindowHandler(call, span=self.here)

    # ---- patterns and sequences

    def chain_input(self, chain: Chain, within: int | None) -> Input:
        span = self.here
        first = chain.elements[0]
        if chain.sign is None and within is None and isinstance(first, StreamState) and first.reference is None:
            return first.input
        sign = _inner_sign(chain) or PATTERN
        state = self.chain_state(chain, sign, every=True)
        return Sequence(state, within, span=span) if sign == SEQUENCE else Pattern(state, within, span=span)

    def chain(self, *parts: Element | str) -> Chain:
        signs = {part for part in parts if isinstance(part, str)}
        if len(signs) > 1:
            raise self.mixed(self.here)
        elements = tuple(part for part in parts if not isinstance(part, str))
        return self.above(Chain(elements, signs.pop() if signs else None, self.here), elements)

    def group(self, chain: Chain) -> Chain:
        return chain

    def every_state(self, element: Element) -> Every:
        return self.above(Every(element, self.here), (element,))

    def mixed(self, span: Span) -> SiddhiParserError:
        hint = "'->' means some time later, ',' means the very next event; feed the output of one query to the other"
        return self.error("a pattern and a sequence can't be mixed", code="E110", hint=hint, span=span)

    def chain_state(self, chain: Chain, sign: str, *, every: bool) -> State:
        """Return the state of a chain after the checks that the grammar can't do; ``every`` says whether it may occur inside."""
        if chain.sign not in (None, sign):
            raise self.mixed(chain.span)
        states = tuple(
            self.element_state(element, sign, every=every and (sign == PATTERN or element is chain.elements[0]))
            for element in chain.elements
        )
        for before, after in pairwise(states):
            if _is_absence(before) and _is_absence(after):
                hint = "write 'not A for 1 sec and not B for 1 sec', or put an event between them"
                raise self.error("an absent element ('not') can't follow another one", code="E110", hint=hint, span=after.span)
        return states[0] if len(states) == 1 else NextState(states, span=chain.span)

    def element_state(self, element: Element, sign: str, *, every: bool) -> State:
        if isinstance(element, Every):
            return self.repeated(element, sign, allowed=every)
        if isinstance(element, Chain):
            return self.chain_state(element, sign, every=every and sign == PATTERN)
        if isinstance(element, Counted):
            if sign == PATTERN and element.is_sign:
                hint = "in a pattern write S<1:>, S<0:> or S<0:1>; a sequence has at least two elements: S+, T"
                raise self.error(
                    "'*', '+' and '?' are allowed only in sequences", code="E110", hint=hint, span=element.state.span
                )
            return element.state
        if isinstance(element, StreamState):
            self.without_window(element.input)
        elif isinstance(element, AbsentState) and element.for_ms is None:
            hint = "add the waiting time: not S for 5 sec; or combine it: not S and T"
            raise self.error("'not' needs a waiting time ('for') here", code="E110", hint=hint, span=element.span)
        return element

    def repeated(self, element: Every, sign: str, *, allowed: bool) -> State:
        inner = element.element
        if not allowed:
            message = "'every' can't be nested in another 'every'"
            if sign == SEQUENCE:
                message = "in a sequence, 'every' is allowed only before the whole sequence"
            raise self.error(message, span=element.span, code="E110")
        if sign == SEQUENCE and isinstance(inner, Chain) and inner.sign is not None:
            message = "'every' can't be applied to a group of a sequence"
            hint = "without parentheses 'every' starts the whole sequence at each event"
            raise self.error(message, span=element.span, code="E110", hint=hint)
        return EveryState(self.element_state(inner, sign, every=False), span=element.span)

    def logical_state(self, *parts: Element | str) -> State:
        operators = {part.lower() for part in parts if isinstance(part, str)}
        if len(operators) > 1:
            message = "'and' and 'or' can't be mixed in one element of a pattern"
            raise self.error(message, code="E110")
        operator = LogicalOperator(operators.pop())
        states: list[State] = []
        for part in parts:
            if isinstance(part, Counted):
                raise self.error("a count can't be combined with 'and' or 'or'", code="E110", span=part.state.span)
            if isinstance(part, State):
                states.append(part)
        # Without a waiting time, an absence is decided when an event of another operand arrives.
        has_present = operator is LogicalOperator.AND and any(isinstance(state, StreamState) for state in states)
        for state in states:
            if isinstance(state, StreamState):
                self.without_window(state.input)
            elif isinstance(state, AbsentState) and state.for_ms is None and not has_present:
                hint = "add the waiting time: not S for 5 sec"
                raise self.error("'not' needs a waiting time ('for') here", code="E110", hint=hint, span=state.span)
        return LogicalState(operator, tuple(states), span=self.here)

    def stream_state(self, reference: str | None, source: SingleInput) -> State:
        return StreamState(source, reference, span=self.here)

    def absent_state(self, reference: str | None, source: SingleInput, milliseconds: int | None) -> State:
        if reference is not None:
            message = "an absent element ('not') can't have a reference"
            raise self.error(message, code="E110", hint=f"remove '{reference}='")
        self.without_window(source)
        return AbsentState(source, milliseconds, span=self.here)

    def without_window(self, source: SingleInput) -> None:
        if source.window is not None:
            hint = "use the window in an earlier query"
            raise self.error(
                "the elements of a pattern or sequence can't have a window",
                code="E109",
                hint=hint,
                span=source.window.span,
            )

    def count_state(self, state: StreamState, count: tuple[int, int, bool]) -> Counted:
        low, high, is_sign = count
        self.without_window(state.input)
        if 0 <= high < low:
            raise self.error(f"invalid count <{low}:{high}>: the minimum exceeds the maximum", code="E110")
        if high == 0:
            raise self.error(
                f"invalid count <{low}:{high}>: the maximum must be at least 1",
                code="E110",
                hint="write <0:1> for an optional event, remove the element, or write 'not ... for' to wait for an absence",
            )
        return Counted(CountState(state, low, high, span=self.here), is_sign)

    def zero_or_more(self) -> tuple[int, int, bool]:
        return 0, -1, True

    def one_or_more(self) -> tuple[int, int, bool]:
        return 1, -1, True

    def zero_or_one(self) -> tuple[int, int, bool]:
        return 0, 1, True

    def exactly(self, count: str) -> tuple[int, int, bool]:
        return self.integer(count), self.integer(count), False

    def between(self, low: str, high: str) -> tuple[int, int, bool]:
        return self.integer(low), self.integer(high), False

    def at_least(self, low: str) -> tuple[int, int, bool]:
        return self.integer(low), -1, False

    def at_most(self, high: str) -> tuple[int, int, bool]:
        return 0, self.integer(high), False

    # ---- joins

    def join(
        self,
        left: SingleInput,
        left_word: str | None,
        kind: JoinType,
        right: SingleInput,
        right_word: str | None,
        on: Expression | None,
        within_per: tuple[tuple[Expression, ...], Expression] | None,
    ) -> Input:
        if left_word and right_word:
            hint = "keep it on the side whose events trigger the join"
            raise self.error("only one side of a join can be 'unidirectional'", code="E106", hint=hint)
        trigger = Trigger.LEFT if left_word else Trigger.RIGHT if right_word else Trigger.BOTH
        within, per = within_per or ((), None)
        return JoinInput(left, right, kind, trigger, on, within, per, span=self.here)

    def join_side(self, source: SingleInput, alias: str | None) -> SingleInput:
        if source.window is not None and source.handlers[-1] is not source.window:
            hint = "write the filter before the window or in the 'on' condition"
            message = "a side of a join can't have handlers after its window"
            raise self.error(message, code="E109", hint=hint, span=source.handlers[-1].span)
        return source if alias is None else replace(source, alias=alias, span=self.here)

    def inner_join(self) -> JoinType:
        return JoinType.INNER

    def left_outer_join(self) -> JoinType:
        return JoinType.LEFT_OUTER

    def right_outer_join(self) -> JoinType:
        return JoinType.RIGHT_OUTER

    def full_outer_join(self) -> JoinType:
        return JoinType.FULL_OUTER

    def bare_outer_join(self) -> JoinType:
        hint = "write 'left outer join', 'right outer join' or 'full outer join'"
        raise self.error("'outer join' needs a side", code="E106", hint=hint)

    def within_per(
        self, start: Expression, stop: Expression | None, per: Expression
    ) -> tuple[tuple[Expression, ...], Expression]:
        return ((start,) if stop is None else (start, stop)), per

    # ---- inner queries

    def anonymous_query(
        self,
        source: Input,
        selector: Selector | None,
        rate: OutputRate | None,
        event_type: OutputEventType | None,
    ) -> AnonymousInput:
        span = self.here
        output = ReturnOutput(event_type, span=span)
        query = Query(input=source, selector=selector or Selector(), rate=rate, output=output, span=span)
        return self.above(AnonymousInput(query, span=span), (source,))

    def anonymous_group(self, inner: AnonymousInput, handlers: tuple[Handler, ...]) -> AnonymousInput:
        return self.above(replace(inner, handlers=inner.handlers + handlers, span=self.here), (inner,))


def _is_absence(state: State) -> bool:
    return isinstance(state.state if isinstance(state, EveryState) else state, AbsentState)


def _inner_sign(element: Element) -> str | None:
    """Return the separator of the outermost chain that has one: a sequence in parentheses is still a sequence."""
    if isinstance(element, Every):
        return _inner_sign(element.element)
    if isinstance(element, Chain):
        return element.sign or _inner_sign(element.elements[0])
    return None
