"""Batches of a temporal or corrected stream: an invalid row refuses all of them."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from siddhi import Event, SiddhiAppRuntime
from siddhi.errors import CtiViolation, EventError, InvalidTemporalEvent
from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running

S = "@temporal({}) define stream S (v int); @temporal(model = 'edge') define stream O (v int); from S select v insert into O;"
INTERVAL = S.format("model = 'interval'")
POINT = S.format("model = 'point'")
CORRECT = "@temporal(model = 'point', policy = 'correct', bound = '1 sec') define stream S (v int);"
FEW, MANY = 3, 300  # rows; more than a block


def values(items: list[TemporalEvent], kind: str) -> list[Any]:
    return [item.data[0] for item in items if item.kind == kind and item.data is not None]


def handler_of(runtime: SiddhiAppRuntime) -> Any:
    return runtime.input_handler("S")


def rows_of(runtime: SiddhiAppRuntime) -> list[Any]:
    items: list[Any] = []
    runtime.add_temporal_callback("O", lambda new: items.extend(values(new, "start")))
    return items


def lifetimes(n: int, last: tuple[Any, Any] | None = None) -> dict[str, list[Any]]:
    """Return a batch of n rows, where the last one has an invalid start or end."""
    starts: list[Any] = list(range(10, 10 + n))
    ends: list[Any] = [start + 5 for start in starts]
    if last is not None:
        starts[-1], ends[-1] = last
    return {"v": list(range(n)), "start": starts, "end": ends}


@pytest.mark.parametrize("n", [FEW, MANY])
@pytest.mark.parametrize(
    ("last", "message"), [((20, 20), "is empty"), ((None, 20), "'start' is null"), ((MAX, MAX), "is empty")]
)
def test_a_row_without_a_valid_lifetime_refuses_the_batch(n: int, last: tuple[Any, Any], message: str) -> None:
    with running(INTERVAL) as runtime:
        found, handler = rows_of(runtime), handler_of(runtime)
        with pytest.raises(InvalidTemporalEvent, match=f"'S', row {n - 1}: .*{message}.*no row of the batch") as caught:
            handler.insert_batch(lifetimes(n, last=last), end="end", cti=MAX)
        assert caught.value.rows_taken == 0
        handler.cti(MAX)
        assert found == []


@pytest.mark.parametrize("table", [dict, pa.table])
def test_columns_named_start_and_end_carry_the_lifetimes(table: Any) -> None:
    items: list[TemporalEvent] = []
    with running(INTERVAL.replace("'edge'", "'interval'")) as runtime:
        runtime.add_temporal_callback("O", items.extend)
        handler = handler_of(runtime)
        handler.insert_batch(table({"v": [1, 2], "start": [1, 3], "end": [9, 4]}))
        handler.insert_batch(table({"v": [3], "start": [2]}), cti=MAX)
        with pytest.raises(InvalidTemporalEvent, match="is empty"):
            handler.insert_batch(table({"v": [4], "start": [9], "end": [3]}))
    assert sorted(item.data[0] * 100 + item.end for item in items[:-1]) == [109, 204, 303]


@pytest.mark.parametrize("n", [FEW, MANY])
def test_a_row_that_is_late_refuses_the_batch(n: int) -> None:
    with running(INTERVAL) as runtime:
        found, handler = rows_of(runtime), handler_of(runtime)
        handler.cti(5)
        with pytest.raises(CtiViolation, match=rf"row {n - 1} with start 4 .*no row of the batch") as caught:
            handler.insert_batch(lifetimes(n, last=(4, 9)), end="end")
        assert (caught.value.rows_taken, caught.value.cti) == (0, 5)
        handler.cti(MAX)
        assert found == []


def test_rows_that_a_cti_of_the_batch_makes_late_are_counted() -> None:
    with running(S.format("model = 'point', @advance(count = '2')")) as runtime:
        found, handler = rows_of(runtime), handler_of(runtime)
        with pytest.raises(CtiViolation, match=r"row 2 \(a point.*the first 2 of the 4 rows") as caught:
            handler.insert_batch({"v": [1, 2, 3, 4], "start": [10, 20, 5, 30]})
        assert caught.value.rows_taken == 2
        copied = pickle.loads(pickle.dumps(caught.value))
        assert (str(copied), copied.rows_taken) == (str(caught.value), 2)
        with pytest.raises(CtiViolation) as caught:
            handler.send_events([Event(40, (1,)), Event(50, (2,)), Event(45, (3,))])
        assert caught.value.rows_taken == 2
        handler.cti(MAX)
        assert found == [1, 2, 1, 2]


def test_late_rows_of_a_batch_are_dropped_or_adjusted_by_the_policy() -> None:
    for policy, kept in (("drop", [0, 1]), ("adjust", [2, 0, 1])):
        with running(INTERVAL.replace("'interval'", f"'interval', policy = '{policy}'", 1)) as runtime:
            found, handler = rows_of(runtime), handler_of(runtime)
            handler.cti(5)
            handler.insert_batch(lifetimes(3, last=(4, 9)), end="end", cti=MAX)
            assert found == kept


def test_a_batch_of_another_form_than_the_model_is_refused() -> None:
    with running(POINT) as runtime:
        handler = handler_of(runtime)
        with pytest.raises(InvalidTemporalEvent, match=r"row 0: an interval can't be inserted .* no row of the batch"):
            handler.insert_batch(lifetimes(2), end="end")


def test_an_event_that_does_not_fit_refuses_all() -> None:
    with running(POINT) as runtime:
        found, handler = rows_of(runtime), handler_of(runtime)
        for last in (Event(10, ("x",)), ("x",)):
            with pytest.raises(EventError):
                handler.send_events([Event(5, (1,)), last])
        handler.cti(MAX)
        assert found == []
        assert handler.cti_time == MAX


def test_a_failure_while_rows_are_inserted_says_how_many_were() -> None:
    with running(S.format("model = 'point', @advance(count = '2', delay = '-1')")) as runtime:
        handler = handler_of(runtime)

        def fail(error: Exception, origin: str, events: object) -> None:
            raise error

        runtime.handle_exception_with(fail)
        runtime.add_temporal_callback("O", lambda _: 1 // 0)
        with pytest.raises(ZeroDivisionError) as caught:
            handler.insert_batch({"v": [1, 2, 3], "start": [1, 2, 3]})
        assert [note for note in caught.value.__notes__ if "of 3 rows" in note]


@pytest.mark.parametrize(
    ("rows", "times", "expected"),
    [
        ([1, 2, "x"], [10, 20, 30], EventError),
        ([1, 2, 3], [10, None, 30], InvalidTemporalEvent),
        ([1, 2, 3], [10, 20, "x"], EventError),
    ],
)
def test_an_invalid_event_of_a_corrected_batch_refuses_all(
    rows: list[Any], times: list[Any], expected: type[Exception]
) -> None:
    with running(CORRECT + " from S select v insert into O;") as runtime:
        handler = handler_of(runtime)
        found: list[Any] = []
        runtime.add_temporal_callback("O", lambda items: found.extend(values(items, "insert")))
        place = times.index(None) if None in times else 2
        with pytest.raises(expected, match=rf"row {place}\b|column 'start'"):
            handler.insert_batch({"v": rows, "start": times})
        assert found == []
        handler.insert_batch({"v": [1, 2], "start": [15, 5]})
        assert found == [1, 2]
        assert handler.late == 1


@pytest.mark.parametrize("n", [FEW, MANY])
def test_a_row_whose_attribute_has_another_time_refuses_the_batch(n: int) -> None:
    app = "@temporal(model = 'point', start = 'at') define stream S (v int, at long); from S select v insert into O;"
    with running(app) as runtime:
        found: list[Any] = []
        runtime.add_temporal_callback("O", lambda items: found.extend(values(items, "insert")))
        handler, starts = handler_of(runtime), list(range(n))
        table: dict[str, Any] = {"v": starts, "start": starts, "at": [None, *starts[1:-1], 7777]}
        with pytest.raises(InvalidTemporalEvent, match=rf"row {n - 1}: .*carries the start.*no row of the batch"):
            handler.insert_batch(table, cti=MAX)
        handler.insert_batch({**table, "at": starts}, cti=MAX)
        assert found == starts
