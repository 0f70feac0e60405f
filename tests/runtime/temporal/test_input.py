"""Items and CTIs from outside: forms, policies, times, life cycle."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import (
    CtiViolation,
    DefinitionNotExistError,
    EventError,
    InvalidTemporalEvent,
    NotRunningError,
    SiddhiTemporalError,
)
from siddhi.temporal import MAX, MIN
from tests.kit.running import running


def app(model: str = "edge", policy: str = "error", rest: str = "") -> str:
    return f"""
    @temporal(model = '{model}', policy = '{policy}'{rest}) define stream S (id int, value double);
    from S select id, value insert into Out;
    """


def shown(runtime: SiddhiAppRuntime) -> list[tuple[Any, ...]]:
    items: list[tuple[Any, ...]] = []
    runtime.add_temporal_callback("Out", lambda new: items.extend((i.kind, i.start, i.end, i.data) for i in new))
    return items


def handler_of(runtime: SiddhiAppRuntime) -> Any:
    return runtime.input_handler("S")


def test_an_end_at_the_cti_is_accepted_after_it() -> None:
    with running(app()) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.start_edge(1, (1, 1.0))
        s.cti(5)
        s.end_edge(1, 5, (1, 1.0))
        s.cti(6)
    assert items == [("cti", 5, None, None), ("insert", 1, 5, (1, 1.0)), ("cti", 6, None, None)]


def test_one_end_closes_one_of_two_equal_starts() -> None:
    with running(app()) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.start_edge(1, (1, 1.0))
        s.start_edge(1, (1, 1.0))
        s.end_edge(1, 4, (1, 1.0))
        s.cti(MAX)
    assert items[:2] == [("insert", 1, 4, (1, 1.0)), ("insert", 1, MAX, (1, 1.0))]


def test_an_end_closes_the_start_that_arrived_first_after_retracts() -> None:
    with running(app(policy="adjust")) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.start_edge(2, (1, 1.0))  # [2, ...
        s.cti(6)
        s.start_edge(2, (1, 1.0))  # [6, ...: adjusted
        s.retract(2, MAX, 20, (1, 1.0))  # of the first one, there
        s.retract(2, 20, MAX, (1, 1.0))  # and back
        s.end_edge(2, 10, (1, 1.0))
        s.cti(MAX)
    assert [item[:3] for item in items[1:-1]] == [("insert", 2, 10), ("insert", 6, MAX)]


def test_equal_starts_are_closed_one_by_one() -> None:
    with running(app()) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        for _ in range(3000):
            s.start_edge(1, (1, 1.0))
        for end in range(3000):
            s.end_edge(1, 2 + end % 50, (1, 1.0))
        s.cti(MAX)
    assert [item[2] for item in items[:-1]] == [2 + end for end in range(50) for _ in range(60)]


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (float("nan"), float("nan")), (None, None)])
def test_an_end_finds_its_start_by_equal_values(one: float | None, other: float | None) -> None:
    with running(app()) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.start_edge(1, (1, one))
        s.end_edge(1, 4, (1, other))
        s.cti(MAX)
    assert [item[:3] for item in items] == [("insert", 1, 4), ("cti", MAX, None)]


def test_a_start_that_is_adjusted_to_its_end_disappears() -> None:
    with running(app(policy="adjust")) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.cti(6)
        s.start_edge(2, (1, 1.0))
        s.end_edge(2, 6, (1, 1.0))
        s.cti(MAX)
        assert (s.adjusted, s.dropped) == (1, 0)
    assert items == [("cti", 6, None, None), ("cti", MAX, None, None)]


def test_a_retract_of_an_end_at_the_cti_says_that_it_is_final() -> None:
    with running("@temporal(model = 'edge') define stream S (id int);") as runtime:
        s = handler_of(runtime)
        s.insert(1, 5, (1,))
        s.cti(5)
        with pytest.raises(
            InvalidTemporalEvent, match=r"\[1, 5\) of this row, whose end is final since the CTI 5; send the"
        ):
            s.retract(1, 5, 9, (1,))


def test_a_retract_removes_a_row_or_moves_its_end() -> None:
    with running(app()) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.insert(1, 9, (1, 1.0))
        s.insert(2, 9, (2, 1.0))
        s.retract(1, 9, 1, (1, 1.0))
        s.retract(2, 9, 5, (2, 1.0))
        s.retract(2, 5, 12, (2, 1.0))
        s.cti(MAX)
    assert items[:-1] == [("insert", 2, 12, (2, 1.0))]


def test_ctis_never_go_back() -> None:
    with running(app()) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        assert s.cti_time == MIN
        for time in (5, 5, 3, 7, MAX, MAX):
            s.cti(time)
        assert s.cti_time == MAX
        with pytest.raises(CtiViolation, match="the end of its input"):
            s.insert(9, 10, (1, 1.0))
    assert [item[1] for item in items] == [5, 7, MAX]


def test_a_refused_item_has_no_effect() -> None:
    with running(app()) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.cti(5)
        refused: tuple[Callable[[], object], ...] = (
            lambda: s.insert(4, 9, (1, 1.0)),
            lambda: s.insert(9, 9, (1, 1.0)),
            lambda: s.insert(9, 8, (1, 1.0)),
            lambda: s.end_edge(9, 9, (1, 1.0)),
            lambda: s.end_edge(1, 9, (1, 1.0)),
            lambda: s.retract(6, 8, 7, (1, 1.0)),
            lambda: s.point(1 << 63, (1, 1.0)),
        )
        for send in refused:
            with pytest.raises(SiddhiTemporalError):
                send()
        with pytest.raises(EventError):
            s.insert(6, 7, (1,))
        s.cti(MAX)
    assert [item[0] for item in items] == ["cti", "cti"]


@pytest.mark.parametrize(("model", "method", "times"), [("point", "insert", (1, 2)), ("interval", "start_edge", (1,))])
def test_forms_that_the_model_does_not_have_are_refused(model: str, method: str, times: tuple[int, ...]) -> None:
    with running(app(model)) as runtime, pytest.raises(InvalidTemporalEvent, match=f"model '{model}'"):
        getattr(handler_of(runtime), method)(*times, (1, 1.0))


def test_times_may_be_datetimes_with_a_zone() -> None:
    with running(app("point")) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.send((1, 1.0), timestamp=datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc))
        with pytest.raises(InvalidTemporalEvent, match="time zone"):
            s.point(datetime(1970, 1, 1), (1, 1.0))  # noqa: DTZ001
        s.cti(MAX)
    assert [item[1] for item in items] == [1000, MAX]


def test_a_batch_is_sent_row_by_row() -> None:
    with running(app("interval")) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.insert_batch({"s": [3, 1], "e": [4, 9], "id": [1, 2], "value": [0.5, None]}, start="s", end="e", cti=MAX)
        with pytest.raises(EventError, match="no column 'value'"):
            s.insert_batch({"s": [1], "id": [1]}, start="s", end="e")
    assert items == [("insert", 3, 4, (1, 0.5)), ("insert", 1, 9, (2, None)), ("cti", MAX, None, None)]


def test_shifted_times_saturate_and_keep_the_ends_of_the_axis() -> None:
    text = "@temporal define stream S (id int); from S#temporal:shift(10) select id insert into Out;"
    with running(text) as runtime:
        items, s = shown(runtime), handler_of(runtime)
        s.insert(MIN, 5, (1,))
        s.insert(5, MAX, (2,))
        s.cti(MAX)
    assert items[:-1] == [("insert", MIN, 15, (1,)), ("insert", 15, MAX, (2,))]


def test_callbacks_and_handlers_survive_a_restart() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(app("point"))
        items, s = shown(runtime), handler_of(runtime)
        with pytest.raises(NotRunningError):
            s.point(1, (1, 1.0))
        for _ in range(2):
            runtime.start()
            assert s.cti_time == MIN
            s.point(1, (1, 1.0))
            s.cti(MAX)
            runtime.shutdown()
    assert [item[0] for item in items] == ["insert", "cti"] * 2


def test_classical_callbacks_see_edges_as_current_and_expired_events() -> None:
    text = "@temporal(model = 'edge') define stream Out (id int, value double);" + app()
    events: list[Any] = []
    with running(text) as runtime:
        runtime.add_callback("Out", lambda new: events.extend((e.timestamp, e.data, e.is_expired) for e in new))
        handler_of(runtime).insert(2, 6, (1, 1.0))
        handler_of(runtime).cti(MAX)
    assert events == [(2, (1, 1.0), False), (6, (1, 1.0), True)]


def test_streams_of_the_wrong_kind_are_named() -> None:
    with running("define stream Plain (v int);" + app()) as runtime:
        with pytest.raises(DefinitionNotExistError, match="classical"):
            runtime.add_temporal_callback("Plain", lambda items: None)
        with pytest.raises(SiddhiTemporalError, match="filled by queries"):
            runtime.input_handler("Out")


def test_an_exception_of_a_temporal_callback_goes_to_the_exception_handler() -> None:
    with running(app()) as runtime:
        errors: list[BaseException] = []

        def fail(items: object) -> None:
            raise ValueError("callback")

        runtime.handle_exception_with(lambda error, origin, events: errors.append(error))
        runtime.add_temporal_callback("Out", fail)
        items = shown(runtime)
        handler = handler_of(runtime)
        handler.insert(1, 2, (1, 1.0))
        handler.cti(MAX)
    assert [type(error) for error in errors] == [ValueError]
    assert len(items) == 2


@pytest.mark.parametrize(
    ("window", "counts"),
    [
        ("tumbling(60000)", [(1,), (1,)]),
        ("hopping(2 min, 1 min)", [(1,), (2,)]),
        ("tumbling(1 min, 0, 'clip')", [(1,), (1,)]),
    ],
)
def test_a_row_from_the_beginning_of_time_asks_for_no_endless_windows(window: str, counts: list[Any]) -> None:
    text = f"""
    @temporal(model = 'interval') define stream S (id int, value double);
    from S#window.{window} select count() as n insert into Out;
    """
    with running(text) as runtime:
        items, handler = shown(runtime), handler_of(runtime)
        handler.insert(MIN, 5, (1, 1.0))
        handler.cti(10)
        handler.insert(61_000, 62_000, (2, 1.0))
        handler.cti(130_000)
    assert [item[-1] for item in items if item[0] == "insert"] == counts


@pytest.mark.parametrize(
    "query",
    [
        "from S[check(id) > 0] select id, value",
        "from S select check(id) as id, value",
        "from S#window.snapshot() select sum(check(id)) as id",
        "from S#window.snapshot() select id, check(id) as x order by x limit 2",
        "from S#window.tumbling(5) select max(check(id)) as id",
        "from S#window.countByStartTime(1) select sum(check(id)) as id",
        "from S join R on S.id == R.id and check(S.id) == R.id select S.id as id",
        "from S left outer join R on S.id == R.id select check(S.id) as id",
        "from S#temporal:clip(R, check(id) == R.id) select id",
        "from S#temporal:alterDuration(5 + check(id)) select id",
    ],
)
def test_a_row_whose_evaluation_fails_is_reported_and_the_others_go_on(query: str) -> None:
    text = f"""
    define function check[python] return int {{ return data[0] if data[0] != 2 else int("two") }};
    @temporal(model = 'interval') define stream S (id int, value double);
    @temporal(model = 'interval') define stream R (id int);
    {query} insert into Out;
    """
    failures: list[str] = []
    with running(text) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: failures.append(str(error)))
        items, s, r = shown(runtime), handler_of(runtime), runtime.input_handler("R")
        for number in (1, 2, 3):
            s.insert(number, number + 5, (number, 0.5))
            r.insert(number + 1, number + 9, (number,))  # type: ignore[union-attr]
        s.cti(MAX)
        r.cti(MAX)  # type: ignore[union-attr]
    assert failures
    assert all("two" in failure for failure in failures)
    assert len([item for item in items if item[0] == "insert"]) >= 2
