"""The chosen keys are those of an exhaustive search, in time linear in the number of queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi.planner.app import plan
from siddhi.planner.distribution.distribution import Element, KeyExpression, KeyPart, distributions
from siddhi.planner.plan.elements import ElementKind
from siddhi.query_compiler import parse
from siddhi.spark.plan import key_choices, keys
from siddhi.spark.plan.fragments import cut
from siddhi.types import AttributeType


class AllChoices:
    """The oracle: every part of every element with every other."""

    def __init__(self, elements: list[Element]) -> None:
        self._stateful = [element for element in elements if element.keys is not None]

    def choices_with(self, name: str, part: KeyPart) -> Iterator[Mapping[str, KeyPart]]:
        names = [element.name for element in self._stateful]
        parts = [(part,) if element.name == name else element.keys or () for element in self._stateful]
        return (dict(zip(names, choice, strict=True)) for choice in product(*parts))


def by_trying_all(elements: list[Element], outside: list[str]) -> keys.FragmentKey | None:
    with mock.patch.object(keys, "KeyChoices", AllChoices):
        return keys.fragment_key(elements, outside)


# --- elements as they may come

ATTRIBUTES = st.sampled_from("xy")
KEYS = st.one_of(
    ATTRIBUTES.map(lambda name: KeyExpression(name, name)),
    st.just(KeyExpression("x + 1")),
    st.just(KeyExpression("ranges", None, (("low", "x < 3"),))),
)


@st.composite
def a_part(draw: st.DrawFn, reads: tuple[str, ...]) -> KeyPart:
    named = draw(st.lists(st.sampled_from(reads), min_size=1, unique=True))
    return KeyPart(tuple((stream, draw(KEYS)) for stream in named), AttributeType.STRING)


@st.composite
def a_fragment(draw: st.DrawFn) -> tuple[list[Element], list[str]]:
    streams = ["In0", "In1"]
    elements: list[Element] = []
    for number in range(draw(st.integers(1, 5))):
        reads = tuple(draw(st.lists(st.sampled_from(streams), min_size=1, max_size=2, unique=True)))
        written = draw(st.sampled_from([f"Out{number}", *(stream for stream in streams if stream.startswith("Out"))]))
        stateful = draw(st.integers(0, 2))
        parts = None if not stateful else tuple(draw(st.lists(a_part(reads), min_size=1, max_size=3, unique=True)))
        carried = st.tuples(st.just(written), ATTRIBUTES, st.sampled_from(reads), ATTRIBUTES)
        elements.append(
            Element(
                name=f"e{number}",
                kind=ElementKind.QUERY,
                reads=reads,
                writes=(written,),
                tables=(),
                stateful=bool(stateful),
                keys=parts,
                carries=tuple(draw(st.lists(carried, max_size=4, unique=True))),
            )
        )
        if written not in streams:
            streams.append(written)
    return elements, ["In0", "In1"]


@given(a_fragment())
@settings(max_examples=300)
def test_the_key_equals_that_of_an_exhaustive_search(fragment: tuple[list[Element], list[str]]) -> None:
    assert keys.fragment_key(*fragment) == by_trying_all(*fragment)


# --- apps as they are written

STREAM = (
    "define stream S (a string, b string, c string, v int); define stream R (a string, b string, c string, v int);\n"
)
COLUMNS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True).map(", ".join)


@st.composite
def a_query(draw: st.DrawFn, number: int) -> str:
    streams = ["S", "R", *(f"Q{before}" for before in range(number))]
    source, other = draw(st.sampled_from(streams)), draw(st.sampled_from(streams))
    condition = " and ".join(
        f"x.{draw(st.sampled_from('abc'))} == y.{draw(st.sampled_from('abc'))}" for _ in range(draw(st.integers(1, 2)))
    )
    columns = "a, b, c" if draw(st.booleans()) else "b as a, a as b, c"
    return draw(
        st.sampled_from(
            [
                f"from {source} select {columns}, v insert into Q{number};",
                (
                    f"from {source} select a, b, c, sum(v) as w group by {draw(COLUMNS)} insert into G{number}; "
                    f"from {source}[v > 1] select {columns}, v insert into Q{number};"
                ),
                (
                    f"from {source}#window.time(1 sec) as x join {other}#window.time(1 sec) as y on {condition} "
                    f"select x.a, y.b, x.c, y.v insert into Q{number};"
                ),
                (
                    f"partition with ({draw(st.sampled_from('abc'))} of {source}) begin from {source}#window.length(2) "
                    f"select {columns}, v insert into Q{number}; end;"
                ),
            ]
        )
    )


@st.composite
def an_app(draw: st.DrawFn) -> str:
    return STREAM + "\n".join(draw(a_query(number)) for number in range(draw(st.integers(1, 4))))


@given(an_app(), st.booleans())
def test_the_fragments_equal_those_of_an_exhaustive_search(text: str, streaming: bool) -> None:
    planned = plan(parse(text))
    found = cut(planned, streaming=streaming, prefer="engine")
    with mock.patch.object(keys, "KeyChoices", AllChoices):
        tried = cut(planned, streaming=streaming, prefer="engine")
    assert [(fragment.key, fragment.reason, fragment.inputs) for fragment in found.fragments] == [
        (fragment.key, fragment.reason, fragment.inputs) for fragment in tried.fragments
    ]


# --- how long it takes


def calls(method: str, text: str) -> int:
    """Return how often a method of the search is called while an app is cut."""
    called = getattr(key_choices.KeyChoices, method)
    count = 0

    def counting(*arguments: object) -> object:
        nonlocal count
        count += 1
        return called(*arguments)

    with mock.patch.object(key_choices.KeyChoices, method, counting):
        cut(plan(parse(text)), streaming=True, prefer="engine")
    return count


def test_steps_of_a_chain_of_group_by_queries_grow_at_most_quadratically() -> None:
    def chain(queries: int) -> str:
        many = (
            f"from S{n}#window.time(1 sec) select a, b, c, v group by a, b, c insert into S{n + 1};"
            for n in range(queries)
        )
        return "define stream S0 (a string, b string, c string, v int);" + "".join(many)

    few, many = calls("_revise", chain(8)), calls("_revise", chain(32))
    assert many <= 20 * few  # 4 times the queries: 16 is quadratic, 64 cubic


@pytest.mark.parametrize("last", ["a, b, c", "a", "v"])
def test_the_number_of_tries_grows_with_the_queries(last: str) -> None:
    def app(queries: int) -> str:
        many = (f"from S select a, b, c, v, sum(v) as w group by a, b, c insert into O{n};" for n in range(queries))
        return "".join(many) + f"from S select a, sum(v) as w group by {last} insert into Last;"

    few, many = calls("_narrow", STREAM + app(6)), calls("_narrow", STREAM + app(24))
    assert many <= 5 * few


def test_a_cycle_of_joins_stops_after_the_limit_of_tries() -> None:
    """Every pair of streams is joined by unequal names of its attributes: a colouring that three colours don't allow."""
    streams = [f"S{n}" for n in range(4)]
    definitions = "".join(f"define stream {stream} (a string, b string, c string);" for stream in streams)
    unequal = [f"x.{one} == y.{other}" for one in "abc" for other in "abc" if one != other]
    joins = "".join(
        f"from {one}#window.time(1 sec) as x join {other}#window.time(1 sec) as y on {' and '.join(unequal)} "
        f"select x.a insert into O{one}{other};"
        for number, one in enumerate(streams)
        for other in streams[:number]
    )
    elements = list(distributions(plan(parse(definitions + joins))))
    assert keys.fragment_key(elements, streams) is None
    assert by_trying_all(elements[:3], streams[:3]) == keys.fragment_key(elements[:3], streams[:3]) is not None
    with mock.patch.object(key_choices, "MAX_TRIES", -len(elements)):
        assert keys.fragment_key(elements[:3], streams[:3]) is None
