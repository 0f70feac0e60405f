"""expression and expressionBatch: conditions from events, failures, state shared by keys."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from tests.kit.running import collect, collect_events, running

DYNAMIC = "@app:playback define stream S (v int, bound string);"


def test_a_changed_condition_is_applied_to_the_window():
    with running(f"{DYNAMIC} from S#window.expression(bound) select v insert expired events into Out;") as runtime:
        left = collect_events(runtime, "Out")
        send = runtime.input_handler("S").send
        for value in (1, 2, 3):
            send((value, "count() <= 5"), value)
        assert left == []
        send((4, "count() <= 2"), 4)
        assert [[event["v"] for event in chunk] for chunk in left] == [[1, 2]]


@pytest.mark.parametrize("text", ["count() <=", "v", "unknown > 2", None])
@pytest.mark.parametrize("window", ["expression", "expressionBatch"])
def test_an_event_with_an_invalid_condition_fails_alone(window, text):
    with running(f"{DYNAMIC} from S#window.{window}(bound) select v insert all events into Out;") as runtime:
        failures = []
        runtime.handle_exception_with(lambda error, *_: failures.append(error))
        out = collect(runtime, "Out")
        send = runtime.input_handler("S").send
        send((1, "count() <= 1"), 1)
        send((2, text), 2)
        assert [type(error) for error in failures] == [ValueError if text is None else failures[0].__class__]
        assert text is None or isinstance(failures[0], SiddhiAppError)
        send((3, "count() <= 1"), 3)
        assert (1,) in out


def test_a_streamed_event_is_emitted_once_if_its_condition_changes():
    app = f"{DYNAMIC} from S#window.expressionBatch(bound, false, true) select v insert all events into Out;"
    with running(app) as runtime:
        calls = []
        runtime.add_query_callback(
            "query_1", lambda _, *sides: calls.append([[e["v"] for e in s or []] for s in sides])
        )
        send = runtime.input_handler("S").send
        for value, bound in ((1, "count() <= 9"), (2, "count() <= 9"), (3, "count() <= 0"), (4, "count() <= 9")):
            send((value, bound), value)
        passed = [value for current, _ in calls for value in current]
        left = [value for _, expired in calls for value in expired]
        assert passed == [1, 2, 3, 4]
        assert left == [1, 2, 3]


def test_the_first_event_can_be_compared_with_the_current_one():
    app = (
        "@app:playback define stream S (v int); from S#window.expression('{}') select v insert expired events into Out;"
    )
    for condition, left in (
        ("last.v == first.v", [(1,), (1,), (2,)]),
        ("not (first.v == 1 and last.v == 3)", [(1,), (1,)]),
        ("count() <= 2 and last.v > 0", [(1,), (1,)]),
        ("first.v is null", [(1,), (1,), (2,), (3,)]),
    ):
        with running(app.format(condition)) as runtime:
            out = collect(runtime, "Out")
            for time, value in enumerate((1, 1, 2, 3)):
                runtime.input_handler("S").send((value,), time + 1)
            assert out == left, condition


def test_script_functions_are_allowed():
    app = """@app:playback define function twice[python] return int { return data[0] * 2 };
    define stream S (v int); define window W (v int) expression('twice(first.v) == 2 or count() <= 1');
    from S#window.expression('twice(first.v) == 2 or count() <= 1') select v insert expired events into Out;
    from S select v insert into W;"""
    with running(app) as runtime:
        out = collect(runtime, "Out")
        for time, value in enumerate((1, 5, 6, 1)):
            runtime.input_handler("S").send((value,), time + 1)
        assert out == []
        assert [event["v"] for event in runtime.query("from W select v")] == [1, 5, 6, 1]


def test_partition_keys_share_the_aggregates_of_a_condition():
    app = """@app:playback define stream S (k string, v int); partition with (k of S) begin
    from S#window.expression('count() <= 2') select k, v insert expired events into Out; end;"""
    with running(app) as runtime:
        out = collect(runtime, "Out")
        for time, key in enumerate("AABA"):
            runtime.input_handler("S").send((key, time), time + 1)
        assert out == [("B", 2), ("A", 0)]


def test_a_batch_has_the_time_of_its_release():
    app = (
        "@app:playback define stream S (v int); from S#window.expressionBatch('count() <= 2') select v insert into Out;"
    )
    with running(app) as runtime:
        chunks = collect_events(runtime, "Out")
        for time in (10, 20, 30):
            runtime.input_handler("S").send((time,), time)
        assert [[(event["v"], event.timestamp) for event in chunk] for chunk in chunks] == [[(10, 30), (20, 30)]]


def two_sided(app, sends):
    """What a query callback gets for events that come a ms apart: current and expired values per call."""
    with running(app) as runtime:
        calls = []
        runtime.add_query_callback(
            "query_1", lambda _, *sides: calls.append(tuple([event.data[0] for event in side or []] for side in sides))
        )
        send = runtime.input_handler("S").send
        for time, row in enumerate(sends, start=1):
            send(row, time)
        return calls


def test_a_failed_event_of_an_empty_window_is_its_own_batch():
    app = (
        "@app:playback define stream S (v int);"
        "from S#window.expressionBatch('v < 5', true{}) select v insert all events into Out;"
    )
    rows = [(1,), (7,), (8,), (2,)]
    assert two_sided(app.format(""), rows) == [([1, 7], []), ([8], [1, 7, 8])]
    assert two_sided(app.format(", true"), rows) == [([1], []), ([7], [1, 7]), ([8], [8]), ([2], [])]


def test_an_aggregate_adds_and_removes_a_failed_event_of_an_empty_window():
    app = (
        "@app:playback define stream S (v int);"
        "from S#window.expressionBatch('v < 5', true, true) select count() as n insert all events into Out;"
    )
    assert two_sided(app, [(1,), (7,), (8,), (2,)]) == [([1], []), ([], [0]), ([0], []), ([1], [])]


def test_events_of_a_changed_condition_expire_with_the_new_event():
    app = f"{DYNAMIC} from S#window.expressionBatch(bound, false, true) select v insert all events into Out;"
    rows = [(1, "count() <= 9"), (2, "count() <= 9"), (3, "count() <= 1"), (4, "count() <= 1")]
    assert two_sided(app, rows) == [([1], []), ([2], []), ([3], [1, 2]), ([4], [3])]


def test_events_of_a_changed_condition_expire_if_the_new_event_fails():
    app = (
        "@app:playback define stream S (v int, bound string);"
        "define function brittle[python] return bool { return 12 / data[0] > 0 };"
        "from S#window.expressionBatch(bound, false, true) select v insert all events into Out;"
    )
    with running(app) as runtime:
        failures, calls = [], []
        runtime.handle_exception_with(lambda error, *_: failures.append(type(error)))
        runtime.add_query_callback(
            "query_1", lambda _, *sides: calls.append([[e.data[0] for e in s or []] for s in sides])
        )
        send = runtime.input_handler("S").send
        for time, row in enumerate([(1, "count() <= 9"), (2, "count() <= 9"), (0, "count() <= 1 and brittle(v)")], 1):
            send(row, time)
        assert calls == [[[1], []], [[2], []], [[], [1]]]
        assert len(failures) == 1
