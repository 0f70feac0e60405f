from __future__ import annotations

import pytest

from siddhi.errors import SiddhiParserError
from siddhi.query_api import (
    AbsentState,
    AnonymousInput,
    CountState,
    EveryState,
    Filter,
    JoinInput,
    JoinType,
    LogicalOperator,
    LogicalState,
    NextState,
    OutputAttribute,
    OutputEventType,
    Pattern,
    Query,
    ReturnOutput,
    Selector,
    Sequence,
    SingleInput,
    StreamFunction,
    StreamState,
    Trigger,
    Variable,
    WindowHandler,
)
from siddhi.query_compiler import parse_expression, parse_query


def input_of(text):
    return parse_query(f"from {text} select x insert into O").input


def source(text):
    return input_of(text)


def state(text, reference=None):
    return StreamState(SingleInput(text), reference)


A, B, C = state("A"), state("B"), state("C")
NOT_B = AbsentState(SingleInput("B"), 1000)
AND, OR = LogicalOperator.AND, LogicalOperator.OR


def test_handlers_keep_their_order():
    handlers = input_of("S[a > 1]#[b > 2]#log('x')#str:f(a)#window.length(5)[c > 3]#window2()").handlers
    kinds = [Filter, Filter, StreamFunction, StreamFunction, WindowHandler, Filter, StreamFunction]
    assert [type(handler) for handler in handlers] == kinds
    assert handlers[3].call.namespace == "str"
    assert input_of("S#window.length(5)").window == handlers[4]


def test_inner_and_fault_sources():
    assert input_of("#S") == SingleInput("S", is_inner=True)
    assert input_of("!S") == SingleInput("S", is_fault=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A -> B", NextState((A, B))),
        ("a=A -> B", NextState((state("A", "a"), B))),
        ("every A -> B", NextState((EveryState(A), B))),
        ("every (A -> B)", EveryState(NextState((A, B)))),
        ("every (A -> B) -> C", NextState((EveryState(NextState((A, B))), C))),
        ("every (a = A) -> B", NextState((EveryState(state("A", "a")), B))),
        ("A -> every B -> C", NextState((A, EveryState(B), C))),
        ("A -> (B -> C)", NextState((A, NextState((B, C))))),
        ("(A -> every B) -> C", NextState((NextState((A, EveryState(B))), C))),
        ("a=A", state("A", "a")),
        ("every A", EveryState(A)),
        ("A<2:3> -> B", NextState((CountState(A, 2, 3), B))),
        ("A<2> -> B", NextState((CountState(A, 2, 2), B))),
        ("A<2:> -> B", NextState((CountState(A, 2, -1), B))),
        ("A<:3> -> B", NextState((CountState(A, 0, 3), B))),
        ("A and B", LogicalState(AND, (A, B))),
        ("A or B -> C", NextState((LogicalState(OR, (A, B)), C))),
        ("A and B and C", LogicalState(AND, (A, B, C))),
        ("every A and B", EveryState(LogicalState(AND, (A, B)))),
        ("every (A and B)", EveryState(LogicalState(AND, (A, B)))),
        ("A -> not B for 1 sec", NextState((A, NOT_B))),
        ("not B for 1 sec -> A", NextState((NOT_B, A))),
        ("not B for 1 sec", NOT_B),
        ("not B and A", LogicalState(AND, (AbsentState(SingleInput("B")), A))),
        ("A and not B", LogicalState(AND, (A, AbsentState(SingleInput("B"))))),
        ("not B for 1 sec or A", LogicalState(OR, (NOT_B, A))),
        ("not B for 1 sec and not B for 1 sec", LogicalState(AND, (NOT_B, NOT_B))),
        ("A and not B and not B for 1 sec", LogicalState(AND, (A, AbsentState(SingleInput("B")), NOT_B))),
    ],
)
def test_patterns(text, expected):
    assert input_of(text) == Pattern(expected)
    assert input_of(text + " within 5 sec") == Pattern(expected, 5000)


def test_a_single_source_is_a_pattern_only_with_within():
    assert input_of("A") == SingleInput("A")
    assert input_of("A within 5 sec") == Pattern(A, 5000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A, B", NextState((A, B))),
        ("every A, B, C", NextState((EveryState(A), B, C))),
        ("A+, B*, C?", NextState((CountState(A, 1, -1), CountState(B, 0, -1), CountState(C, 0, 1)))),
        ("every A<2:3>, B", NextState((EveryState(CountState(A, 2, 3)), B))),
        ("A and B, C", NextState((LogicalState(AND, (A, B)), C))),
        ("A or B or C, C", NextState((LogicalState(OR, (A, B, C)), C))),
        ("(A, B), C", NextState((NextState((A, B)), C))),
        ("(A, B)", NextState((A, B))),
        ("A, not B for 1 sec", NextState((A, NOT_B))),
        ("every not B for 1 sec, A", NextState((EveryState(NOT_B), A))),
    ],
)
def test_sequences(text, expected):
    assert input_of(text) == Sequence(expected)
    assert input_of(text + " within 1 min") == Sequence(expected, 60_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A -> B, C", "can't be mixed"),
        ("(A -> B), C", "can't be mixed"),
        ("(A, B) -> C", "can't be mixed"),
        ("every (A -> every B)", "nested in another"),
        ("every (every A -> B)", "nested in another"),
        ("A, every B", "before the whole sequence"),
        ("(every A, B), C", "before the whole sequence"),
        ("every (A, B), C", "can't be applied to a group"),
        ("every (A, B)", "can't be applied to a group"),
        ("every A+", "allowed only in sequences"),
        ("A* -> B", "allowed only in sequences"),
        ("A -> not B", "needs a waiting time"),
        ("A -> not B or C", "needs a waiting time"),
        ("not A and not B", "needs a waiting time"),
        ("A -> not e=B for 1 sec", "can't have a reference"),
        ("A and B or C", "'and' and 'or' can't be mixed"),
        ("A<2> and B", "can't be combined"),
        ("A<3:2> -> B", "the minimum exceeds the maximum"),
        ("A<0> -> B", "<0:0>: the maximum must be at least 1"),
        ("A -> B<0:0> -> C", "<0:0>: the maximum must be at least 1"),
        ("A<:0>, B", "<0:0>: the maximum must be at least 1"),
        ("A -> not A for 1 sec -> not B for 1 sec", "can't follow another one"),
        ("every not A for 1 sec -> not B for 1 sec", "can't follow another one"),
        ("A#window.length(1) -> B", "can't have a window"),
        ("A -> B#window.length(1)<2>", "can't have a window"),
        ("A and B#window.length(1)", "can't have a window"),
        ("every A#window.length(1)", "can't have a window"),
        ("A, not B#window.length(1) for 1 sec", "can't have a window"),
    ],
)
def test_semantic_errors_of_inputs_are_refused(text, message):
    with pytest.raises(SiddhiParserError, match=message) as caught:
        input_of(text)
    assert caught.value.code in ("E109", "E110")


@pytest.mark.parametrize(
    "text",
    [
        "(A -> B within 1 sec) -> C",
        "every A -> every every B",
        "A and (B -> C)",
        "A -> B within 1 sec within 2 sec",
        "S as s",
        "S#window.length(1)#window.length(2)",
        "A join B join C on A.a == B.a",
        "A join B within 5 sec",
        "A#window.length(1)[a > 1] join B",
        "A unidirectional join B unidirectional",
        "A outer join B",
    ],
)
def test_invalid_inputs_are_refused(text):
    with pytest.raises(SiddhiParserError):
        input_of(text)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("join", JoinType.INNER),
        ("inner join", JoinType.INNER),
        ("left outer join", JoinType.LEFT_OUTER),
        ("RIGHT Outer JOIN", JoinType.RIGHT_OUTER),
        ("full outer join", JoinType.FULL_OUTER),
    ],
)
def test_joins(words, kind):
    join = input_of(f"A[a > 1]#window.length(1) as x {words} #B as y on x.a == y.a")
    assert join == JoinInput(
        SingleInput("A", source("A[a > 1]#window.length(1)").handlers, "x"),
        SingleInput("B", alias="y", is_inner=True),
        kind,
        on=parse_expression("x.a == y.a"),
    )


def test_the_triggering_side_of_a_join():
    assert input_of("A unidirectional join B").trigger is Trigger.LEFT
    assert input_of("A as a unidirectional join B").trigger is Trigger.LEFT
    assert input_of("A join B unidirectional on a == b").trigger is Trigger.RIGHT
    assert input_of("A join B").trigger is Trigger.BOTH


def test_within_and_per_of_a_join():
    join = input_of("A join G on A.a == G.a within '2020', A.b per 'day'")
    assert join.within == (parse_expression("'2020'"), parse_expression("A.b"))
    assert join.per == parse_expression("'day'")
    assert input_of("A join G within '2020' per p").within == (parse_expression("'2020'"),)


def test_inner_queries():
    inner = Query(
        input=SingleInput("S"),
        selector=Selector((OutputAttribute(Variable("a")),)),
        output=ReturnOutput(OutputEventType.ALL),
    )
    assert input_of("(from S select a return all events)") == AnonymousInput(inner)
    assert input_of("((from S select a return all events))") == AnonymousInput(inner)
    assert input_of("from S select a return all events") == AnonymousInput(inner)
    handlers = source("X[a > 1]#window.length(2)").handlers
    assert input_of("(from S select a return all events)[a > 1]#window.length(2)") == AnonymousInput(inner, handlers)
    assert isinstance(input_of("(from A -> B select x return)").query.input, Pattern)
    assert isinstance(input_of("(from (from A return) select x return)").query.input, AnonymousInput)
