"""New starts that go back or can't be computed: the query reports them, and all others go on."""

from __future__ import annotations

import pickle
from typing import Any

from siddhi.errors import CtiViolation
from siddhi.temporal import TemporalEvent
from tests.kit.running import running

APP = """@temporal define stream S (id int);
from S select id insert into Before;
@info(name = 'back') from S#temporal:alterLifetime({}) select id insert into Out;
from S select id insert into After;"""
ROWS = [("insert", 1, 4, (1,)), ("cti", 10, None, None), ("insert", 11, 14, (2,)), ("cti", 20, None, None)]


def results(lifetime: str) -> tuple[dict[str, list[TemporalEvent]], list[tuple[Exception, list[Any]]]]:
    """Return the items of the streams, and the errors, of two rows and the CTIs 10 and 20 behind them."""
    items: dict[str, list[TemporalEvent]] = {"Before": [], "Out": [], "After": []}
    errors: list[tuple[Exception, list[Any]]] = []
    with running(APP.format(lifetime)) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: errors.append((error, events)))
        for stream, got in items.items():
            runtime.add_temporal_callback(stream, got.extend)
        s: Any = runtime.input_handler("S")
        for start in (1, 11):
            s.insert(start, start + 3, (start // 10 + 1,))
            s.cti(start + 9)
    return items, errors


def test_a_start_moved_before_final_results_concerns_its_query_only() -> None:
    items, errors = results("40 - eventStart(), 5")
    assert items["Before"] == items["After"] == ROWS
    assert items["Out"] == [("cti", 30, None, None)]
    ((error, events),) = errors
    assert isinstance(error, CtiViolation)
    assert [event.data for event in events] == [(2,)]
    assert str(error) == (
        "query 'back', line 3, column 28: alterLifetime() moves the start 11 to 29, which is before CTI 30, up to which its "
        "results are final; let the new start never decrease while eventStart() grows, as "
        "temporal:floor(eventStart(), 1 hour) does"
    )
    assert (error.stream, error.cti) == ("S", 30)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_start_that_can_not_be_computed_concerns_its_query_only() -> None:
    items, errors = results("1 / (eventStart() - eventStart()), 5")
    assert items["Before"] == items["After"] == ROWS
    assert items["Out"] == []
    assert [str(error) for error, _ in errors] == ["the new start of a lifetime is null"] * 4  # of rows and of CTIs


def test_the_earliest_row_that_waits_for_its_end_holds_the_cti() -> None:
    items: list[TemporalEvent] = []
    start = "ifThenElse(eventStart() == 10L, 100L, ifThenElse(eventStart() == 11L, 50L, eventStart() + 100))"
    with running(APP.format(f"{start}, eventEnd() - eventStart()")) as runtime:
        runtime.add_temporal_callback("Out", items.extend)
        s: Any = runtime.input_handler("S")
        s.insert(10, 40, (1,))
        s.insert(11, 30, (2,))
        for cti in (20, 30, 40):
            s.cti(cti)
    assert items == [
        ("cti", 50, None, None),
        ("insert", 50, 69, (2,)),
        ("insert", 100, 130, (1,)),
        ("cti", 140, None, None),
    ]
