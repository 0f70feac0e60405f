"""sort: which events stay in the window, and their order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppError
from tests.kit.running import collect, running

STREAM = "@app:playback define stream S (a string, i int, l long, f float, d double);"


def expired(window: str, rows: list[tuple[object, ...]]) -> list[object]:
    """The names of what leaves a sort window, in order."""
    with running(f"{STREAM} from S#window.{window} select a insert expired events into Out;") as runtime:
        left = collect(runtime, "Out")
        for row in rows:
            runtime.input_handler("S").send(row, 1)
        return [row[0] for row in left]


def row(name: str | None, **values: object) -> tuple[object, ...]:
    return (name, *(values.get(attribute) for attribute in "ilfd"))


@pytest.mark.parametrize("attribute", "ilfd")
def test_numbers_are_ordered_by_value(attribute):
    rows = [row(str(value), **{attribute: value}) for value in (5, -3, 2, 9, -4)]
    assert expired(f"sort(2, {attribute})", rows) == ["5", "9", "2"]
    assert expired(f"sort(2, {attribute}, 'desc')", rows) == ["-3", "2", "-4"]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_null_is_last_in_both_directions(order):
    assert expired(f"sort(2, i, '{order}')", [row("null"), row("one", i=1), row("two", i=2)]) == ["null"]


def test_nan_is_greater_than_every_number():
    rows = [row("nan", d=float("nan")), row("inf", d=float("inf")), row("one", d=1.0), row("two", d=2.0)]
    assert expired("sort(2, d)", rows) == ["nan", "inf"]


def test_the_later_one_of_equal_events_expires():
    rows = [row(name, i=1) for name in ("first", "second", "third")]
    assert expired("sort(2, i)", rows) == ["third"]


def test_a_later_attribute_decides_if_the_first_is_equal():
    rows = [row("x", i=1, l=5), row("y", i=1, l=7), row("z", i=1, l=6)]
    assert expired("sort(2, i, 'asc', l, 'desc')", rows) == ["x"]


def test_the_window_is_in_order():
    app = "@app:playback define stream S (v int); define window W (v int) sort(4, v); from S select v insert into W;"
    with running(app) as runtime:
        for value in (7, 3, 9, 1, 5, 8, 2):
            runtime.input_handler("S").send((value,), 1)
        assert [event.data for event in runtime.query("from W select v")] == [(1,), (2,), (3,), (5,)]
        runtime.input_handler("S").send((4,), 1)
        assert [event.data for event in runtime.query("from W select v")] == [(1,), (2,), (3,), (4,)]


EDGES = [None, float("nan"), float("-inf"), -1.5, -0.0, 0.0, 2.0, float("inf")]


@given(
    st.lists(st.tuples(st.sampled_from(EDGES), st.sampled_from([None, -(2**63), -1, 0, 2**63 - 1]), st.booleans())),
    st.integers(1, 6),
    st.booleans(),
    st.booleans(),
)
def test_the_window_is_in_order_however_often_it_is_read(
    rows: list[tuple[float | None, int | None, bool]], length: int, down: bool, then_down: bool
) -> None:
    sign, then_sign = -1 if down else 1, -1 if then_down else 1

    def key(row: tuple[float | None, int | None, int]) -> tuple[object, ...]:
        real, whole, number = row
        nan = real is not None and real != real  # greater than every number
        return (
            real is None,
            sign * nan,
            sign * (0.0 if nan else real or 0.0),
            whole is None,
            then_sign * (whole or 0),
            number,
        )

    app = (
        "@app:playback define stream S (d double, l long, n int); define window W (d double, l long, n int) "
        f"sort({length}, d, '{'desc' if down else 'asc'}', l, '{'desc' if then_down else 'asc'}'); from S insert into W;"
    )
    held: list[tuple[float | None, int | None, int]] = []
    with running(app) as runtime:
        for number, (real, whole, looks) in enumerate(rows):
            runtime.input_handler("S").send((real, whole, number), 1)
            held = sorted([*held, (real, whole, number)], key=key)[:length]
            if looks:
                assert [e.data[2] for e in runtime.query("from W select d, l, n")] == [row[2] for row in held]
        assert [e.data[2] for e in runtime.query("from W select d, l, n")] == [row[2] for row in held]


def test_an_invalid_order_is_refused():
    with pytest.raises(SiddhiAppError):
        expired("sort(2, a, 'up')", [])
