"""Lines about what repeats: all of the first, then twice as far apart each time, and never too far."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from siddhi.repeats import Repeats


def said(repeats: Repeats, n: int) -> list[int]:
    return [number for number in range(1, n + 1) if repeats.note("x") is not None]


def test_the_first_are_all_said_and_then_ever_fewer() -> None:
    assert said(Repeats(), 300) == [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256]
    assert said(Repeats(first=1), 20) == [1, 2, 4, 8, 16]
    assert said(Repeats(first=2, most=10), 50) == [1, 2, 4, 8, 16, 26, 36, 46]
    assert len(said(Repeats(), 294_000)) < 30


@given(first=st.integers(1, 20), most=st.integers(1, 50), n=st.integers(1, 400))
def test_there_are_never_more_than_so_many_between_two_lines(first: int, most: int, n: int) -> None:
    lines = said(Repeats(first, most), n)
    assert lines[:first] == list(range(1, min(first, n) + 1))
    assert all(later - earlier <= most for earlier, later in zip(lines, [*lines[1:], n], strict=True))


def test_a_line_says_how_many_there_were_and_how_many_it_stands_for() -> None:
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


def test_kinds_are_counted_apart_and_the_rest_is_told_once() -> None:
    repeats = Repeats(first=1)
    for _ in range(7):
        repeats.note("a")
    repeats.note("b")
    assert repeats.summary() == ["a: 7 in all, of which the last 3 are not shown"]
    assert repeats.summary() == []
    assert repeats.note("a") == ""
