"""Executors of the core agree with a simple evaluator on every expression."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.expression.arithmetic import make_arithmetic, make_widen
from siddhi._core.expression.compare import make_comparison
from siddhi._core.expression.evaluate import evaluate
from siddhi._core.expression.executor import make_constant, make_variable
from siddhi._core.expression.function import make_function
from siddhi._core.expression.logic import make_and, make_is_null, make_not, make_or
from siddhi._core.record.event import Layout
from tests.kit.expressions import BOOL, DOUBLE, FLOAT, INT, INT_MAX, INT_MIN, LONG, LONG_MAX, LONG_MIN, STRING
from tests.oracles import java_arithmetic as slow
from tests.oracles.java_arithmetic import Attribute, Call, Compare, Literal, Logic, Math, Node

CODES = {"string": STRING, "int": INT, "long": LONG, "float": FLOAT, "double": DOUBLE, "bool": BOOL}
TYPES = tuple(CODES)
ROW = TYPES + TYPES  # two attributes of each type
LAYOUT = Layout([f"a{i}" for i in range(len(ROW))], [CODES[type_] for type_ in ROW])

EDGES = {
    "int": [0, 1, -1, 2, INT_MAX, INT_MIN, 16777217],
    "long": [0, 1, -1, 2, LONG_MAX, LONG_MIN, INT_MAX + 1, 2**53 + 1, 2**60 + 2**36 + 1, 16777217],
    "float": [0.0, -0.0, 1.0, 0.5, 1e7, 16777216.0, math.inf, -math.inf, 2.0**-149, 2.0**127, 2.0**-126],
    "double": [0.0, -0.0, 1.0, 0.1, 1e7, 1e-3, 1e300, 5e-324, math.inf, -math.inf, 2.0**53, 3.4028235677973366e38],
    "string": ["", "IBM", "1", "-7", "+7", " 12", "1.5", "1e3", ".5f", "NaN", "TRUE", "0x1p3", "99999999999", "3e38d"],
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from(EDGES["int"]) | st.integers(-9, 9) | st.integers(INT_MIN, INT_MAX),
    "long": st.sampled_from(EDGES["long"]) | st.integers(-9, 9) | st.integers(LONG_MIN, LONG_MAX),
    "float": st.sampled_from(EDGES["float"]).map(slow.nearest_single) | st.floats(width=32, allow_nan=False),
    "double": st.sampled_from(EDGES["double"]) | st.floats(allow_nan=False),
    "string": st.sampled_from(EDGES["string"])
    | st.text("0123456789+-.eEfdxp ", max_size=8)
    | st.text(max_size=4).filter(lambda text: not any(char.isdecimal() and not char.isascii() for char in text)),
    "bool": st.booleans(),
}


@st.composite
def expressions(draw: st.DrawFn, type_: str | None = None, depth: int = 4) -> Node:
    """A random well-typed expression over ROW."""
    type_ = type_ or draw(st.sampled_from(TYPES))

    def sub(of: str | None = None) -> Node:
        return draw(expressions(of, depth - 1))

    leaf = st.sampled_from([i for i, other in enumerate(ROW) if other == type_]).map(
        lambda i: Attribute(type_, i)
    ) | VALUES[type_].map(lambda value: Literal(type_, value))
    if depth == 0:
        return draw(leaf)
    forms = ["leaf", "convert", "coalesce", "default", "ifThenElse", "cast"]
    if type_ in slow.WIDTHS:
        forms += ["math", "math", "math", "maximum", "minimum"]
    if type_ == "bool":
        forms += ["compare", "compare", "equal text", "logic", "logic", "isNull", "instanceOf"]
    form = draw(st.sampled_from(forms))
    if form == "leaf":
        return draw(leaf)
    if form == "math":
        types = [(a, b) for a in slow.WIDTHS for b in slow.WIDTHS if slow.math_type(a, b) == type_]
        left, right = draw(st.sampled_from(types))
        return Math(type_, draw(st.sampled_from("+-*/%")), sub(left), sub(right))
    if form == "compare":
        left, right = draw(st.tuples(st.sampled_from(slow.WIDTHS), st.sampled_from(slow.WIDTHS)))
        return Compare("bool", draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="])), sub(left), sub(right))
    if form == "equal text":
        of = draw(st.sampled_from(["string", "bool"]))
        return Compare("bool", draw(st.sampled_from(["==", "!="])), sub(of), sub(of))
    if form == "logic":
        word = draw(st.sampled_from(["and", "or", "not"]))
        return Logic("bool", word, (sub("bool"),) if word == "not" else (sub("bool"), sub("bool")))
    if form == "isNull":
        return Logic("bool", "isNull", (sub(),))
    if form == "instanceOf":
        return Call("bool", "instanceOf" + draw(st.sampled_from(sorted(slow.CLASSES))), (sub(),))
    if form == "ifThenElse":
        return Call(type_, form, (sub("bool"), sub(type_), sub(type_)))
    if form == "convert":
        return Call(type_, form, (sub(),))
    if form == "cast":
        # A text that holds no number fails.
        return Call(
            type_,
            form,
            (sub(draw(st.sampled_from([of for of in TYPES if of != "string" or type_ in ("string", "bool")]))),),
        )
    if form == "default":
        return Call(type_, form, (sub(type_), Literal(type_, draw(VALUES[type_]))))
    return Call(type_, form, tuple(sub(type_) for _ in range(draw(st.integers(1, 3)))))


def widened(node: Node, type_: str) -> Any:
    executor = lowered(node)
    return executor if node.type == type_ else make_widen(executor, CODES[type_])


def lowered(node: Node) -> Any:
    """The executor of an expression, as a plan would have it built."""
    match node:
        case Literal(type=type_, value=value):
            return make_constant(value, CODES[type_])
        case Attribute(position=position):
            return make_variable(LAYOUT, position)
        case Math(type=type_, symbol=symbol, left=left, right=right):
            return make_arithmetic(symbol, widened(left, type_), widened(right, type_))
        case Compare(symbol=symbol, left=left, right=right):
            width = slow.compare_type(symbol, left.type, right.type)
            return make_comparison(symbol, widened(left, width), widened(right, width))
        case Logic(word=word, operands=operands):
            make = {"and": make_and, "or": make_or, "not": make_not, "isNull": make_is_null}[word]
            return make(*map(lowered, operands))
        case Call(type=type_, name=name, arguments=arguments):
            return make_function(name, tuple(map(lowered, arguments)), CODES[type_])
    raise AssertionError(node)


def same(found: Any, expected: Any, type_: str) -> bool:
    """Equal in type and value; a NaN equals a NaN, and 0.0 is not -0.0. A float is shown by its shortest digits."""
    if type(found) is not type(expected):
        return False
    if isinstance(expected, float):
        return repr(slow.nearest_single(found) if type_ == "float" else found) == repr(expected)
    return bool(found == expected)


@given(expressions(), st.tuples(*[st.none() | VALUES[type_] for type_ in ROW]))
def test_expression(node: Node, row: tuple[Any, ...]) -> None:
    found = evaluate(lowered(node), LAYOUT, row)
    assert same(found, slow.evaluate(node, row), node.type), (found, slow.evaluate(node, row))


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
@given(st.data())
def test_conversion(source: str, target: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[source])
    found = evaluate(lowered(Call(target, "convert", (Literal(source, value),))), LAYOUT, (None,) * len(ROW))
    assert same(found, slow.convert(value, source, target), target), (found, slow.convert(value, source, target))


@pytest.mark.parametrize(
    ("value", "text"),
    [(70368744177664.38, "7.036874417766438E13"), (2e-3, "0.002"), (1e23, "1.0E23"), (2**-1074, "4.9E-324")],
)
def test_of_two_equally_near_shortest_texts_the_even_one_is_chosen(value: float, text: str) -> None:
    assert slow.convert(value, "double", "string") == text
    assert evaluate(lowered(Call("string", "convert", (Literal("double", value),))), LAYOUT, (None,) * len(ROW)) == text


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("kinds", ["attribute, attribute", "attribute, literal", "literal, attribute", "computed"])
@given(st.data(), st.sampled_from(slow.WIDTHS), st.sampled_from(slow.WIDTHS))
def test_operator(symbol: str, kinds: str, data: st.DataObject, left: str, right: str) -> None:
    a, b = (data.draw(st.none() | VALUES[type_]) for type_ in (left, right))
    row: list[Any] = [None] * len(ROW)
    i, j = TYPES.index(left), TYPES.index(right) + len(TYPES)
    row[i], row[j] = a, b
    nodes: list[Node] = [Attribute(left, i), Attribute(right, j)]
    if kinds == "computed":
        nodes = [Call(node.type, "coalesce", (node,)) for node in nodes]
    if kinds == "literal, attribute" and a is not None:
        nodes[0] = Literal(left, a)
    if kinds == "attribute, literal" and b is not None:
        nodes[1] = Literal(right, b)
    arithmetic = symbol in "+-*/%"
    tree = Math(slow.math_type(left, right), symbol, *nodes) if arithmetic else Compare("bool", symbol, *nodes)
    found = evaluate(lowered(tree), LAYOUT, row)
    assert same(found, slow.evaluate(tree, row), tree.type), (found, slow.evaluate(tree, row))
