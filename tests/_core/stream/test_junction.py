"""Junctions: order of receivers, and the effect of a failing receiver on the others."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime
from siddhi._core.record.event import live_events
from tests.kit.running import collect, running

STREAM = "define stream S (v int);"


def test_receivers_are_called_in_order_and_each_completes() -> None:
    app = f"{STREAM} from S select v insert into A; from A select v insert into B; from S select v insert into C;"
    with running(app) as runtime:
        seen: list[str] = []
        for stream in "CBAS":
            runtime.add_callback(stream, lambda events, stream=stream: seen.append(stream))
        runtime.input_handler("S").send((1,))
    assert seen == ["B", "A", "C", "S"]  # queries in the order of the text, then callbacks, depth first


def test_a_callback_can_remove_itself_and_others() -> None:
    with running(STREAM) as runtime:
        seen: list[str] = []

        def first(events: list[Event]) -> None:
            seen.append("first")
            runtime.remove_callback(first)
            runtime.remove_callback(second)

        def second(events: list[Event]) -> None:
            seen.append("second")

        runtime.add_callback("S", first)
        runtime.add_callback("S", second)
        runtime.add_callback("S", lambda events: seen.append("third"))
        runtime.input_handler("S").send((1,))
        del seen[:]
        runtime.input_handler("S").send((2,))
    assert seen == ["third"]


def test_a_callback_added_during_an_event_is_called_from_then_on() -> None:
    with running(STREAM) as runtime:
        rows: list[Any] = []
        runtime.add_callback(
            "S", lambda events: runtime.add_callback("S", lambda more: rows.extend(e["v"] for e in more))
        )
        runtime.input_handler("S").send((1,))
        before = list(rows)
        runtime.input_handler("S").send((2,))
    assert before == [1]  # it was added after the current receiver, so it gets the event, too
    assert rows == [1, 2, 2]


def noted(runtime: SiddhiAppRuntime) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Origin and events of the failures to come."""
    failures: list[tuple[str, list[tuple[Any, ...]]]] = []
    runtime.handle_exception_with(
        lambda error, origin, events: failures.append((origin, [event.data for event in events]))
    )
    return failures


def test_a_failing_callback_does_not_affect_others() -> None:
    with running(STREAM) as runtime:
        failures = noted(runtime)
        before = collect(runtime, "S")

        def fail(events: list[Event]) -> None:
            if events[0]["v"] == 2:
                raise RuntimeError("no twos")

        runtime.add_callback("S", fail)
        behind = collect(runtime, "S")
        for v in (1, 2, 3):
            runtime.input_handler("S").send((v,))
    assert before == behind == [(1,), (2,), (3,)]
    assert failures == [("callback of 'S'", [(2,)])]


def test_a_failing_query_skips_later_receivers_and_the_sender_continues() -> None:
    app = "define stream S (b bool); from S select b insert into A; from S select and(b) as b insert into B;"
    with running(f"{app} from S select b insert into C;") as runtime:
        failures = noted(runtime)
        before, failing, behind = (collect(runtime, stream) for stream in "ABC")
        for b in (True, None, False):
            runtime.input_handler("S").send((b,))
    assert before == [(True,), (None,), (False,)]
    assert failing == behind == [(True,), (False,)]
    assert failures == [("S", [(None,)])]


LOOPS = {
    "itself": "from S select v + 1 as v insert into S;",
    "twice": "from S select v + 1 as v insert into S; from S select v * 2 as v insert into S;",
    "around": "from S select v insert into A; from A#window.length(2) select sum(v) as v insert into B;"
    "from B select convert(v, 'int') as v insert into S;",
    "partition": "partition with (v of S) begin from S select v insert into S; end;",
    "pattern": "from every e=S select e.v as v insert into S;",
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("way", ["row", "chunk", "batch"])
def test_an_endless_loop_fails_as_one_event_and_the_app_continues(loop: str, way: str) -> None:
    gc.collect()
    alive = live_events()
    with running(
        f"define stream S (v int); define stream R (v int); {LOOPS[loop]} from R select v insert into O;"
    ) as app:
        failures: list[Exception] = []
        app.handle_exception_with(lambda error, origin, events: failures.append(error))
        rows = collect(app, "O")
        if way == "row":
            app.input_handler("S").send((1,))
        elif way == "chunk":
            app.input_handler("S").send_events([Event(1, (1,)), Event(1, (2,))])
        else:
            app.input_handler("S").send_batch({"v": [1, 2]})
        assert 1 <= len(failures) <= 2
        assert all(isinstance(error, RecursionError) for error in failures)
        assert "more than" in str(failures[0])
        app.input_handler("R").send((5,))
        assert rows == [(5,)]
    failures.clear()
    del app
    gc.collect()
    assert live_events() == alive


def test_a_loop_that_ends_is_not_a_failure() -> None:
    with running(f"{STREAM} from S[v > 0] select v - 1 as v insert into S; from S select v insert into O;") as runtime:
        rows = collect(runtime, "O")
        runtime.input_handler("S").send((400,))
        runtime.input_handler("S").send_batch({"v": [400]})
    assert sorted(rows) == sorted([(v,) for v in range(401)] * 2)


def test_callbacks_that_call_each_other_are_stopped() -> None:
    with running(f"{STREAM} define stream R (v int);") as runtime:
        failures: list[Exception] = []
        runtime.handle_exception_with(lambda error, origin, events: failures.append(error))
        runtime.add_callback("S", lambda events: runtime.input_handler("R").send(events[0]))
        runtime.add_callback("R", lambda events: runtime.input_handler("S").send(events[0]))
        runtime.input_handler("S").send((1,))
    assert len(failures) == 1
    assert isinstance(failures[0], RecursionError)


@pytest.mark.parametrize("n_guarded", [0, 8])
def test_later_receivers_do_not_get_rows_of_a_batch_that_failed_before(n_guarded: int) -> None:
    # With many queries that ask for a value, events are picked for each.
    queries = "".join(f"from S[v == {i}] select v insert into V{i};" for i in range(n_guarded))
    app = (
        "define stream S (v int, b bool); from S select v insert into A; from S select and(b) as b insert into B;"
        f"{queries} from S#window.length(2) select v, and(b) as b insert into C; from S select v insert into D;"
    )
    with running(app) as runtime:
        failures = noted(runtime)
        rows: dict[str, list[Any]] = {"A": [], "D": [], **({"V1": [], "V2": []} if n_guarded else {})}
        for stream, seen in rows.items():
            runtime.add_batch_callback(stream, lambda batch, seen=seen: seen.extend(batch["v"].tolist()))
        runtime.input_handler("S").send_batch({"v": [1, 2, 3], "b": [True, None, False]})
    assert rows["A"] == [1, 2, 3]
    assert rows["D"] == [1, 3]
    assert failures == [("S", [(2, None)])]
    if n_guarded:
        assert rows["V1"] == [1]
        assert rows["V2"] == []
