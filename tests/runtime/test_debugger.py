"""Debugging: break points at queries, stepping, and inspection of state. No test waits for time to pass."""

from __future__ import annotations

import threading

import pytest

from siddhi import Event, SiddhiManager
from siddhi.errors import DefinitionNotExistError, EventError
from siddhi.runtime.debugger import QueryTerminal
from tests.kit.running import collect

IN, OUT = QueryTerminal.IN, QueryTerminal.OUT
APP = """@app:name('A') @app:playback
define stream S (k string, v int);
define stream T (k string, v int);
@info(name = 'q1') from S[v > 0]#window.length(3) select k, sum(v) as total group by k insert into M;
@info(name = 'kept') from S#window.length(3) select k, max(v) as most, sum(v) as total group by k insert into Kept;
@info(name = 'q2') from M select k, total insert into Out;
@info(name = 'join') from S#window.length(1) join T#window.length(1) on S.k == T.k select S.k as k insert into Joined;
@info(name = 'pattern') from every a=S -> b=T select a.v as v insert into Found;
partition with (k of S) begin @info(name = 'inner') from S select k insert into Parts; end;
"""


@pytest.fixture
def app():
    with SiddhiManager() as manager:
        yield manager.create_siddhi_app_runtime(APP)


def stops_of(debugger, *, go_on="next"):
    stops = []

    def stop(events, query, terminal, same):
        assert same is debugger
        stops.append((query, terminal, [event.data for event in events]))
        getattr(debugger, go_on)()

    debugger.set_debugger_callback(stop)
    return stops


def test_next_steps_from_terminal_to_terminal(app):
    debugger = app.debug()
    assert app.is_running
    assert app.debug() is debugger
    stops = stops_of(debugger)
    debugger.acquire_break_point("q1", IN)
    rows = collect(app, "Out")
    app.input_handler("S").send(("a", 1), 1000)
    assert stops == [
        ("q1", IN, [("a", 1)]),
        ("q1", OUT, [("a", 1)]),
        ("q2", IN, [("a", 1)]),
        ("q2", OUT, [("a", 1)]),
        ("kept", IN, [("a", 1)]),
        ("kept", OUT, [("a", 1, 1)]),
        ("join", IN, [("a", 1)]),
        ("pattern", IN, [("a", 1)]),
    ]
    assert rows == [("a", 1)]


def test_play_continues_to_the_next_break_point(app):
    debugger = app.debug()
    stops = stops_of(debugger, go_on="play")
    debugger.acquire_break_point("q1", "IN")
    debugger.acquire_break_point("q2", "OUT")
    app.input_handler("S").send(("a", 1), 1000)
    assert [stop[:2] for stop in stops] == [("q1", IN), ("q2", OUT)]
    debugger.release_break_point("q1", "IN")
    app.input_handler("S").send(("a", 2), 1001)
    assert stops[2:] == [("q2", OUT, [("a", 3)])]
    debugger.release_all_break_points()
    app.input_handler("S").send(("a", 3), 1002)
    assert len(stops) == 3


def test_in_is_before_the_filter_and_out_after_query_callbacks(app):
    debugger = app.debug()
    order = []
    debugger.acquire_break_point("q1", IN)
    debugger.acquire_break_point("q1", OUT)

    def stop(events, query, terminal, debugger):
        order.append(terminal)
        debugger.play()

    debugger.set_debugger_callback(stop)
    app.add_query_callback("q1", lambda *chunk: order.append("query callback"))
    app.add_callback("M", lambda events: order.append("stream"))
    app.input_handler("S").send(("a", 0), 1000)
    assert order == [IN]
    app.input_handler("S").send(("a", 1), 1001)
    assert order[1:] == [IN, "query callback", OUT, "stream"]


def test_a_chunk_is_shown_as_a_whole(app):
    debugger = app.debug()
    stops = stops_of(debugger, go_on="play")
    debugger.acquire_break_point("q1", IN)
    app.input_handler("S").send_events([Event(1000, ("a", 1)), Event(1001, ("b", 2))])
    assert stops == [("q1", IN, [("a", 1), ("b", 2)])]


def test_the_sender_waits_until_another_thread_resumes_it(app):
    debugger = app.debug()
    kept = collect(app, "Kept")
    stopped = threading.Event()
    debugger.set_debugger_callback(lambda *stop: stopped.set())
    debugger.acquire_break_point("kept", OUT)
    sender = threading.Thread(target=lambda: app.input_handler("S").send(("a", 5), 1000))
    sender.start()
    assert stopped.wait(30)
    # The app stands still, and what its queries hold can be seen all the same.
    state = debugger.query_state("kept")
    assert [item for item in state["window"] if isinstance(item, list)] == [[Event(1000, ("a", 5))]]
    assert debugger.query_state("q1") != {}
    assert kept == []
    debugger.play()
    sender.join(30)
    assert not sender.is_alive()
    assert kept == [("a", 5, 5)]


def test_the_state_of_a_query_can_be_read(app):
    debugger = app.debug()
    for number in range(4):
        app.input_handler("S").send(("ab"[number % 2], number + 1), 1000 + number)
    state = debugger.query_state("kept")
    assert set(state) == {"window", "selector"}
    assert [event.data for event in state["window"][2]] == [("b", 2), ("a", 3), ("b", 4)]
    assert "a" in state["selector"]
    assert any(isinstance(item, tuple) and 6 in item for item in state["selector"])  # the sum of b
    assert set(debugger.query_state("pattern")) == {"pattern"}
    assert debugger.query_state("q2") == {}


def test_the_state_of_a_query_in_a_partition_is_that_of_all_keys():
    app = """@app:playback define stream S (k string, v int);
    partition with (k of S) begin
        @info(name = 'last') from S#window.length(2) select k, v insert into O;
        from S select k, sum(v) as total insert into P;
    end;"""
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        debugger = runtime.debug()
        for number, key in enumerate("abab"):
            runtime.input_handler("S").send((key, number), 1000 + number)
        state = debugger.query_state("partition_0/last")
        assert set(state) == {"keys", "window"}
        assert [key for key in state["keys"] if isinstance(key, str)] == ["a", "b"]
        held = [item for item in state["window"] if isinstance(item, list)]
        assert [[event.data for event in events] for events in held] == [[("a", 0), ("a", 2)], [("b", 1), ("b", 3)]]
        other = next(name for name in debugger._state_paths if "/" in name and name != "partition_0/last")
        assert set(debugger.query_state(other)) == {"keys", "selector"}
        with pytest.raises(DefinitionNotExistError, match="did you mean 'partition_0/last'"):
            debugger.query_state("partition_0/lost")


def test_the_state_can_be_read_inside_the_callback(app):
    debugger = app.debug()
    seen = []

    def stop(events, query, terminal, debugger):
        seen.append(debugger.query_state("kept")["window"][2])
        debugger.play()

    debugger.set_debugger_callback(stop)
    debugger.acquire_break_point("q1", IN)
    for number in (1, 2):
        app.input_handler("S").send(("a", number), 1000)
    assert seen == [[], [Event(1000, ("a", 1))]]


def test_a_shutdown_resumes_the_sender(app):
    debugger = app.debug()
    stopped = threading.Event()
    debugger.set_debugger_callback(lambda *stop: stopped.set())
    debugger.acquire_break_point("q1", IN)
    sender = threading.Thread(target=lambda: app.input_handler("S").send(("a", 5), 1000))
    sender.start()
    assert stopped.wait(30)
    app.shutdown()
    sender.join(30)
    assert not sender.is_alive()


def test_the_debugger_stays_attached_after_a_restart(app):
    debugger = app.debug()
    rows = []
    app.add_query_callback("q1", lambda timestamp, current, expired: rows.append(len(rows)))
    stops = stops_of(debugger, go_on="play")
    debugger.acquire_break_point("q1", OUT)
    app.input_handler("S").send(("a", 1), 1000)
    app.shutdown()
    assert app.debug() is debugger  # starts it
    seen = []
    debugger.set_debugger_callback(
        lambda *stop: (seen.append((len(rows), debugger.query_state("kept")["window"][2])), debugger.play())
    )
    app.input_handler("S").send(("a", 2), 500)
    assert stops == [("q1", OUT, [("a", 1)])]
    assert seen == [(2, [])]  # behind the query's callbacks; and nothing is held of what was before


@pytest.mark.parametrize("goes_on_itself", [True, False])
def test_a_failing_callback_is_reported_and_the_event_continues(app, goes_on_itself):
    debugger = app.debug()
    failures = []
    app.handle_exception_with(lambda error, origin, events: failures.append((str(error), origin)))

    def stop(events, query, terminal, debugger):
        if goes_on_itself:
            debugger.play()
        raise ValueError("no")

    debugger.set_debugger_callback(stop)
    debugger.acquire_break_point("q1", IN)
    rows = collect(app, "Out")
    app.input_handler("S").send(("a", 5), 1000)
    assert failures == [("no", "debugger callback")]
    assert rows == [("a", 5)]


def test_joins_and_patterns_have_a_break_point_for_each_stream(app):
    debugger = app.debug()
    stops = stops_of(debugger, go_on="play")
    for query in ("join", "pattern"):
        for terminal in (IN, OUT):
            debugger.acquire_break_point(query, terminal)
    app.input_handler("S").send(("a", 1), 1000)
    app.input_handler("T").send(("a", 2), 1001)
    assert stops == [
        ("join", IN, [("a", 1)]),
        ("pattern", IN, [("a", 1)]),
        ("join", IN, [("a", 2)]),
        ("join", OUT, [("a",)]),
        ("pattern", IN, [("a", 2)]),
        ("pattern", OUT, [(1,)]),
    ]


@pytest.mark.parametrize(("query", "why"), [("q3", "does not exist"), ("inner", "is inside a partition")])
def test_unsupported_break_points_are_refused_by_name(app, query, why):
    debugger = app.debug()
    for act in (debugger.acquire_break_point, debugger.release_break_point):
        with pytest.raises(DefinitionNotExistError, match=f"query '{query}' of app 'A' {why}"):
            act(query, "IN")
    with pytest.raises(DefinitionNotExistError, match=f"query '{query}' of app 'A' does not exist"):
        debugger.query_state(query)
    with pytest.raises(ValueError, match="SIDEWAYS"):
        debugger.acquire_break_point("q1", "SIDEWAYS")


def test_a_running_app_can_be_debugged_and_batches_are_processed_by_row(app):
    pyarrow = pytest.importorskip("pyarrow")
    app.start()
    app.input_handler("S").send(("a", 1), 1000)
    debugger = app.debug()
    stops = stops_of(debugger, go_on="play")
    debugger.acquire_break_point("q1", IN)
    table = pyarrow.table({"k": ["a", "b"], "v": pyarrow.array([2, 3], pyarrow.int32()), "at": [1001, 1002]})
    app.input_handler("S").send_batch(table, timestamp="at")
    assert [stop[2] for stop in stops] == [[("a", 2)], [("b", 3)]]


@pytest.mark.parametrize("query", ["inner", "partition_0/inner"])
def test_no_other_name_is_suggested_for_a_query_in_a_partition(app, query):
    debugger = app.debug()
    with pytest.raises(DefinitionNotExistError, match=r"is inside a partition: it can't have break points$"):
        debugger.acquire_break_point(query, "IN")
    if "/" in query:
        assert "keys" in debugger.query_state(query)


def test_replaced_events_are_seen_by_this_query_only(app):
    debugger = app.debug()
    debugger.acquire_break_point("q1", IN)
    sums, kept = collect(app, "Out"), collect(app, "Kept")

    def stop(events, query, terminal, debugger):
        debugger.replace_events([(event["k"], event["v"] * 10) for event in events])
        debugger.play()

    debugger.set_debugger_callback(stop)
    app.input_handler("S").send(("a", 1), 1000)
    assert (sums, kept) == ([("a", 10)], [("a", 1, 1)])


def test_replaced_events_of_an_output_go_to_its_stream_not_to_callbacks(app):
    debugger = app.debug()
    debugger.acquire_break_point("q1", OUT)
    rows, seen = collect(app, "Out"), []
    app.add_query_callback("q1", lambda timestamp, current, expired: seen.extend(current))

    def stop(events, query, terminal, debugger):
        debugger.replace_events([("b", 5)])
        debugger.replace_events([{"k": "c", "total": 6}])  # the last call counts
        debugger.play()

    debugger.set_debugger_callback(stop)
    app.input_handler("S").send(("a", 1), 1000)
    assert rows == [("c", 6)]
    assert [event.data for event in seen] == [("a", 1)]


def test_events_can_be_replaced_by_the_thread_that_resumes(app):
    debugger = app.debug()
    debugger.acquire_break_point("q1", IN)
    rows, stopped = collect(app, "Out"), threading.Event()
    debugger.set_debugger_callback(lambda *_: stopped.set())
    sender = threading.Thread(target=app.input_handler("S").send, args=(("a", 1), 1000))
    sender.start()
    assert stopped.wait(10)
    debugger.replace_events([("a", 7)])
    debugger.play()
    sender.join(10)
    assert rows == [("a", 7)]


def test_rows_that_can_not_replace_events_are_refused(app):
    debugger = app.debug()
    with pytest.raises(EventError, match="no query is stopped at a break point"):
        debugger.replace_events([("a", 1)])
    debugger.acquire_break_point("q1", IN)
    rows, errors = collect(app, "Out"), []
    app.handle_exception_with(lambda error, *_: errors.append(str(error)))

    def stop(events, query, terminal, debugger):
        debugger.play()
        with pytest.raises(EventError, match="1 events are stopped: they can't be replaced by 2"):
            debugger.replace_events([("a", 1), ("b", 2)])
        debugger.replace_events([("a", "one")])

    debugger.set_debugger_callback(stop)
    app.input_handler("S").send(("a", 1), 1000)
    assert rows == [("a", 1)]
    assert len(errors) == 1
    assert "'v'" in errors[0]
