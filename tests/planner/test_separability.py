"""By which keys elements separate. What is claimed is run: the shards together give what the app gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi.planner.app import plan
from siddhi.planner.separability import Element, separability
from siddhi.query_compiler.parser import parse

STREAMS = (
    "@app:playback(timers = 'exact') define stream S (k string, v int, ts long, d double);"
    "define stream R (k string, v int, ts long, d double);"
)

Row = tuple[str, int, tuple[Any, ...]]
"""Stream, time in ms, values."""


def elements(text: str) -> dict[str, Element]:
    return {element.name: element for element in separability(plan(parse(STREAMS + text)))}


def keys(element: Element) -> set[str] | None:
    """Each key as ``stream.attribute`` joined by ``=``."""
    if element.keys is None:
        return None
    return {"=".join(f"{stream}.{key.text}" for stream, key in part.by) for part in element.keys}


# One row of the table of separability each: an app that separates, with the keys, and one that does not, with the reason.
ANYTHING = [
    "from S[v > 0] select k, v * 2 as v insert into O;",
    "from S#log() select * insert into O;",
    "from S select k, v order by v limit 1 insert into O;",
    "from S#window.time(1 sec) select k, v insert all events into O;",
    "from S#window.delay(1 sec) select k, v insert into O;",
    "from S#window.timeBatch(1 sec, 0) select k, v insert all events into O;",
    "from S#window.externalTime(ts, 1 sec) select k, v insert into O;",
    "define table T (k string, v int); from S join T on S.v > T.v select S.k as k, T.v as v insert into O;",
    "define table T (k string); from S[S.k == T.k in T] select k insert into O;",
    "from every e = S select e.k as k insert into O;",
    "define window W (k string, v int) time(1 sec); from W select k, v insert expired events into O;",
]
SEPARATED = [
    ("from S select k, sum(v) as n group by k insert into O;", {"S.k"}),
    ("from S select k, v, count() as n group by k, v insert into O;", {"S.k", "S.v"}),
    ("from S select k, d, count() as n group by k, d insert into O;", {"S.k"}),
    ("from S#window.time(1 sec) select k, sum(v) as n group by k insert into O;", {"S.k"}),
    ("from S#window.time(1 sec) select k, sum(v) as n group by k insert all events into O;", {"S.k"}),
    ("from S#window.timeBatch(1 sec, 0) select k, sum(v) as n group by k insert into O;", {"S.k"}),
    ("from S#window.session(1 sec, k) select k, v insert all events into O;", {"S.k"}),
    ("from S#window.session(1 sec, k) select k, v, count() as n group by k, v insert into O;", {"S.k"}),
    ("from S select k, v group by k output first every 2 events insert into O;", {"S.k"}),
    ("from S select k, v group by k output first every 1 sec insert into O;", {"S.k"}),
    ("partition with (k of S) begin from S#window.length(2) select k, sum(v) as n insert into O; end;", {"S.k"}),
    (
        "partition with (k of S) begin from every e = S, f = S select f.k as k, f.v as v insert into O; end;",
        {"S.k"},
    ),
    (
        (
            "partition with (k of S, k of R) begin from S#window.length(1) join R#window.length(2) "
            "select S.k as k, R.v as v insert into O; end;"
        ),
        {"S.k=R.k"},
    ),
    (
        "partition with (v > 0 as 'up' or v < 2 as 'low' of S) begin from S select k, count() as n insert into O; end;",
        {"S.v > 0 as 'up' or v < 2 as 'low'"},
    ),
    (
        (
            "from S#window.time(1 sec) join R#window.time(1 sec) on S.k == R.k "
            "select S.k as k, S.v as v, R.v as w insert all events into O;"
        ),
        {"S.k=R.k"},
    ),
    (
        (
            "from S#window.time(1 sec) left outer join R#window.time(1 sec) on R.k == S.k and R.v == S.v "
            "select S.k as k, R.v as w insert into O;"
        ),
        {"S.k=R.k", "S.v=R.v"},
    ),
    (
        (
            "from every a = S -> b = R[k == a.k and v > a.v] -> c = S[b.k == k] within 2 sec "
            "select a.k as k, c.v as v insert into O;"
        ),
        {"S.k=R.k"},
    ),
    ("from every a = S -> not R[k == a.k] for 500 milliseconds select a.k as k insert into O;", {"S.k=R.k"}),
    (
        (
            "@PrimaryKey('k') define table T (k string, n int); from S select k, v as n update or insert into T on T.k == k;"
            "@info(name = 'q') from R join T on R.k == T.k select R.k as k, T.n as n insert into O;"
        ),
        {"R.k"},
    ),
    ("define window W (k string, v int) session(1 sec, k); from W select k, v insert into O;", {"W.k"}),
]
SINGLE = [
    ("from S select k, sum(v) as n insert into O;", "without 'group by'"),
    ("from S[count() % 2L == 0L] select k, v insert into O;", "an aggregate in a filter"),
    ("from S select k, d, count() as n group by d insert into O;", "'group by d'"),
    ("from S#window.time(1 sec) select k, sum(v) as n insert all events into O;", "without 'group by'"),
    ("from S#window.externalTime(ts, 1 sec) select k, sum(v) as n group by k insert expired events into O;", "stamped"),
    ("from S#window.timeBatch(1 sec) select k, sum(v) as n group by k insert into O;", "without a start"),
    ("from S#window.externalTimeBatch(ts, 1 sec, 0) select k, sum(v) as n group by k insert into O;", "comes next"),
    ("from S#window.session(1 sec) select k, v insert expired events into O;", "without a key"),
    ("from S#window.timeBatch(1 sec, 0) select k, v limit 1 insert into O;", "'limit'"),
    ("from S#window.time(1 sec) select k, sum(v) as n group by k order by k offset 1 insert expired events into O;", "'offset'"),
    *[
        (f"from S#window.{window} select k, sum(v) as n group by k insert all events into O;", "depends on all events")
        for window in [
            "length(2)", "lengthBatch(2)", "sort(2, v)", "batch()", "frequent(1, k)", "timeLength(1 sec, 2)",
            "expression('count() <= 2')", "expressionBatch('count() <= 2')",
        ]
    ],
    ("from S select k, v output last every 2 events insert into O;", "output rate"),
    ("from S select k, v output first every 2 events insert into O;", "output rate"),
    ("from S select k, v group by k output last every 1 sec insert into O;", "output rate"),
    (
        "from S#window.time(1 sec) join R#window.time(1 sec) on S.v > R.v select S.k as k, R.v as w insert into O;",
        "no equality",
    ),
    (
        "from S#window.length(1) join R#window.length(1) on S.k == R.k select S.k as k, R.v as w insert into O;",
        "shows a join",
    ),
    ("from a = S -> b = R[k == a.k] select a.k as k, b.v as v insert into O;", "without 'every'"),
    ("from every (a = S -> b = R[k == a.k]) select a.k as k, b.v as v insert into O;", "more than the first"),
    ("from every a = S -> b = R[v > a.v] select a.k as k, b.v as v insert into O;", "not tied"),
    ("from every not S[v > 1] for 1 sec -> b = R select b.k as k, b.v as v insert into O;", "first state"),
    ("from every a = S, b = S[k == a.k] select a.k as k, b.v as v insert into O;", "sequence"),
    (
        ("@info(max.partial.matches = '2', partial.matches.overflow = 'drop.oldest') "
        "from every a = S -> b = R[k == a.k] select a.k as k, b.v as v insert into O;"),
        "counted together",
    ),
    (
        ("define table T (k string, v int); from S select k, v insert into T;"
        "@info(name = 'q') from R join T on R.v < T.v select R.k as k, T.v as v insert into O;"),
        "not every use",
    ),
    ("define window W (k string, v int) length(2); from W select k, v insert expired events into O;", "depends on all"),
]  # fmt: skip


def last(text: str) -> Element:
    return list(elements(text).values())[-1]


@pytest.mark.parametrize("text", ANYTHING)
def test_by_anything(text: str) -> None:
    assert last(text).keys is None


@pytest.mark.parametrize(("text", "expected"), SEPARATED)
def test_by_keys(text: str, expected: set[str]) -> None:
    assert keys(last(text)) == expected


@pytest.mark.parametrize(("text", "reason"), SINGLE)
def test_by_nothing(text: str, reason: str) -> None:
    found = last(text)
    assert keys(found) == set()
    assert reason in found.reason


# --- what is claimed holds, and what is refused does not


def put_out(text: str, rows: Iterable[Row], *, end: bool) -> list[Any]:
    """Everything O gets, with times; to the end of time where the app has one."""
    rows = list(rows)
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(STREAMS + text) as runtime:
        runtime.collect("O")
        for stream, time, values in rows:
            runtime.input_handler(stream).send(values, time)
        if end:
            runtime.advance_to_end()
        else:
            runtime.advance_clock(COUPLED[-1][1])
        batch = runtime.drain()["O"]
        return sorted(((int(time), *row[:-2]) for time, row in zip(batch.timestamps, batch, strict=True)), key=repr)


def feed(text: str) -> str:
    """An app that reads a named window, with a query that fills it."""
    return text + " from S select k, v insert into W;" if "define window W" in text else text


@st.composite
def timelines(draw: st.DrawFn) -> list[Row]:
    clock, rows = 10_000, []
    for stream, key, value in draw(
        st.lists(st.tuples(st.sampled_from("SSR"), st.sampled_from("ABC"), st.integers(0, 3)), max_size=25)
    ):
        clock += draw(st.sampled_from([0, 1, 250, 400, 1_700]))
        rows.append((stream, clock, (key, value, clock, 0.5)))
    return rows


SHARDS = [{"A", "C"}, {"B"}]


def sharded(text: str, rows: list[Row], *, end: bool) -> list[Any]:
    found = [put_out(text, [row for row in rows if row[2][0] in shard], end=end) for shard in SHARDS]
    return sorted((row for part in found for row in part), key=repr)


BY_K = [text for text in ANYTHING if "define table" not in text]
BY_K += [text for text, found in SEPARATED if any(".k" in key for key in found)]


@pytest.mark.parametrize("text", [feed(text) for text in BY_K])
@given(rows=timelines())
def test_shards_together_give_what_the_app_gives(text: str, rows: list[Row]) -> None:
    assert sharded(text, rows, end=True) == put_out(text, rows, end=True)


# Two keys at a time, until one of them falls silent for more than a second; the values rise and fall.
COUPLED: list[Row] = [
    (stream, time, ("AB"[number % 2 if 4 < number < 14 else 0], (7 * number) % 5, time, float(number % 3)))
    for number, stream in enumerate("SSSSSSSSRRSSRRSRSSRSSRSSSS")
    for time in [10_000 + 300 * (number // 2)]
]


@pytest.mark.parametrize("text", [feed(text) for text, _ in SINGLE])
def test_shards_of_what_does_not_separate_give_something_else(text: str) -> None:
    assert sharded(text, COUPLED, end=False) != put_out(text, COUPLED, end=False)


# --- more about elements


def test_triggers_aggregations_and_readers_of_them() -> None:
    found = elements(
        "define trigger T at every 1 sec;"
        "define aggregation A from S select k, sum(v) as n group by k aggregate by ts every sec...min;"
        "define aggregation B from S select sum(v) as n aggregate by ts every sec...min;"
        "from T select triggered_time as t insert into O;"
        "from R join A on R.k == A.k within 0L, 10L per 'sec' select R.k as k, A.n as n insert into P;"
    )
    assert (found["T"].keys, found["T"].endless) == ((), "trigger 'T' fires again and again")
    assert keys(found["A"]) == {"S.k"}
    assert keys(found["B"]) == set()
    assert found["query_2"].reason == "it reads an aggregation"


def test_chunks_are_passed_on() -> None:
    found = elements(
        "from S#window.lengthBatch(2) select k, v insert into M; from M[v > 0] select k, v insert into N;"
        "from N select k, sum(v) as n group by k insert into O; from S[v > 0] select k insert into P;"
        "from P#window.batch() select k insert into Q;"
    )
    assert [name for name, element in found.items() if element.emits_chunks] == [
        "query_1",
        "query_2",
        "query_3",
        "query_5",
    ]
    assert [name for name, element in found.items() if element.chunk_sensitive] == ["query_3", "query_5"]
    assert [name for name, element in found.items() if not element.stateful] == ["query_2", "query_4"]


def test_what_random_functions_give_is_not_repeated() -> None:
    found = elements(
        "from S select UUID() as id insert into O; from S select currentTimeMillis() as t, eventTimestamp() as e insert into P;"
    )
    assert [element.deterministic for element in found.values()] == [False, True]


def test_attributes_that_are_passed_on_as_they_are() -> None:
    found = elements(
        "from S select k as key, v + 1 as v, ts insert into M;"
        "from M#window.time(1 sec) join R#window.time(1 sec) on M.key == R.k select R.k as k, M.key as key insert into N;"
        "@info(name = 'p') partition with (k of S) begin from S select k as key, count() as n insert into #I;"
        "from #I select key as k, n insert into O; from S select k, 1L as n insert into O; end;"
    )
    assert found["query_1"].carries == (("M", "key", "S", "k"), ("M", "ts", "S", "ts"))
    assert found["query_2"].carries == (("N", "k", "R", "k"), ("N", "key", "M", "key"))
    assert found["p"].carries == (("O", "k", "S", "k"),)


def test_users_of_a_table_are_told_the_same_column() -> None:
    found = elements(
        "define table T (k string, v int); from S select k, v insert into T;"
        "from R join T on R.k == T.k and R.v == T.v select R.k as k insert into O;"
        "from R[(R.v == T.v and R.k == T.k) in T] select k insert into P;"
    )
    assert [keys(element) for element in found.values()] == [{"S.k"}, {"R.k"}, {"R.k"}]
    assert found["query_1"].stateful


def test_what_counts_in_a_filter_is_stateful() -> None:
    assert elements("from S[count() > 1L] select k insert into O;")["query_1"].stateful


def test_tables_and_places() -> None:
    found = elements("define table T (k string); from S select k insert into T;")["query_1"]
    assert (found.tables, found.stateful, found.reads, found.writes) == (("T",), True, ("S",), ())
    assert found.span is not None


def test_an_expression_or_several_types_may_be_the_key_of_a_partition() -> None:
    found = elements(
        "partition with (v % 3 of S, k of R) begin from S select v insert into O; from R select k insert into P; end;"
    )["partition_0"]
    assert found.keys is not None
    (part,) = found.keys
    assert str(part.type) == "string"
    assert [(stream, key.text, key.attribute) for stream, key in part.by] == [("S", "v % 3", None), ("R", "k", "k")]
    by_double = elements("partition with (d of S) begin from S select v insert into O; end;")["partition_0"]
    assert by_double.reason == "its key is a double"
