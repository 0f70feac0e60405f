"""Scalar functions: one test per rule."""

from __future__ import annotations

import gc
import math
import os
import re
import subprocess
import sys
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

from siddhi._core.expression.evaluate import evaluate
from siddhi._core.expression.executor import make_constant, make_variable
from siddhi._core.expression.function import FUNCTIONS, make_function, seed_uuids
from siddhi._core.expression.python import make_python_function
from siddhi._core.record.event import Layout
from siddhi.types import AttributeType
from tests.kit.expressions import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    LONG,
    LONG_MAX,
    LONG_MIN,
    NAMES,
    NUMERIC,
    OBJECT,
    STRING,
    apply,
    function,
)

SAMPLES: dict[int, list[Any]] = {
    STRING: ["a", "b"],
    INT: [INT_MAX, INT_MIN],
    LONG: [LONG_MAX, LONG_MIN],
    FLOAT: [0.5, 1.5],
    DOUBLE: [0.1, 0.2],
    BOOL: [True, False],
    OBJECT: [{1}, "o"],
}
TYPES = sorted(SAMPLES)


def nothing(type_: int) -> Any:
    """What a function of a type gives for null."""
    return False if type_ == BOOL else None


def watched(seen: list[Any], type_: int) -> Any:
    """Wraps an executor so that its evaluations are recorded."""
    return lambda a: make_python_function(lambda value: (seen.append(value), value)[1], (a,), type_, "watch")


# --- coalesce, default


@pytest.mark.parametrize("type_", TYPES, ids=NAMES.get)
def test_coalesce_returns_the_first_value_that_is_not_null(type_: int) -> None:
    a, b = SAMPLES[type_]

    def coalesce(*values: Any) -> Any:
        return function("coalesce", type_, *[(type_, value) for value in values])

    assert coalesce(a) == a
    assert coalesce(a, b) == a
    assert coalesce(None, b) == b
    assert coalesce(None, None, b) == b
    assert coalesce(None, a, None) == a
    assert coalesce(None) is nothing(type_)
    assert coalesce(None, None, None) is nothing(type_)


def test_coalesce_evaluates_all_its_arguments() -> None:
    seen: list[int] = []
    watch = watched(seen, INT)
    found = apply(lambda a, b: make_function("coalesce", (watch(a), watch(b)), INT), (INT, 1), (INT, 2))
    assert (found, seen) == (1, [1, 2])


@pytest.mark.parametrize("type_", TYPES, ids=NAMES.get)
def test_default(type_: int) -> None:
    a, b = SAMPLES[type_]

    def make(x: Any, y: Any) -> Any:
        return make_function("default", (x, y), type_)

    assert apply(make, (type_, a), (type_, b), constants=(1,)) == a
    assert apply(make, (type_, None), (type_, b), constants=(1,)) == b


# --- ifThenElse


@pytest.mark.parametrize("type_", TYPES, ids=NAMES.get)
def test_if_then_else(type_: int) -> None:
    a, b = SAMPLES[type_]

    def choose(condition: bool | None, then: Any, otherwise: Any) -> Any:
        return function("ifThenElse", type_, (BOOL, condition), (type_, then), (type_, otherwise))

    assert choose(True, a, b) == a
    assert choose(False, a, b) == b
    assert choose(None, a, b) == b
    assert choose(True, None, b) is nothing(type_)
    assert choose(False, a, None) is nothing(type_)


@pytest.mark.parametrize("type_", [INT, BOOL], ids=NAMES.get)
def test_if_then_else_evaluates_the_chosen_branch_only(type_: int) -> None:
    for condition, expected in [(True, [0]), (False, [1]), (None, [1])]:
        seen: list[int] = []
        watch = watched(seen, type_)
        apply(
            lambda c, a, b, watch=watch: make_function("ifThenElse", (c, watch(a), watch(b)), type_),
            (BOOL, condition),
            (type_, False if type_ == BOOL else 0),
            (type_, True if type_ == BOOL else 1),
        )
        assert seen == expected


# --- instanceOf

CLASSES = {
    "Boolean": BOOL,
    "Double": DOUBLE,
    "Float": FLOAT,
    "Integer": INT,
    "Long": LONG,
    "String": STRING,
}


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("type_", TYPES[:-1], ids=NAMES.get)
def test_instance_of_a_typed_value(name: str, type_: int) -> None:
    assert function(f"instanceOf{name}", BOOL, (type_, SAMPLES[type_][0])) is (CLASSES[name] == type_)
    assert function(f"instanceOf{name}", BOOL, (type_, None)) is False


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("a", "String"),
        (True, "Boolean"),
        (INT_MAX, "Integer"),
        (INT_MIN, "Integer"),
        (INT_MAX + 1, "Long"),
        (LONG_MIN, "Long"),
        (0.5, "Double"),
        (np.float32(0.5), "Float"),
        (np.float64(0.5), "Double"),
        (np.int32(5), "Integer"),
        (np.int64(5), "Long"),
        (np.bool_(True), "Boolean"),
        (LONG_MAX + 1, None),
        ({1}, None),
        (None, None),
    ],
)
def test_instance_of_an_object(value: Any, name: str | None) -> None:
    found = [each for each in CLASSES if function(f"instanceOf{each}", BOOL, (OBJECT, value))]
    assert found == ([name] if name else [])


def test_instance_of_evaluates_an_argument_of_known_type() -> None:
    seen: list[int] = []
    watch = watched(seen, INT)
    assert apply(lambda a: make_function("instanceOfString", (watch(a),), BOOL), (INT, 5)) is False
    assert seen == [5]


# --- maximum, minimum


@pytest.mark.parametrize("type_", NUMERIC, ids=NAMES.get)
def test_maximum_and_minimum_skip_nulls(type_: int) -> None:
    def both(*values: Any) -> tuple[Any, Any]:
        operands = [(type_, value) for value in values]
        return function("maximum", type_, *operands), function("minimum", type_, *operands)

    assert both(3, -5, None, 2) == (3, -5)
    assert both(-1, -5) == (-1, -5)
    assert both(None, 7) == (7, 7)
    assert both(7) == (7, 7)
    assert both(None) == (None, None)
    assert both(None, None) == (None, None)


def test_maximum_of_longs_is_exact() -> None:
    assert function("maximum", LONG, (LONG, 9007199254740993), (LONG, 1)) == 9007199254740993
    assert function("minimum", LONG, (LONG, LONG_MAX), (LONG, LONG_MAX - 1)) == LONG_MAX - 1


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE], ids=NAMES.get)
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_nan_is_ignored_unless_all_values_are_nan(name: str, type_: int) -> None:
    assert function(name, type_, (type_, math.nan), (type_, 1.0)) == 1.0
    assert function(name, type_, (type_, 1.0), (type_, math.nan)) == 1.0
    assert math.isnan(function(name, type_, (type_, math.nan), (type_, None)))


# --- cast


@pytest.mark.parametrize("type_", TYPES[:-1], ids=NAMES.get)
def test_a_cast_to_the_same_type_changes_nothing(type_: int) -> None:
    for value in SAMPLES[type_]:
        assert function("cast", type_, (type_, value), (STRING, NAMES[type_])) == value
    assert function("cast", type_, (type_, None), (STRING, NAMES[type_])) is nothing(type_)


def test_a_cast_widens_int_to_long() -> None:
    assert function("cast", LONG, (INT, 7), (STRING, "long")) == 7
    assert function("cast", LONG, (INT, None), (STRING, "long")) is None


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ("a", STRING, "a"),
        (5, INT, 5),
        (5, LONG, 5),
        (LONG_MAX, LONG, LONG_MAX),
        (np.int64(5), INT, 5),
        (5, FLOAT, 5.0),
        (5, DOUBLE, 5.0),
        (0.1, DOUBLE, 0.1),
        (0.1, FLOAT, 0.1),
        (np.float32(0.5), DOUBLE, 0.5),
        (True, BOOL, True),
        (np.bool_(False), BOOL, False),
        (None, STRING, None),
        (None, INT, None),
        (None, LONG, None),
        (None, FLOAT, None),
        (None, DOUBLE, None),
        (None, BOOL, False),
    ],
)
def test_a_cast_of_an_object_returns_a_value_of_the_type(value: Any, type_: int, expected: Any) -> None:
    found = function("cast", type_, (OBJECT, value), (STRING, NAMES[type_]))
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (5, STRING),
        ({1}, STRING),
        ("5", INT),
        (5.0, INT),
        (True, INT),
        (INT_MAX + 1, INT),
        (5.0, LONG),
        (LONG_MAX + 1, LONG),
        ("0.5", DOUBLE),
        (True, DOUBLE),
        ([], FLOAT),
        (1, BOOL),
        ("true", BOOL),
    ],
)
def test_a_cast_of_an_object_never_converts(value: Any, type_: int) -> None:
    with pytest.raises(TypeError, match=re.escape(f"cast(..., '{NAMES[type_]}') got {value!r}")):
        function("cast", type_, (OBJECT, value), (STRING, NAMES[type_]))


@pytest.mark.parametrize("target", TYPES[:-1], ids=NAMES.get)
@pytest.mark.parametrize("source", TYPES[:-1], ids=NAMES.get)
def test_a_cast_to_another_type_converts(source: int, target: int) -> None:
    for value in [*SAMPLES[source], None]:
        converted = function("convert", target, (source, value), (STRING, NAMES[target]))
        if source == STRING and target not in (STRING, BOOL) and value is not None and converted is None:
            with pytest.raises(ValueError, match=re.escape(f"got {value!r}, which is not of type {NAMES[target]}")):
                function("cast", target, (source, value), (STRING, NAMES[target]))
        else:
            found = function("cast", target, (source, value), (STRING, NAMES[target]))
            assert repr(found) == repr(converted)


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("12", INT, 12),
        ("-7", LONG, -7),
        ("1.5", FLOAT, 1.5),
        ("1e3", DOUBLE, 1000.0),
        ("True", BOOL, True),
        ("no", BOOL, False),
    ],
)
def test_a_cast_reads_numbers_and_bools_in_texts(text: str, target: int, expected: Any) -> None:
    assert function("cast", target, (STRING, text), (STRING, NAMES[target])) == expected


@pytest.mark.parametrize(("text", "target"), [("1.5", INT), ("", DOUBLE), ("a", FLOAT), (str(LONG_MAX + 1), LONG)])
def test_a_cast_of_an_invalid_text_fails(text: str, target: int) -> None:
    with pytest.raises(ValueError, match=re.escape(f"cast(..., '{NAMES[target]}') got {text!r}")):
        function("cast", target, (STRING, text), (STRING, NAMES[target]))


def test_a_cast_to_object_is_refused() -> None:
    with pytest.raises(TypeError, match="can't make an object"):
        function("cast", OBJECT, (STRING, None), (STRING, "object"))


# --- sets


@pytest.mark.parametrize("type_", TYPES[:-1], ids=NAMES.get)
def test_create_set_holds_the_value(type_: int) -> None:
    for value in [*SAMPLES[type_], None]:
        assert function("createSet", OBJECT, (type_, value)) == {value}


def test_create_set_makes_a_new_set_every_time() -> None:
    layout = Layout(("a",), (INT,))
    executor = make_function("createSet", (make_variable(layout, 0),), OBJECT)
    first, second = evaluate(executor, layout, (1,)), evaluate(executor, layout, (1,))
    assert first == second
    assert first is not second


def test_all_nans_are_one_element() -> None:
    nans = [function("createSet", OBJECT, (DOUBLE, float("nan"))) for _ in range(2)]
    assert len(nans[0] | nans[1]) == 1


@pytest.mark.parametrize(
    ("value", "size"), [(set(), 0), ({1, 2}, 2), (frozenset("abc"), 3), ({"a": 1}.keys(), 1), (None, 0)]
)
def test_size_of_set(value: Any, size: int) -> None:
    assert function("sizeOfSet", INT, (OBJECT, value)) == size


@pytest.mark.parametrize("value", [[1], "abc", 5, {"a": 1}])
def test_size_of_something_else_fails(value: Any) -> None:
    with pytest.raises(TypeError, match=r"sizeOfSet\(\) wants a set"):
        function("sizeOfSet", INT, (OBJECT, value))


def test_size_of_a_created_set() -> None:
    def make(a: Any) -> Any:
        return make_function("sizeOfSet", (make_function("createSet", (a,), OBJECT),), INT)

    assert apply(make, (STRING, "a")) == 1
    assert apply(make, (STRING, None)) == 1


# --- identity and time


def test_uuid_is_new_every_time() -> None:
    layout = Layout((), ())
    executor = make_function("UUID", (), STRING)
    texts = {evaluate(executor, layout, ()) for _ in range(20)}
    assert len(texts) == 20
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", t) for t in texts)


FORK = """
import os
from siddhi._core.expression.evaluate import evaluate
from siddhi._core.record.event import Layout
from siddhi._core.expression.function import make_function

executor, layout = make_function("UUID", (), 0), Layout((), ())
evaluate(executor, layout, ())
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
print(evaluate(executor, layout, ()), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_makes_uuids_of_its_own() -> None:
    printed = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True).stdout.split()
    assert len(set(printed)) == 2


def test_uuids_with_a_seed_are_equal_for_equal_work() -> None:
    layout = Layout((), ())
    executor = make_function("UUID", (), STRING)

    def made(seed: bytes | None) -> list[str]:
        seed_uuids(seed)
        return [str(evaluate(executor, layout, ())) for _ in range(600)]  # more than are made at a time

    try:
        one, again, other = made(b"one"), made(b"one"), made(b"other")
    finally:
        seed_uuids(None)
    assert one == again
    assert len({*one, *other}) == 1200
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", t) for t in one)
    assert made(None) != made(None)


def test_current_time_is_the_time_of_the_app() -> None:
    assert function("currentTimeMillis", LONG, clock=1234) == 1234
    assert function("currentTimeMillis", LONG) > 1_600_000_000_000


def test_event_timestamp_is_that_of_the_current_event() -> None:
    assert function("eventTimestamp", LONG, timestamp=42, clock=1234) == 42


# --- evaluation from Python


def test_every_declared_function_has_an_implementation() -> None:
    from siddhi.library.functions import FUNCTIONS as DECLARED

    assert {each.builtin for each in DECLARED} == set(FUNCTIONS)
    assert set(NAMES.values()) == {each.value for each in AttributeType}


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(LookupError, match="no function 'nonsense'"):
        make_function("nonsense", (), INT)


def test_a_wrong_result_type_is_refused() -> None:
    with pytest.raises(TypeError, match="'UUID'"):
        make_function("UUID", (), INT)


# --- ownership of results


class Thing:
    pass


def test_a_result_lives_until_the_next_evaluation() -> None:
    layout = Layout(("a",), (INT,))
    made: list[weakref.ref[Thing]] = []

    def make_thing(_value: int) -> Thing:
        thing = Thing()
        made.append(weakref.ref(thing))
        return thing

    executor = make_python_function(make_thing, (make_variable(layout, 0),), OBJECT, "f")
    kept = evaluate(executor, layout, (1,))
    assert made[0]() is kept
    evaluate(executor, layout, (2,))
    assert made[0]() is kept
    assert made[1]() is not None
    del kept
    assert made[0]() is None
    del executor
    assert made[1]() is None


def test_an_executor_that_references_itself_is_collected() -> None:
    layout = Layout((), ())
    box: list[Any] = []
    executor = make_python_function(partial(list, box), (), OBJECT, "f")
    box.append(executor)
    thing = Thing()
    box.append(thing)
    ref = weakref.ref(thing)
    evaluate(executor, layout, ())
    del executor, box, thing
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("name", ["coalesce", "default"])
def test_function_calls_do_not_leak_references(name: str) -> None:
    layout = Layout(("a",), (STRING,))
    text = "some text without other references"
    executor = make_function(name, (make_variable(layout, 0), make_constant("other", STRING)), STRING)
    before = sys.getrefcount(text)
    for _ in range(100):
        assert evaluate(executor, layout, (text,)) == text
    assert sys.getrefcount(text) == before
