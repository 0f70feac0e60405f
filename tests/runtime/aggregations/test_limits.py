"""@limit of the rows of an aggregation: groups in buckets, of all bucket lengths together."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SandboxPolicy, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import LimitExceededError, SiddhiAppCreationError
from siddhi.runtime.metrics.state import StateStatistics
from tests.kit.running import collect, running

STREAM = "@app:playback @OnError(action = 'stream') define stream S (k string, v int, at long);\n"
DAY = 86_400_000
START = 1_600_000_000_000


def app(
    limit: str, *, every: str = "sec...min", by: str = "", more: str = "@purge(enable = 'false')", head: str = ""
) -> str:
    return (
        f"{head}{STREAM}{limit} {more} define aggregation A from S select k, sum(v) as total, count() as n group by k "
        f"aggregate {by} every {every};"
    )


def send(runtime: SiddhiAppRuntime, rows: list[tuple[int, str, int]]) -> None:
    for time, key, value in rows:
        runtime.input_handler("S").send((key, value, START + time), START + time)


def rows(runtime: SiddhiAppRuntime, per: str) -> list[tuple[Any, ...]]:
    found = runtime.query(f"from A within 0L, {START + 4000 * DAY}L per '{per}' select AGG_TIMESTAMP, k, total, n")
    return sorted((event[0] - START, *event[1:]) for event in found)


def state(runtime: SiddhiAppRuntime) -> StateStatistics:
    runtime.enable_statistics("basic")
    return runtime.statistics.state["Aggregations", "A", "keys"]


def held(runtime: SiddhiAppRuntime) -> int:
    return state(runtime).held


def test_an_event_of_a_group_beyond_the_limit_fails_and_changes_nothing() -> None:
    with running(app("@limit(keys = '4')")) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(0, "a", 1), (1, "b", 2), (2, "c", 4), (3, "a", 8)])
        assert rows(runtime, "seconds") == [(0, "a", 9, 2), (0, "b", 2, 1)]
        # Two rows of the second, and two of the minute to come: 4.
        assert [row[0] for row in failed] == ["c"]
        assert isinstance(failed[0][-1], LimitExceededError)
        assert str(failed[0][-1]) == (
            "aggregation 'A' has no room for another group or bucket, and @limit(keys = '4') allows no more: the row of key 'c' was "
            "refused; raise the limit, delete old rows with @purge, or drop them with on.full = 'drop_oldest'"
        )


def test_only_the_refused_events_of_a_chunk_fail() -> None:
    with running(app("@limit(keys = '4')")) as runtime:
        failed = collect(runtime, "!S")
        events = [Event(START, (key, 1, START)) for key in "abcada"]
        runtime.input_handler("S").send_events(events)
        assert rows(runtime, "seconds") == [(0, "a", 3, 3), (0, "b", 1, 1)]
        assert [row[0] for row in failed] == ["c", "d"]


def test_only_the_refused_rows_of_a_batch_fail() -> None:
    with running(app("@limit(keys = '4')")) as runtime:
        failed = collect(runtime, "!S")
        runtime.input_handler("S").send_batch(
            {"k": list("abcada"), "v": [1] * 6, "at": [START] * 6}, timestamp=[START] * 6
        )
        assert rows(runtime, "seconds") == [(0, "a", 3, 3), (0, "b", 1, 1)]
        assert [row[0] for row in failed] == ["c", "d"]


def test_a_new_bucket_needs_room_and_the_coarser_row_is_shared() -> None:
    with running(app("@limit(keys = '4')")) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(0, "a", 1), (1_000, "a", 2), (2_000, "a", 4), (3_000, "a", 8), (60_000, "a", 16)])
        # Three rows of seconds and one of the minute; the fourth second has no room, nor has the next minute.
        assert [row[1] for row in failed] == [8, 16]
        assert rows(runtime, "seconds") == [(0, "a", 1, 1), (1_000, "a", 2, 1), (2_000, "a", 4, 1)]
        assert rows(runtime, "minutes") == [(-40_000, "a", 7, 3)]
        assert held(runtime) == 4


def test_with_log_an_event_beyond_the_limit_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "siddhi"), running(app("@limit(keys = '2', on.full = 'log')")) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(n, "abc"[n % 3], 1) for n in range(300)])
        assert failed == []
        assert rows(runtime, "seconds") == [(0, "a", 100, 100)]
        assert state(runtime).refused == 200
    said = [record.getMessage() for record in caplog.records if "refused so far" in record.getMessage()]
    assert 0 < len(said) < 10, "ever more rarely"


def test_with_drop_oldest_the_oldest_finest_rows_make_room() -> None:
    with running(app("@limit(keys = '3', on.full = 'drop_oldest')")) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(1_000 * n, "a", 1) for n in range(5)])
        assert failed == []
        assert rows(runtime, "seconds") == [(3_000, "a", 1, 1), (4_000, "a", 1, 1)]
        assert rows(runtime, "minutes") == [(-40_000, "a", 5, 5)], "nothing of the minute is lost"
        found = state(runtime)
        assert (found.held, found.limit, found.dropped) == (3, 3, 3)


def test_rows_of_current_buckets_are_never_dropped() -> None:
    with running(app("@limit(keys = '3', on.full = 'drop_oldest')")) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(0, "a", 1), (1, "b", 1)])
        assert [row[0] for row in failed] == ["b"]
        assert str(failed[0][-1]).endswith(
            "raise the limit: all rows are of current buckets, so that none can be dropped"
        )


def test_purged_rows_make_room() -> None:
    purge = "@purge(enable = 'true', interval = '1 min', @retentionPeriod(sec = '2 min', min = '2 hours'))"
    with running(app("@limit(keys = '5')", more=purge)) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(60_000 * n, "a", 1) for n in range(3)])
        assert [row[0] for row in failed] == ["a"]
        send(runtime, [(60_000 * 5, "a", 1)])
        assert len(failed) == 1


def test_a_warning_is_logged_at_four_fifths(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "siddhi"), running(app("@limit(keys = '10')")) as runtime:
        send(runtime, [(1, key, 1) for key in "abcd"])
    said = [record.getMessage() for record in caplog.records if "groups in buckets" in record.getMessage()]
    assert [line.partition(", ")[2] for line in said] == [
        "aggregation 'A': holds 8 groups in buckets; @limit(keys = '10') allows 10"
    ]


def test_the_limits_of_an_app_and_a_policy_apply() -> None:
    with running(app("", head="@app:limits(aggregation.keys = '2') ")) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(0, "a", 1), (1, "b", 1)])
        assert "@app:limits(aggregation.keys = '2') allows no more" in str(failed[0][-1])
    with SiddhiManager(policy=SandboxPolicy(max_keys=2)) as manager, running(app(""), manager=manager) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(0, "a", 1), (1, "b", 1)])
        assert "SandboxPolicy(max_keys=2) allows no more" in str(failed[0][-1])
    with running(app("@limit(keys = '9')", head="@app:limits(aggregation.keys = '2') ")) as runtime:
        send(runtime, [(0, key, 1) for key in "abcd"])
        assert held(runtime) == 8


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("@limit(keys = '1')", "accepts no event: an event makes a row for each of the 2 bucket lengths"),
        ("@limit(ttl = '1 sec')", "unknown element 'ttl'"),
        ("@limit(values = '1')", "the distinct values of an aggregation can't be limited"),
        ("@limit(on.full = 'log')", "@limit sets no limit"),
        ("@limit(keys = '0')", "'keys'"),
        (
            "@limit(keys = '9', on.full = 'drop_oldest') @store(type = 'rdbms', url = 'sqlite://')",
            "on.full = 'drop_oldest' of @limit is not supported for aggregation 'A'",
        ),
    ],
)
def test_limits_that_make_no_sense_are_errors(limit: str, message: str) -> None:
    with SiddhiManager() as manager, pytest.raises(SiddhiAppCreationError, match="E3") as caught:
        manager.create_siddhi_app_runtime(app(limit))
    assert message in str(caught.value)


def test_a_policy_refuses_a_higher_limit() -> None:
    with (
        SiddhiManager(policy=SandboxPolicy(max_keys=10)) as manager,
        pytest.raises(SiddhiAppCreationError, match="E341"),
    ):
        manager.create_siddhi_app_runtime(app("@limit(keys = '11')"))


def test_a_limit_counts_what_was_restored() -> None:
    with SiddhiManager() as manager, running(app(""), manager=manager) as runtime:
        send(runtime, [(0, "a", 1), (1, "b", 1), (1_000, "a", 1)])
        saved = runtime.snapshot()
    with running(app("@limit(keys = '5')")) as runtime:
        failed = collect(runtime, "!S")
        runtime.restore(saved)
        assert held(runtime) == 5
        send(runtime, [(1_001, "b", 1), (1_002, "a", 1)])
        assert [row[0] for row in failed] == ["b"]
        assert rows(runtime, "seconds") == [(0, "a", 1, 1), (0, "b", 1, 1), (1_000, "a", 2, 2)]


def test_a_store_counts_only_the_rows_of_current_buckets(tmp_path: Any) -> None:
    store = f"@store(type = 'rdbms', url = 'sqlite:///{tmp_path}/a.db')"
    text = app("@limit(keys = '4')", more=store)
    with running(text) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(1_000 * n, "a", 1) for n in range(10)])
        send(runtime, [(9_001, "b", 1), (9_002, "c", 1), (60_000, "c", 1), (60_001, "b", 1), (60_002, "a", 1)])
        send(runtime, [(61_500, "c", 1)])
        assert [row[0] for row in failed] == ["c", "a"]
    with running(text) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, [(62_000, "d", 1)])
        # The current minute is taken from the store: rows of c and b.
        assert held(runtime) == 4
        send(runtime, [(62_001, "e", 1)])
        assert [row[0] for row in failed] == ["e"]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from([1, 500, 1_000, 20_000, 61_000, 3_700_000]), st.sampled_from("abc"), st.integers(0, 90_000_000)
    ),
    max_size=40,
)


@given(
    events=EVENTS, most=st.integers(4, 12), by=st.booleans(), on_full=st.sampled_from(["error", "log", "drop_oldest"])
)
def test_a_limited_aggregation_holds_the_accepted_events_and_no_more_rows(
    events: list[tuple[int, str, int]], most: int, by: bool, on_full: str
) -> None:
    clause = "by at" if by else ""
    limited = app(f"@limit(keys = '{most}', on.full = '{on_full}')", every="sec...day", by=clause)
    time, accepted = START, []
    totals: dict[str, Mapping[str, Any]] = {}
    with running(limited) as runtime:
        for step, key, back in events:
            time += step
            before = state(runtime).refused
            runtime.input_handler("S").send((key, 1, time - back), time)
            found = state(runtime)
            assert found.held <= most
            if found.refused == before:
                accepted.append((time, key, time - back))
        runtime.advance_clock(time + 2 * DAY)
        assert held(runtime) <= most
        totals["limited"] = {per: rows(runtime, per) for per in ("seconds", "minutes", "hours", "days")}
        dropped = state(runtime).dropped
    with running(app("", every="sec...day", by=clause)) as runtime:
        for at, key, own in accepted:
            runtime.input_handler("S").send((key, 1, own), at)
        runtime.advance_clock(time + 2 * DAY)
        if accepted and not dropped:
            assert totals["limited"] == {per: rows(runtime, per) for per in ("seconds", "minutes", "hours", "days")}
