"""Repeated log messages: the first ones are logged, then at doubling intervals up to a limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from siddhi.repeats import Repeats


def said(repeats: Repeats, n: int) -> list[int]:
    return [number for number in range(1, n + 1) if repeats.note("x") is not None]


def test_the_first_are_logged_and_then_fewer() -> None:
    assert said(Repeats(), 300) == [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256]
    assert said(Repeats(first=1), 20) == [1, 2, 4, 8, 16]
    assert said(Repeats(first=2, most=10), 50) == [1, 2, 4, 8, 16, 26, 36, 46]
    assert len(said(Repeats(), 294_000)) < 30


@given(first=st.integers(1, 20), most=st.integers(1, 50), n=st.integers(1, 400))
def test_the_interval_is_limited(first: int, most: int, n: int) -> None:
    lines = said(Repeats(first, most), n)
    assert lines[:first] == list(range(1, min(first, n) + 1))
    assert all(later - earlier <= most for earlier, later in zip(lines, [*lines[1:], n], strict=True))


def test_a_message_has_the_count_and_the_number_it_represents() -> None:
    repeats = Repeats(first=2)
    notes = [repeats.note("x") for _ in range(8)]
    assert notes == [
        "",
        "",
        None,
        " (4 like this so far, 1 of them not shown)",
        None,
        None,
        None,
        " (8 like this so far, 3 of them not shown)",
    ]


def test_kinds_are_counted_separately_and_the_rest_is_logged_at_the_end() -> None:
    repeats = Repeats(first=1)
    for _ in range(7):
        repeats.note("a")
    repeats.note("b")
    assert repeats.summary() == ["a: 7 in all, of which the last 3 are not shown"]
    assert repeats.summary() == []
    assert repeats.note("a") == ""
