"""Frozen classes behave as frozen dataclasses with slots do; dataclasses are the oracle."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._frozen import Frozen, field, fields, frozen, replace

NAMES = ("a", "b", "c", "d", "e")


@frozen(kw_only=True)
class Base:
    """Has a place that takes no part in equality."""

    span: int | None = field(default=None, compare=False, shown=False)


@frozen
class Pair(Base):
    """Two positional fields."""

    title: ClassVar[str] = "pair"

    left: object
    right: object = None

    @property
    def both(self) -> tuple[object, object]:
        """Of the two."""
        return self.left, self.right


@frozen
class Single:
    """One field."""

    value: float


@frozen
class Nothing:
    """No field."""


@frozen(kw_only=True)
class Made:
    """A field made anew for each instance."""

    items: list[int] = field(default_factory=list)


@st.composite
def declarations(draw: st.DrawFn) -> list[list[tuple[str, dict[str, Any]]]]:
    """Fields of a class and of one derived from it: names and what is said of each."""
    levels = []
    for number in range(draw(st.integers(1, 2))):
        names = draw(st.lists(st.sampled_from(NAMES), unique=True))
        level = []
        for name in names:
            options: dict[str, Any] = {"kw_only": draw(st.booleans()), "compare": draw(st.booleans())}
            kind = draw(st.sampled_from(["required", "default", "factory"]))
            if kind == "default":
                options["default"] = f"{name}{number}"
            elif kind == "factory":
                options["default_factory"] = tuple
            level.append((name, options))
        levels.append(level)
    return levels


def declared(levels: list[list[tuple[str, dict[str, Any]]]], *, ours: bool) -> type:
    bases: tuple[type, ...] = ()
    for level in levels:
        make = field if ours else dataclasses.field
        namespace = {"__annotations__": dict.fromkeys([name for name, _ in level], "object"), "__module__": __name__}
        namespace |= {name: make(**options) for name, options in level}
        made = type("C", bases, namespace)
        bases = (frozen(made) if ours else dataclasses.dataclass(frozen=True, slots=True)(made),)
    return bases[0]


def outcome(call: Any, *values: object, **named: object) -> object:
    try:
        return call(*values, **named)
    except TypeError as error:
        return str(error)


values = st.sampled_from([1, 1.0, "x", float("nan")])


@given(
    declarations(),
    st.lists(values, max_size=5).map(tuple),
    st.dictionaries(st.sampled_from(NAMES), values),
    st.dictionaries(st.sampled_from(NAMES), values),
)
def test_they_behave_as_dataclasses(levels, positional, named, changes):
    try:
        oracle = declared(levels, ours=False)
    except TypeError:
        with pytest.raises(TypeError, match="without a default follows"):
            declared(levels, ours=True)
        return
    ours = declared(levels, ours=True)
    assert ours.__match_args__ == oracle.__match_args__
    assert [each.name for each in fields(ours)] == [each.name for each in dataclasses.fields(oracle)]
    one, other = outcome(ours, *positional, **named), outcome(oracle, *positional, **named)
    if isinstance(other, str):
        assert one == other
        return
    assert repr(one) == repr(other)
    changed, expected = outcome(replace, one, **changes), outcome(dataclasses.replace, other, **changes)
    assert repr(changed) == repr(expected)
    if not isinstance(expected, str):
        assert (changed == one) == (expected == other)
        assert hash(changed) == hash(changed)
        assert hash(changed) == hash(one) or changed != one


def test_an_instance_is_frozen():
    pair = Pair(1)
    with pytest.raises(AttributeError, match="cannot assign to field 'left': a Pair is frozen"):
        pair.left = 2
    with pytest.raises(AttributeError, match="cannot delete field 'left': a Pair is frozen"):
        del pair.left
    with pytest.raises(AttributeError):
        pair.other = 2
    assert pair.both == (1, None)


def test_an_instance_has_slots_only():
    assert not hasattr(Pair(1), "__dict__")
    assert Pair.__slots__ == ("left", "right")
    assert isinstance(Pair(1), Frozen)


def test_class_variables_are_not_fields():
    assert [each.name for each in fields(Pair)] == ["span", "left", "right"]
    assert Pair.title == "pair"


def test_a_field_that_is_not_compared_is_not_hashed():
    assert Pair(1, span=3) == Pair(1, span=4)
    assert hash(Pair(1, span=3)) == hash(Pair(1, span=4))
    assert Pair(1) != Pair(2)


def test_classes_with_equal_fields_differ():
    assert Nothing() == Nothing()
    assert Nothing() != Made()
    assert Single(1.0) != 1.0


def test_a_nan_equals_itself():
    nan = float("nan")
    assert Single(nan) == Single(nan)
    assert Pair(nan) == Pair(nan)


def test_a_factory_makes_a_value_for_each_instance():
    one, other = Made(), Made()
    assert one.items == other.items == []
    assert one.items is not other.items
    assert Made(items=[1]).items == [1]


def test_a_mutable_default_is_refused():
    wrong = type("Wrong", (), {"__annotations__": {"items": "list[int]"}, "items": []})
    with pytest.raises(TypeError, match=r"the default of Wrong\.items is mutable: use default_factory"):
        frozen(wrong)


def test_they_support_positional_patterns():
    match Pair(1, 2):
        case Pair(left, right):
            assert (left, right) == (1, 2)


@pytest.mark.parametrize("value", [Pair((1,), 2, span=3), Single(0.5), Nothing(), Made(items=[1])])
def test_they_can_be_copied_and_pickled(value):
    for twin in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert twin == value
        assert [getattr(twin, each.name) for each in fields(twin)] == [
            getattr(value, each.name) for each in fields(value)
        ]
