"""Distribution of elements by keys. Each claim is tested: the shards together have the output of the app."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given

from siddhi import SiddhiManager
from siddhi.planner.app import plan
from siddhi.planner.distribution.distribution import Element, distributions
from siddhi.query_compiler.parser import parse
from tests.kit.distribution import COUPLED, SEPARATED, SINGLE, STREAMS, UNSPECIFIED, Row, feed, timelines


def elements(text: str) -> dict[str, Element]:
    return {element.name: element for element in distributions(plan(parse(STREAMS + text)))}


def keys(element: Element) -> set[str] | None:
    """Each key as ``stream.attribute`` joined by ``=``."""
    if element.keys is None:
        return None
    return {"=".join(f"{stream}.{key.text}" for stream, key in part.by) for part in element.keys}


def last(text: str) -> Element:
    return list(elements(text).values())[-1]


@pytest.mark.parametrize("text", UNSPECIFIED)
def test_unspecified_distribution(text: str) -> None:
    assert last(text).keys is None


@pytest.mark.parametrize(("text", "expected"), SEPARATED)
def test_hash_partitioned_by_keys(text: str, expected: set[str]) -> None:
    assert keys(last(text)) == expected


@pytest.mark.parametrize(("text", "reason"), SINGLE)
def test_single_partition(text: str, reason: str) -> None:
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


SHARDS = [{"A", "C"}, {"B"}]


def sharded(text: str, rows: list[Row], *, end: bool) -> list[Any]:
    found = [put_out(text, [row for row in rows if row[2][0] in shard], end=end) for shard in SHARDS]
    return sorted((row for part in found for row in part), key=repr)


BY_K = [text for text in UNSPECIFIED if "define table" not in text]
BY_K += [text for text, found in SEPARATED if any(".k" in key for key in found)]


@pytest.mark.parametrize("text", [feed(text) for text in BY_K])
@given(rows=timelines())
def test_shards_together_have_the_output_of_the_app(text: str, rows: list[Row]) -> None:
    assert sharded(text, rows, end=True) == put_out(text, rows, end=True)


@pytest.mark.parametrize("text", [feed(text) for text, _ in SINGLE])
def test_shards_of_single_partition_apps_have_other_output(text: str) -> None:
    assert sharded(text, COUPLED, end=False) != put_out(text, COUPLED, end=False)


# --- more about elements


def test_distribution_of_triggers_aggregations_and_their_readers() -> None:
    found = elements(
        "define trigger T at every 1 sec;"
        "define aggregation A from S select k, sum(v) as n group by k aggregate by ts every sec...min;"
        "define aggregation B from S select sum(v) as n aggregate by ts every sec...min;"
        "from T select triggered_time as t insert into O;"
        "from R join A on R.k == A.k within 0L, 10L per 'sec' select R.k as k, A.n as n insert into P;"
    )
    assert (found["T"].keys, found["T"].endless) == ((), "trigger 'T' fires periodically")
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


def test_readers_of_chunks_are_single_partition_if_keys_split_chunks() -> None:
    batch = "from S#window.timeBatch(1 sec, 0) select k, v insert into M;"
    part = "partition with (k of {of}) begin from {of}{window} select k, {column} as n insert into O; end;"
    plain, count = part.format(of="M", window="", column="v"), part.format(of="M", window="", column="count()")
    assert last(batch + count).reason == "chunks of several keys reach it in runs of one key each"
    assert last(batch + part.format(of="M", window="#window.batch()", column="v")).keys == ()
    assert last(batch + part.format(of="M", window="#window.session(1 sec)", column="v")).keys == ()
    assert keys(last(batch + part.format(of="M", window="#window.length(2)", column="v"))) == {"M.k"}
    assert keys(last(batch + plain)) == {"M.k"}
    assert keys(last(batch + part.format(of="S", window="", column="count()"))) == {"S.k"}
    passed = "from O select k, n insert into P; from P select k, sum(n) as n group by k insert into Q;"
    assert last(batch + plain + passed).keys == ()
    assert keys(last(batch + part.format(of="S", window="", column="v") + passed)) == {"P.k"}
    assert keys(last(batch + "from M select k, sum(v) as n group by k insert into O;")) == {"M.k"}
    limit = "from M select k, v limit 1 insert into O;"
    assert "chunks with the events of all keys" in last(batch + limit).reason
    # What a 'delay' lets go at one time is one chunk, for its own selection, too.
    assert (
        "chunks with the events of all keys"
        in last("from S#window.delay(1 sec) select k, v limit 1 insert into O;").reason
    )
    assert (
        "chunks with the events of all keys"
        in last("from S#window.delay(1 sec) select k, v offset 1 insert into O;").reason
    )
    assert keys(last("from S#window.delay(1 sec) select k, v insert into O;")) is None
    # The matches of one event are of one key.
    match = "from every a = S -> b = R[k == a.k] select a.k as k, b.v as v insert into M;"
    assert keys(last(match + count)) == {"M.k"}
    assert keys(last(match + limit)) is None
    join = (
        "from S#window.time(1 sec) join R#window.time(1 sec) on S.k == R.k select S.k as k, R.v as v insert {} into M;"
    )
    assert keys(last(join.format("") + count)) == {"M.k"}
    assert last(join.format("expired events") + count).keys == ()
    part = "partition with (k of S) begin from S#window.lengthBatch(2) select k, v insert into M; end;"
    assert keys(last(part + count)) == {"M.k"}


def test_several_outputs_of_one_event() -> None:
    found = elements(
        """define trigger C at every 1 sec; from S[v > 1] select k insert into A; from A select k, count() as n insert into B;
        from S#window.delay(1 sec) select k insert into D; from D select k insert into E; from C select triggered_time insert into F;
        partition with (k of S) begin from S#window.length(2) select k insert into G; end;
        from S#window.timeBatch(1 sec, 0) select k insert into H; from every e = S select e.k as k insert into I;"""
    )
    assert [element.writes[0] for element in found.values() if element.one_to_one] == ["A", "B", "G"]


def test_elements_that_read_the_clock() -> None:
    found = elements(
        "from S select currentTimeMillis() as t insert into A; from S select eventTimestamp() as t insert into B;"
    )
    assert [element.reads_clock for element in found.values()] == [True, False]


def test_state_by_time_over_late_events_is_not_distributed() -> None:
    batches = "from S#window.timeBatch(1 sec, 0) select k, v insert into B; from B[v > 1] select * insert into C;"
    reads = "@info(name = 'q') from every a = R -> b = C[k == a.k] {within} select b.k as k insert into O;"
    assert elements(batches + reads.format(within="within 1 sec"))["q"].keys == ()
    assert elements(batches + reads.format(within=""))["q"].keys != ()
    window = "define window W (k string, v int) time(1 sec);"
    assert elements(f"{window}{batches}from C select k, v insert into W;")["W"].keys == ()
    assert (
        elements(f"{window}from S output last every 2 events insert into T; from T select k, v insert into W;")[
            "W"
        ].keys
        == ()
    )
    assert elements(f"{window}from S select k, v insert into W;")["W"].keys is None
    part = "partition with (k of C) begin from C#window.time(1 sec) select k insert expired events into O; end;"
    assert elements(batches + part)["partition_0"].keys != ()


SILENT = "from every a = S -> not R[k == a.k] for 1 sec select a.k as k, a.v as v insert into B;"
TIMED = [
    SILENT,
    "from S#window.time(1 sec) select k, v insert expired events into B;",
    "from S#window.delay(1 sec) select k, v insert into B;",
    "from S#window.timeBatch(1 sec, 0) select k, v insert into B;",
    "from S#window.time(1 sec) join R#window.time(1 sec) on S.k == R.k select S.k as k, R.v as v insert all events into B;",
    "partition with (k of S) begin from S output last every 1 sec insert into #I; from #I select k, v insert into B; end;",
    "define window V (k string, v int) time(1 sec); from V select k, v insert all events into B;",
]


@pytest.mark.parametrize("timed", TIMED)
def test_a_batch_emitted_by_a_timer_is_single_partition(timed: str) -> None:
    passed = timed + "from B[v > 1] select k, v insert into C;"
    batch = "@info(name = 'q') from C#window.timeBatch(1 sec, 0) select k, count() as n group by k insert into O;"
    assert "queues events of timers" in elements(passed + batch)["q"].reason
    assert elements(passed.replace("B[", "S[") + batch)["q"].keys != ()
    window = "define window W (k string, v int) timeBatch(1 sec, 0);"
    assert elements(f"{window} {passed} from C select k, v insert into W;")["W"].keys == ()
    assert elements(window + timed.replace("into B", "into W"))["W"].keys == ()
    part = (
        "@info(name = 'q') partition with (k of C) begin from C#window.timeBatch(1 sec, 0) select k insert into O; end;"
    )
    assert keys(elements(SILENT + "from B select k insert into C;" + part)["q"]) == {"C.k"}


def test_windows_that_emit_events_of_several_keys_by_one_timer() -> None:
    window = (
        SILENT + "@info(name = 'q') from B#window.{window} select k, count() as n group by k insert {events} into O;"
    )
    assert elements(window.format(window="time(1 sec)", events=""))["q"].keys != ()
    assert elements(window.format(window="time(1 sec)", events="all events"))["q"].keys == ()
    assert elements(window.format(window="delay(1 sec)", events=""))["q"].keys == ()
    assert elements(window.format(window="session(1 sec, k)", events="all events"))["q"].keys != ()
    join = SILENT + "from S select k, v insert into C;" + SILENT.replace("S", "C").replace("into B", "into D")
    join += "@info(name = 'q') from B#window.time(1 sec) join {two}#window.time(1 sec) on B.k == {two}.k "
    join += "select B.k as k insert {events} into O;"
    assert elements(join.format(two="C", events=""))["q"].keys != ()
    assert elements(join.format(two="C", events="all events"))["q"].keys == ()
    assert elements(join.format(two="D", events=""))["q"].keys == ()


def test_random_functions_are_not_deterministic() -> None:
    found = elements(
        "from S select UUID() as id insert into O; from S select currentTimeMillis() as t, eventTimestamp() as e insert into P;"
    )
    assert [element.deterministic for element in found.values()] == [False, True]


def test_keys_follow_unchanged_attributes() -> None:
    found = elements(
        "from S select k as key, v + 1 as v, ts insert into M;"
        "from M#window.time(1 sec) join R#window.time(1 sec) on M.key == R.k select R.k as k, M.key as key insert into N;"
        "@info(name = 'p') partition with (k of S) begin from S select k as key, count() as n insert into #I;"
        "from #I select key as k, n insert into O; from S select k, 1L as n insert into O; end;"
    )
    assert found["query_1"].carries == (("M", "key", "S", "k"), ("M", "ts", "S", "ts"))
    assert found["query_2"].carries == (("N", "k", "R", "k"), ("N", "key", "M", "key"))
    assert found["p"].carries == (("O", "k", "S", "k"),)


def test_an_attribute_that_may_be_null_is_not_a_key() -> None:
    join = "from S{ways}#window.time(1 sec) {type} R#window.time(1 sec) on S.k == R.k select S.k as k, R.k as l insert into O;"
    both = {("O", "k", "S", "k"), ("O", "l", "R", "k")}
    left, right = {("O", "k", "S", "k")}, {("O", "l", "R", "k")}
    assert set(last(join.format(ways="", type="join")).carries) == both
    assert set(last(join.format(ways="", type="left outer join")).carries) == left
    assert set(last(join.format(ways="", type="right outer join")).carries) == right
    assert set(last(join.format(ways="", type="full outer join")).carries) == set()
    alone = join.replace("window.time(1 sec) {type}", "window.time(1 sec) unidirectional {type}")
    assert set(last(alone.format(ways="", type="right outer join")).carries) == both
    assert set(last(alone.format(ways="", type="full outer join")).carries) == left
    table = "define table T (k string); from S {type} T on S.k == T.k select S.k as k insert into O;"
    assert set(last(table.format(type="right outer join")).carries) == left
    pattern = "from every a = S -> {then} select a.k as k, b.k as l insert into O;"
    assert set(last(pattern.format(then="b = R[k == a.k]")).carries) == both
    assert set(last(pattern.format(then="b = R[k == a.k] and c = S[k == a.k]")).carries) == both
    assert set(last(pattern.format(then="b = R[k == a.k] or c = S[k == a.k]")).carries) == left
    assert set(last(pattern.format(then="b = R[k == a.k]<0:1> -> c = S[k == a.k]")).carries) == left
    assert set(last(pattern.format(then="not S[k == a.k] for 1 sec or b = R[k == a.k]")).carries) == left
    inner = (
        "partition with (k of S, k of R) begin from S#window.time(1 sec) left outer join R#window.time(1 sec) on S.v == R.v "
        "select S.k as k, R.k as l insert into #I; from #I select k, l insert into O; end;"
    )
    assert set(last(inner).carries) == left


def test_a_nullable_attribute_is_not_the_key_of_a_table() -> None:
    text = (
        "define table T (k string, v int); from S#window.time(1 sec) {type} R#window.time(1 sec) on S.k == R.k "
        "select R.k as k, R.v as v insert into T; from R join T on R.k == T.k select R.k as k, T.v as v insert into O;"
    )
    assert keys(elements(text.format(type="join"))["query_1"]) == {"S.k=R.k"}
    assert keys(elements(text.format(type="left outer join"))["query_1"]) == set()


def test_uses_of_a_table_have_the_same_key_column() -> None:
    found = elements(
        "define table T (k string, v int); from S select k, v insert into T;"
        "from R join T on R.k == T.k and R.v == T.v select R.k as k insert into O;"
        "from R[(R.v == T.v and R.k == T.k) in T] select k insert into P;"
    )
    assert [keys(element) for element in found.values()] == [{"S.k"}, {"R.k"}, {"R.k"}]
    assert found["query_1"].stateful


def test_an_aggregate_in_a_filter_is_stateful() -> None:
    assert elements("from S[count() > 1L] select k insert into O;")["query_1"].stateful


def test_stream_processors_are_stateful_and_stream_functions_are_not() -> None:
    assert elements("from S#kit:second() select k insert into O;")["query_1"].stateful
    assert not elements("from S#kit:twice(v) select k insert into O;")["query_1"].stateful
    aggregation = "define aggregation A from S{0} select k, sum(v) as n group by k aggregate by ts every sec...min;"
    assert keys(last(aggregation.format("#kit:twice(v)"))) == {"S.k"}
    assert "stream processor" in last(aggregation.format("#kit:second()")).reason
    assert last(aggregation.format("[count() > 1L]")).reason == "an aggregate in a filter sees all rows"


def test_output_of_a_stream_processor_may_have_another_key() -> None:
    part = "partition with (k of S) begin from S#kit:{0} select k, v insert into O; end;"
    assert last(part.format("twice(v)")).carries == (("O", "k", "S", "k"), ("O", "v", "S", "v"))
    assert last(part.format("second()")).carries == ()
    join = (
        "define table T (k string, v int); from R select k, v insert into T;"
        "partition with (k of S) begin from S#kit:{0} join T on S.k == T.k select S.k as k, T.v as v insert into O; end;"
    )
    assert keys(last(join.format("twice(v)"))) == {"S.k"}
    assert "not every access" in last(join.format("second()")).reason


def test_delayed_output_of_a_stream_processor_is_late() -> None:
    part = "partition with (k of S) begin from S#kit:{0} select k, v insert into M; end;"
    reads = "from M#window.time(1 sec) select k, count() as n group by k insert into O;"
    assert keys(last(part.format("twice(v)") + reads)) == {"M.k"}
    assert "queues late events" in last(part.format("later(200)") + reads).reason


def test_windows_with_dynamic_conditions_read_all_keys() -> None:
    part = "partition with (k of S) begin from S#window.{0}(k) select k, v insert into O; end;"
    for window in ("expression", "expressionBatch"):
        assert "of all keys" in last(part.format(window)).reason


def test_a_join_with_a_named_window() -> None:
    window = "define window W (k string, v int) {0};"
    reads = "from W select k, v insert into O;"
    join = "from W join R#window.time(1 sec) on W.k == R.k select W.k as k, R.v as v insert into P;"
    for joined, separates in (("time(1 sec)", True), ("timeBatch(1 sec, 0)", False), ("session(1 sec, k)", False)):
        alone = elements(window.format(joined) + reads)
        assert [element.keys == () for element in alone.values()] == [False, False]
        both = elements(window.format(joined) + reads + join)
        assert [element.keys != () for element in both.values()] == [separates] * 3


def test_tables_and_their_keys() -> None:
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
    both = "partition with (d of S, k of R) begin from S select v insert into O; from R select k insert into P; end;"
    assert elements(both)["partition_0"].reason == "its key is a double, and is compared with others as text"
