"""@limit on a partition: the number of keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from tests.kit.limits import ROWS, STREAM, run
from tests.kit.running import collect, running

INSIDE = "begin from S select k, sum(v) as total insert into Out; end;"


def app(limit: str, inside: str = INSIDE, by: str = "k of S") -> str:
    return f"{STREAM}@info(name = 'P') @limit({limit}) partition with ({by}) {inside}"


@pytest.mark.parametrize("chunk", [False, True])
@pytest.mark.parametrize(
    ("on_full", "expected", "refused"),
    [
        ("error", [("a", 1), ("b", 1), ("a", 2), ("b", 2)], [("c", 1), ("c", 1)]),
        ("log", [("a", 1), ("b", 1), ("a", 2), ("b", 2)], []),
        ("drop_oldest", [("a", 1), ("b", 1), ("c", 1), ("a", 1), ("c", 2), ("b", 1)], []),
    ],
)
def test_at_the_limit_keys_are_refused_or_the_oldest_is_dropped(
    on_full: str, expected: list[Any], refused: list[Any], chunk: bool
) -> None:
    assert run(app(f"keys = '2', on.full = '{on_full}'"), ROWS, chunk=chunk) == (expected, refused)


def test_the_error_says_which_limit_and_which_key() -> None:
    with running(app("keys = '1'")) as runtime:
        failed = collect(runtime, "!S")
        for row in ROWS[:2]:
            runtime.input_handler("S").send(row)
    assert str(failed[0][-1]) == (
        "partition 'P' holds 1 keys, and @limit(keys = '1') allows no more: the row of key 'b' was refused; "
        "raise the limit, or drop keys with @purge or on.full = 'drop_oldest'"
    )


def test_the_current_key_is_not_dropped() -> None:
    with running(app("keys = '1', on.full = 'drop_oldest'")) as runtime:
        handler = runtime.input_handler("S")
        out, failed = collect(runtime, "Out"), collect(runtime, "!S")

        def send_another_key(events: list[Event]) -> None:
            if events[0].data[0] == "a":
                handler.send(("b", 1))

        runtime.add_callback("Out", send_another_key)
        handler.send(("a", 1))
        handler.send(("a", 1))
        handler.send(("c", 1))
    assert out == [("a", 1), ("a", 2), ("c", 1)]
    assert [row[0] for row in failed] == ["b", "b"]


def test_a_limit_counts_ranges_and_values_together() -> None:
    text = (
        f"{STREAM}define stream T (p int); @limit(keys = '2', on.full = 'drop_oldest') "
        "partition with (k of S, p > 5 as 'a' or p > 1 as 'z' of T) begin "
        "from S select k, count() as n insert into Out; from T select 'T' as k, count() as n insert into Out; end;"
    )
    with running(text) as runtime:
        out = collect(runtime, "Out")
        runtime.input_handler("S").send(("a", 1))
        runtime.input_handler("T").send_events([Event(2, (6,)), Event(3, (2,)), Event(4, (7,))])
        runtime.input_handler("S").send(("b", 1))
        runtime.input_handler("S").send(("z", 1))
    # The label a was used before z by the last row, so it makes room for b; z is still there.
    assert out == [("a", 1), ("T", 1), ("T", 2), ("T", 2), ("T", 3), ("b", 1), ("z", 1)]


histories = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3)), min_size=1, max_size=30)
inside = st.sampled_from(
    [
        INSIDE,
        "begin from S#window.length(2) select k, sum(v) as total insert into Out; end;",
        "begin from S#window.lengthBatch(2) select k, sum(v) as total insert into Out; end;",
        "begin from S select k, v insert into #I; from #I select k, count() as n group by v insert into Out; end;",
        "begin from every a=S -> b=S[b.v > a.v] select a.k as k, b.v as v insert into Out; end;",
    ]
)
by = st.sampled_from(["k of S", "v of S", "k of S"])


@given(rows=histories, inside=inside, by=by, chunk=st.booleans())
def test_a_limit_that_is_not_reached_has_no_effect(
    rows: list[tuple[str, int]], inside: str, by: str, chunk: bool
) -> None:
    limited = app("keys = '50', on.full = 'drop_oldest'", inside, by)
    unlimited = limited.replace("@limit(keys = '50', on.full = 'drop_oldest') ", "")
    assert run(limited, rows, chunk=chunk) == run(unlimited, rows, chunk=chunk)


@given(
    rows=histories,
    keys=st.integers(1, 4),
    on_full=st.sampled_from(["error", "drop_oldest", "log"]),
    chunk=st.booleans(),
)
def test_keys_equal_those_of_the_oracle(rows: list[tuple[str, int]], keys: int, on_full: str, chunk: bool) -> None:
    totals: dict[str, int] = {}
    expected, refused = [], []
    for key, value in rows:
        if key not in totals and len(totals) == keys:
            if on_full != "drop_oldest":
                refused.append((key, value))
                continue
            del totals[next(iter(totals))]
        totals[key] = totals.pop(key, 0) + value
        expected.append((key, totals[key]))
    text = app(f"keys = '{keys}', on.full = '{on_full}'", INSIDE)
    out, failed = run(text, rows, chunk=False)
    assert out == expected
    assert failed == ([] if on_full == "log" else refused)
    if chunk:
        # Of a run of events of one key, the last one is emitted.
        assert run(text, rows, chunk=True)[1] == failed


@given(rows=histories, cut=st.integers(0, 30), inside=inside, on_full=st.sampled_from(["error", "drop_oldest"]))
def test_a_restored_app_continues(rows: list[tuple[str, int]], cut: int, inside: str, on_full: str) -> None:
    text = app(f"keys = '2', on.full = '{on_full}'", inside)
    expected, refused = run(text, rows)
    with running(text) as first, running(text) as second:
        out, failed = collect(first, "Out"), collect(first, "!S")
        for time, row in enumerate(rows[:cut], 1):
            first.input_handler("S").send(row, timestamp=time)
        second.add_callback("Out", lambda events: out.extend(event.data for event in events))
        second.add_callback("!S", lambda events: failed.extend(event.data for event in events))
        second.restore(first.snapshot())
        for time, row in enumerate(rows[cut:], 1 + len(rows[:cut])):
            second.input_handler("S").send(row, timestamp=time)
    assert out == expected
    assert [row[:-1] for row in failed] == refused
