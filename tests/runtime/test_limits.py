"""@limit of group-by keys and distinct values: refused and dropped ones, and messages."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from siddhi import Event, SandboxPolicy, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import LimitExceededError, SiddhiAppCreationError
from tests.kit.limits import ROWS, STREAM, run
from tests.kit.running import collect, running


def app(limit: str, window: str = "", select: str = "k, sum(v) as total", more: str = "group by k") -> str:
    return f"{STREAM}@info(name = 'q') @limit({limit}) from S{window} select {select} {more} insert into Out;"


def test_a_row_with_a_key_beyond_the_limit_fails_and_changes_nothing() -> None:
    out, failed = run(app("keys = '2'"), ROWS)
    assert out == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert failed == [("c", 1), ("c", 1)]


def test_only_the_refused_rows_of_a_chunk_fail() -> None:
    out, failed = run(app("keys = '2'"), ROWS, chunk=True)
    assert out == [("a", 2), ("b", 2)]
    assert failed == [("c", 1), ("c", 1)]


def test_the_error_says_which_limit_and_which_key() -> None:
    with running(app("keys = '1'")) as runtime:
        failed = collect(runtime, "!S")
        for row in ROWS[:2]:
            runtime.input_handler("S").send(row)
    assert str(failed[0][-1]) == (
        "query 'q' holds 1 group-by keys, and @limit(keys = '1') allows no more: the row of key 'b' was refused; "
        "raise the limit, or drop keys with ttl or on.full = 'drop_oldest'"
    )


def test_with_log_a_row_beyond_the_limit_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "siddhi"):
        out, failed = run(app("keys = '2', on.full = 'log'"), ROWS * 50)
    assert failed == []
    assert [row for row in out if row[0] == "c"] == []
    said = [record.getMessage() for record in caplog.records if "refused so far" in record.getMessage()]
    assert 0 < len(said) < 10, "ever more rarely"


def test_the_least_recently_used_key_is_dropped() -> None:
    out, failed = run(app("keys = '2', on.full = 'drop_oldest'"), ROWS)
    assert out == [("a", 1), ("b", 1), ("c", 1), ("a", 1), ("c", 2), ("b", 1)]
    assert failed == []


def test_a_key_expires_after_its_ttl() -> None:
    rows = [(1, "a"), (2, "b"), (4, "a"), (9, "b"), (9, "a"), (13, "a"), (14, "b")]
    with running(app("ttl = '5 milliseconds'")) as runtime:
        out = collect(runtime, "Out")
        for time, key in rows:
            runtime.input_handler("S").send((key, 1), timestamp=time)
    assert out == [("a", 1), ("b", 1), ("a", 2), ("b", 1), ("a", 1), ("a", 2), ("b", 1)]


def test_a_refused_row_is_not_removed_when_it_expires() -> None:
    # c is rejected while a and b are in the window, and accepted after b has left. The rejected c leaves after b.
    rows = [("a", 1), ("b", 1), ("c", 5), ("a", 1), ("a", 1), ("c", 1), ("c", 1)]
    out, failed = run(app("keys = '2'", "#window.length(4)"), rows)
    assert failed == [("c", 5)]
    assert out == [("a", 1), ("b", 1), ("a", 2), ("a", 2), ("c", 1), ("c", 2)]


def test_a_key_without_rows_after_the_current_one_is_dropped() -> None:
    out, failed = run(app("keys = '1'", "#window.length(1)"), [("a", 1), ("b", 1), ("a", 1), ("c", 1)])
    assert failed == []
    assert out == [("a", 1), ("b", 1), ("a", 1), ("c", 1)]


def test_a_key_with_rows_in_a_window_is_never_dropped() -> None:
    text = app("keys = '2', on.full = 'drop_oldest'", "#window.length(9)")
    out, failed = run(text, ROWS)
    assert out == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert failed == [("c", 1), ("c", 1)]
    with running(text) as runtime:
        errors = collect(runtime, "!S")
        for row in ROWS[:3]:
            runtime.input_handler("S").send(row)
    assert str(errors[0][-1]).endswith(
        "raise the limit: every key is in use, by rows in a window or by events being processed, so that none can be dropped"
    )


def test_keys_of_a_batch_up_to_the_limit_are_emitted(caplog: pytest.LogCaptureFixture) -> None:
    out, failed = run(app("keys = '2'", "#window.lengthBatch(3)"), ROWS)
    assert out == [("a", 1), ("b", 1), ("a", 1), ("c", 1)]
    assert failed == []
    assert len([record for record in caplog.records if record.exc_info]) == 2, (
        "the app's exception handler gets the error"
    )


@pytest.mark.parametrize("chunk", [False, True])
@pytest.mark.parametrize("window", ["lengthBatch(10, true)", "timeBatch(10 sec, 0, true)", "timeBatch(10 sec, true)"])
def test_a_batch_that_streams_its_rows_buffers_none(window: str, chunk: bool) -> None:
    out, failed = run(app("keys = '2'", f"#window.{window}"), ROWS, chunk=chunk)
    assert [row for row in out if row[1] == 2] == [("a", 2), ("b", 2)]
    assert failed == [("c", 1), ("c", 1)]


def test_keys_of_a_cron_batch_are_limited() -> None:
    text = app("keys = '1', on.full = 'log'", "#window.cron('* * * * * ?')", "k, maxForever(v) as top")
    with running(text.replace("insert into", "insert all events into")) as runtime:
        rows = collect(runtime, "Out")
        for time, row in ((100, ("a", 1)), (200, ("b", 5)), (1_100, ("a", 2)), (3_500, ("a", 3))):
            runtime.input_handler("S").send(row, timestamp=time)
    assert rows == [("a", 1), ("a", 2)]


def test_keys_without_rows_expire_by_ttl() -> None:
    text = app("ttl = '3 milliseconds'", "#window.length(1)", "k, maxForever(v) as most")
    out, _ = run(text, [("a", 9), ("b", 1), ("b", 1), ("b", 1), ("a", 1), ("b", 0), ("a", 2)])
    # The row of a leaves at 2, so its key ends at 5; that of b leaves at 5 and is back at 6.
    assert out == [("a", 9), ("b", 1), ("b", 1), ("b", 1), ("a", 1), ("b", 1), ("a", 2)]


def test_values_of_a_distinct_count_are_limited_per_group() -> None:
    text = app("values = '2'", select="k, distinctCount(v) as n")
    out, failed = run(text, [("a", 1), ("a", 2), ("a", 3), ("b", 3), ("a", 1), ("a", 4)])
    assert out == [("a", 1), ("a", 2), ("b", 1), ("a", 2)]
    assert failed == [("a", 3), ("a", 4)]


def test_values_are_limited_without_group_by() -> None:
    out, failed = run(
        app("values = '2'", select="distinctCount(v) as n, count() as rows", more=""), [("a", n % 3) for n in range(6)]
    )
    assert out == [(1, 1), (2, 2), (2, 3), (2, 4)]
    assert failed == [("a", 2), ("a", 2)]


def test_the_elements_of_a_union_are_limited() -> None:
    text = (
        "@app:name('A') @app:playback @OnError(action = 'stream') define stream S (k string, v int);"
        "from S select createSet(v) as one insert into Sets;"
        "@limit(values = '2', on.full = 'log') from Sets select sizeOfSet(unionSet(one)) as n insert into Out;"
    )
    out, _ = run(text, [("a", n % 3) for n in range(6)])
    assert out == [(1,), (2,), (2,), (2,)]


def test_one_warning_at_four_fifths(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "siddhi"), running(app("keys = '10'")) as runtime:
        for key in "abcdefg":
            runtime.input_handler("S").send((key, 1))
        assert caplog.messages == []
        for key in "hijab":
            runtime.input_handler("S").send((key, 1))
    assert caplog.messages == ["app 'A', query 'q': holds 8 group-by keys; @limit(keys = '10') allows 10"]


def send(runtime: SiddhiAppRuntime, rows: list[tuple[int, str]]) -> None:
    for time, key in rows:
        runtime.input_handler("S").send((key, 1), timestamp=time)


def test_a_snapshot_contains_the_ages_of_keys() -> None:
    rows = [(1, "a"), (2, "b"), (3, "a"), (4, "c")]
    text = app("keys = '3', ttl = '10 milliseconds', on.full = 'drop_oldest'")
    with running(text) as first, running(text) as second:
        send(first, rows)
        out = collect(first, "Out"), collect(second, "Out")
        second.restore(first.snapshot())
        for runtime in (first, second):
            send(runtime, [(5, "d"), (6, "b"), (13, "a"), (14, "b"), (14, "d")])
    assert out[0] == out[1]


def test_a_limit_can_be_changed_between_snapshot_and_restore() -> None:
    plain = app("keys = '9'").replace("@limit(keys = '9')", "")
    with running(plain) as unlimited, running(app("keys = '2'")) as limited, running(plain) as again:
        send(unlimited, [(1, "a"), (2, "b"), (3, "c")])
        limited.restore(unlimited.snapshot())
        out, failed = collect(limited, "Out"), collect(limited, "!S")
        send(limited, [(4, "c"), (5, "d")])
        assert (out, [row[0] for row in failed]) == ([("c", 2)], ["d"])
        again.restore(limited.snapshot())
        out = collect(again, "Out")
        send(again, [(6, "c"), (7, "d")])
        assert out == [("c", 3), ("d", 1)]


def test_a_restored_window_keeps_which_rows_were_refused() -> None:
    text = app("keys = '1'", "#window.length(3)", "k, count() as n, maxForever(v) as most")
    with running(text) as first, running(text) as second:
        send(first, [(1, "a"), (2, "b")])
        second.restore(first.snapshot())
        out, failed = collect(second, "Out"), collect(second, "!S")
        # The refused b leaves with the fifth row; had it been taken away, its key would have come to be.
        send(second, [(3, "a"), (4, "a"), (5, "a"), (6, "b")])
    assert out == [("a", 2, 1), ("a", 2, 1), ("a", 3, 1)]
    assert [row[0] for row in failed] == ["b"]


def test_limits_apply_to_all_keys_of_a_partition_together() -> None:
    text = (
        f"{STREAM}partition with (k of S) begin @limit(keys = '3') "
        "from S select k, v, count() as n group by v insert into Out; end;"
    )
    out, failed = run(text, [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("a", 1), ("b", 1)])
    assert out == [("a", 1, 1), ("a", 2, 1), ("b", 1, 1), ("a", 1, 2), ("b", 1, 2)]
    assert failed == [("b", 2)]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("output first every 2 events", [("a", 1), ("b", 1), ("c", 1), ("a", 1), ("c", 3), ("b", 1)]),
    ],
)
def test_a_dropped_key_is_removed_from_the_output_rate(rate: str, expected: list[Any]) -> None:
    text = app("keys = '2', on.full = 'drop_oldest'", more=f"group by k {rate}")
    # c is counted twice in between, and emitted with its third row.
    out, _ = run(text, [("a", 1), ("b", 1), ("c", 1), ("a", 1), ("c", 1), ("c", 1), ("b", 1)])
    assert out == expected


def test_a_snapshot_rate_shows_no_dropped_keys() -> None:
    text = app("keys = '2', on.full = 'drop_oldest'", more="group by k output snapshot every 10 milliseconds")
    with running(text) as runtime:
        out = collect(runtime, "Out")
        send(runtime, [(1, "a"), (2, "b"), (3, "c"), (20, "c")])
    assert out == [("b", 1), ("c", 1)]


def test_later_queries_get_skipped_rows_and_not_failed_ones() -> None:
    seen = {}
    for on_full in ("error", "log"):
        with running(app(f"keys = '1', on.full = '{on_full}'") + "from S select k insert into All;") as runtime:
            rows = collect(runtime, "All")
            for row in ROWS[:3]:
                runtime.input_handler("S").send(row)
        seen[on_full] = [key for (key,) in rows]
    assert seen == {"error": ["a"], "log": ["a", "b", "c"]}


def test_the_limit_of_a_policy_is_named_in_the_error() -> None:
    errors: list[Exception] = []
    manager = SiddhiManager(policy=SandboxPolicy(max_keys=1))
    text = "define stream S (k string); @info(name = 'q') from S select k, count() as n group by k insert into Out;"
    with running(text, manager=manager) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: errors.append(error))
        for key in "ab":
            runtime.input_handler("S").send((key,))
    assert "query 'q' holds 1 group-by keys, and SandboxPolicy(max_keys=1) allows no more" in str(errors[0])


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (SandboxPolicy(max_keys=0), "from S select k, count() as n group by k insert into Out;"),
        (SandboxPolicy(max_keys=0), "from S#window.length(3) select k, maxForever(v) as m group by k insert into Out;"),
        (SandboxPolicy(max_keys=0), "from S select distinctCount(k) as n insert into Out;"),
        (SandboxPolicy(max_keys=0), "from S select sizeOfSet(unionSet(createSet(k))) as n insert into Out;"),
        (SandboxPolicy(max_keys=0), "partition with (k of S) begin from S select k insert into Out; end;"),
        (SandboxPolicy(max_events=0), "from every e1=S -> e2=S[v == e1.v] select e1.k as k insert into Out;"),
        (SandboxPolicy(max_rows=0), "define table T (k string, v int); from S insert into T;"),
    ],
)
@pytest.mark.parametrize("drops", [False, True])
def test_a_limit_of_zero_refuses_everything(policy: SandboxPolicy, text: str, drops: bool) -> None:
    other = "table.rows" if policy.max_rows else "keys"
    app = f"@app:limits({other} = '5', on.full = 'drop_oldest') " if drops else ""
    errors: list[type[BaseException]] = []
    with SiddhiManager(policy=policy) as manager:
        runtime = manager.create_siddhi_app_runtime(f"{app}define stream S (k string, v int); {text}")
        runtime.handle_exception_with(lambda error, origin, events: errors.append(type(error)))
        runtime.enable_statistics()
        runtime.start()
        for row in ROWS:
            runtime.input_handler("S").send(row)
        assert errors == [LimitExceededError] * len(ROWS)
        limited = [(state.limit, state.refused) for state in runtime.statistics.state.values()]
    assert limited.count((0, len(ROWS))) == 1


@pytest.mark.parametrize("into", ["insert into T", "update or insert into T set T.v = v on T.k == k"])
@pytest.mark.parametrize("key", ["", "@primaryKey('k') "])
@pytest.mark.parametrize("chunk", [False, True])
def test_only_rows_without_room_in_a_table_fail(into: str, key: str, chunk: bool) -> None:
    table = f"@limit(rows = '2') {key}define table T (k string, v int);"
    with running(f"{STREAM}{table} from S[v > 0] select k, v {into};") as runtime:
        failed = collect(runtime, "!S")
        events = [
            Event(time, row) for time, row in enumerate([("n", 0), ("a", 1), ("b", 2), ("c", 3), ("n", 0), ("d", 4)])
        ]
        if chunk:
            runtime.input_handler("S").send_events(events)
        else:
            for event in events:
                runtime.input_handler("S").send(event)
        rows = [event.data for event in runtime.query("from T select k, v")]
    assert rows == [("a", 1), ("b", 2)]
    assert [row[:-1] for row in failed] == [("c", 3), ("d", 4)]


def test_a_callback_that_sends_during_a_chunk_has_its_own_refusals() -> None:
    table = "@limit(rows = '1') define table T (k string, v int);"
    with running(f"{STREAM}{table} @info(name = 'q') from S select k, v insert into T;") as runtime:
        failed, sent = collect(runtime, "!S"), []

        def send_once(time: int, current: list[Event] | None, expired: list[Event] | None) -> None:
            if not sent:
                sent.append(True)
                runtime.input_handler("S").send(("x", 0))

        runtime.add_query_callback("q", send_once)
        runtime.input_handler("S").send_events([Event(1, ("a", 1)), Event(1, ("b", 2))])
        rows = [event.data for event in runtime.query("from T select k, v")]
    assert rows == [("x", 0)]
    assert [row[:-1] for row in failed] == [("a", 1), ("b", 2)]


def test_on_full_without_keys_or_values_is_refused() -> None:
    limit = "@limit(ttl = '1 sec', on.full = 'log')"
    app = f"define stream S (k string);\n{limit}\nfrom S select k, count() as n group by k insert into O;"
    with pytest.raises(SiddhiAppCreationError, match=r"'on.full' of @limit has no effect") as caught:
        SiddhiManager().create_siddhi_app_runtime(app)
    assert caught.value.line == 2
    assert "keys = " in str(caught.value)
    SiddhiManager().create_siddhi_app_runtime("@app:limits(keys = '5')\n" + app)
