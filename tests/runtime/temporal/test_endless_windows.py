"""A row over which one CTI would make too many hopping windows is reported and left out of them."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi.errors import LimitExceededError
from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running

APP = """@temporal define stream S (id int, v int);
@info(name = 'q') from S#window.hopping(4, 2, 0, '{}')[v > 0] select id, count() as n, temporal:timeWeightedAvg(v) as a
group by id insert into O;"""
GOOD: list[Any] = [(1, 2, (1, 5)), (990, 1003, (1, 6)), (996, 1001, (2, 7))]


def output(shape: str, rows: list[Any], *ctis: int, most: int = 100) -> tuple[list[TemporalEvent], list[str]]:
    """Return the items of windows, and the errors; `most` windows per row and CTI are allowed."""
    items: list[TemporalEvent] = []
    errors: list[str] = []

    def take(error: Exception, _origin: str, _events: list[Any]) -> None:
        assert isinstance(error, LimitExceededError)
        errors.append(str(error))

    with running(APP.format(shape)) as runtime:
        runtime._context.most_ticks = most
        runtime.handle_exception_with(take)
        runtime.add_temporal_callback("O", items.extend)
        s: Any = runtime.input_handler("S")
        for row in rows:
            s.insert(*row)
        for cti in ctis:
            s.cti(cti)
    return items, errors


@pytest.mark.parametrize("shape", ["point", "clip"])
@pytest.mark.parametrize("end", [MAX, 900])
def test_a_start_by_mistake_does_not_ask_for_endless_windows(shape: str, end: int) -> None:
    items, errors = output(shape, [*GOOD, (0, end, (2, 3))], 1000, MAX)
    assert items == output(shape, GOOD, 1000, MAX)[0]
    (error,) = errors
    assert error.startswith(
        f"query 'q', line 2, column 18: a row that is valid from 0 to {'MAX' if end == MAX else end} would be in more than "
        "100 windows (one every 2 ms) up to 1000; the row is left out of them. Are times in another unit"
    )


@pytest.mark.parametrize("shape", ["point", "clip"])
def test_a_cti_by_mistake_ends_the_open_rows_of_windows(shape: str) -> None:
    rows = [*GOOD, (999, MAX, (2, 3))]
    items, errors = output(shape, rows, 1000, 10**15, MAX)
    known = output(shape, rows, 1000)[0]
    others, before = output(shape, GOOD, 1000, 10**15, MAX)[0], output(shape, GOOD, 1000)[0]
    assert items == [*known, *others[len(before) :]]
    assert len(errors) == 1
    assert "valid from 999 to MAX" in errors[0]


def test_rows_that_a_filter_rejects_hold_no_windows() -> None:
    items, errors = output("point", [(0, MAX, (1, 0)), *GOOD], 1000, MAX)
    assert (items, errors) == output("point", GOOD, 1000, MAX)


def test_as_many_windows_as_allowed_are_made() -> None:
    items, errors = output("clip", [(0, 200, (1, 1))], MAX)
    assert (len(items), errors) == (102, [])
