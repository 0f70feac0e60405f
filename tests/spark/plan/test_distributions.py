"""The table of distribution on Spark, driven without a JVM. An app with a key is distributed by it, with the results of one
engine. An app without a key runs on one shard, and would have wrong results on several. Then apps of several rows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.fragments import cut
from siddhi.spark.testing import Row, differences, oracle
from tests.kit.distribution import COUPLED, SEPARATED, SINGLE, STREAMS, UNSPECIFIED, feed, timelines
from tests.spark.streaming.without_jvm import played

HASH = [*UNSPECIFIED, *(text for text, _ in SEPARATED)]
COUPLES = [text for text, _ in SINGLE]


def fragments(text: str):
    return cut(plan(parse(STREAMS + feed(text))), streaming=True, prefer="engine", bound={"S", "R"}).fragments


def told(text: str, rows: list[Row], *, outputs: tuple[str, ...] = ("O",), **options) -> str | None:
    """The first difference between the shards and one engine."""
    want = oracle(text, rows, outputs)
    stream = played(text, rows, **options)
    found = [(name, differences(want[name], stream.found.get(name, []))) for name in outputs]
    assert stream.late == 0
    return next((f"{name}: {one}" for name, one in found if one is not None), None)


@pytest.mark.parametrize("text", HASH)
def test_apps_distributed_by_keys(text: str) -> None:
    assert not any(fragment.is_single for fragment in fragments(text))


@pytest.mark.parametrize("text", COUPLES)
def test_single_partition_apps_have_one_shard_and_a_reason(text: str) -> None:
    (fragment,) = [fragment for fragment in fragments(text) if fragment.is_single]
    assert fragment.reason


@pytest.mark.parametrize("text", [STREAMS + feed(text) for text in HASH])
@settings(max_examples=10)
@given(rows=timelines().filter(bool), seed=st.integers(0, 99), shards=st.sampled_from([2, 3, 7]), forget=st.booleans())
def test_shards_have_the_output_of_one_engine(text: str, rows: list[Row], seed: int, shards: int, forget: bool) -> None:
    assert told(text, rows, seed=seed, shards=shards, forget=forget) is None


@pytest.mark.parametrize("text", [STREAMS + feed(text) for text, _ in SINGLE])
def test_forced_onto_shards_single_partition_apps_have_other_output(text: str) -> None:
    assert told(text, COUPLED, seed=1, shards=3) is None
    assert told(text, COUPLED, seed=1, shards=3, force="k") is not None


# Two steps that separate each, and do not behind each other.
COUPLED_BY_TWO = [
    (
        "from S#window.time(1 sec) right outer join R#window.time(1 sec) on S.k == R.k and S.v == R.v "
        "select S.k as k, R.v as v insert into M; from M select k, count() as n group by k insert into O;"
    ),
    (
        "from every a = S -> b = R[k == a.k] or c = S[k == a.k] select b.k as k, c.v as v insert into M;"
        "from M select k, count() as n group by k insert into O;"
    ),
    (
        "from S#window.timeBatch(1 sec, 0) select k, v insert into M;"
        "partition with (k of M) begin from M select k, count() as n insert into O; end;"
    ),
    (
        "from S#window.timeBatch(1 sec, 0) select k, v insert into M;"
        "partition with (k of M) begin from M select k, v insert into N; end;"
        "from N select k, count() as n group by k insert into O;"
    ),
    "from S#window.timeBatch(1 sec, 0) select k, v insert into M; from M select k, v order by v limit 1 insert into O;",
    (
        "from S#window.timeBatch(300, 0) select k, sum(v) as n group by k insert into M;"
        "from M#window.timeBatch(900, 0) select k, sum(n) as n group by k insert into O;"
    ),
]


@pytest.mark.parametrize("text", COUPLED_BY_TWO)
def test_two_distributed_queries_may_not_be_distributed_together(text: str) -> None:
    assert [fragment.is_single for fragment in fragments(text)] == [True]
    assert told(STREAMS + text, COUPLED, seed=1, shards=3) is None
    assert told(STREAMS + text, COUPLED, seed=1, shards=3, force="k") is not None


def test_a_primary_key_of_another_column_keeps_a_table_in_one_shard() -> None:
    text = (
        "{key} define table T (k string, v int); from S select k, v insert into T;"
        "from R join T on R.k == T.k select R.k as k, T.v as v insert into O;"
    )
    rows = [("S", 10_000 + n, (key, 1, 0, 0.5)) for n, key in enumerate("ABCABC")]
    rows += [("R", 11_000, (key, 0, 0, 0.5)) for key in "ABC"]
    for key, single in (("@PrimaryKey('v')", True), ("@PrimaryKey('k', 'v')", False), ("@PrimaryKey('k')", False)):
        app = text.format(key=key)
        assert [fragment.is_single for fragment in fragments(app)] == [single]
        assert told(STREAMS + app, rows, seed=1, shards=5) is None
        assert len(oracle(STREAMS + app, rows, ["O"])["O"]) == (1 if single else 3)
    (fragment,) = fragments(text.format(key="@PrimaryKey('v')"))
    assert fragment.reason == (
        "table 'T' is written, and not every access looks up one value of the same column of its primary key"
    )


def test_a_join_with_a_named_window_has_the_time_of_the_reader() -> None:
    text = (
        "define window W (k string, v int) timeBatch(500, 0); from S select k, v insert into W;"
        "from W join R#window.time(1 sec) on W.k == R.k select W.k as k, R.v as v insert expired events into O;"
    )
    each = (("S", 10_202, "A"), ("R", 10_252, "A"), ("R", 10_852, "C"), ("S", 16_355, "A"))
    rows = [(stream, time, (key, n, time, 0.5)) for n, (stream, time, key) in enumerate(each)]
    assert [fragment.is_single for fragment in fragments(text)] == [True]
    assert told(STREAMS + text, rows, seed=0, shards=5) is None
    assert told(STREAMS + text, rows, seed=0, shards=5, force="k") is not None


# --- apps of several rows of the table

ROWS = [feed(text) for text in (*UNSPECIFIED, *(text for text, _ in SEPARATED), *(text for text, _ in SINGLE))]
DEFINITION = re.compile(r"(?:@PrimaryKey\([^)]*\) )?define [^;]*;")
ENDS = [
    "from O{n} select * insert into P{n};",
    "from O{n} select count() as n insert into P{n};",
    "from O{n} select k, count() as n group by k insert into P{n};",
    "from O{n}#window.length(2) select k insert all events into P{n};",
]


@st.composite
def apps(draw: st.DrawFn) -> tuple[str, tuple[str, ...]]:
    """Up to three rows of the table in one app, over the stream itself or behind a filter, some with a reader."""
    definitions, queries, outputs = [STREAMS], ["from S[v < 3] select * insert into F;"], []
    for n, text in enumerate(draw(st.lists(st.sampled_from(ROWS), min_size=1, max_size=3))):
        named = re.sub(r"\b([OTW])\b", rf"\g<1>{n}", text).replace("'q'", f"'q{n}'")
        definitions += DEFINITION.findall(named)
        named = DEFINITION.sub("", named)
        queries.append(re.sub(r"\bS\b", "F", named) if draw(st.booleans()) else named)
        outputs.append(f"O{n}")
        if draw(st.booleans()):
            ends = ENDS if re.search(r"(\bk\b|\*)[^;]* insert [^;]*into O", text) else ENDS[:2]
            queries.append(draw(st.sampled_from(ends)).format(n=n))
            outputs.append(f"P{n}")
    return "\n".join([*definitions, *queries]), tuple(outputs)


@given(
    app=apps(),
    rows=timelines().filter(bool),
    seed=st.integers(0, 99),
    shards=st.sampled_from([1, 2, 5]),
    forget=st.booleans(),
)
def test_apps_of_several_queries(app, rows: list[Row], seed: int, shards: int, forget: bool) -> None:
    text, outputs = app
    assert told(text, rows, outputs=outputs, seed=seed, shards=shards, forget=forget) is None


# --- rows of the table behind others

CHAINED = [
    *(text for text in HASH if "externalTime" not in text),  # it must see time go on
    "from S#window.timeBatch(500, 0) select k, v insert into O;",
    "from S#window.timeBatch(500, 0) select k, sum(v) as n group by k insert all events into O;",
    "from S#window.time(500) select k, v insert expired events into O;",
    "from S#window.delay(500) select k, v insert into O;",
    "from every a = S -> not R[k == a.k] for 500 milliseconds select a.k as k, a.v as v insert into O;",
    "from every a = S -> b = R[k == a.k] or c = S[k == a.k] select b.k as k, c.v as v insert into O;",
    "from every a = S -> b = R[k == a.k] and c = S[k == a.k] select c.k as k, b.v as v insert into O;",
    "from S#window.time(500) select k, sum(v) as n group by k insert all events into O;",
    "partition with (k of S) begin from S select k, sum(v) as n insert into O; end;",
    "partition with (k of S) begin from S#window.timeBatch(500, 0) select k, v insert into O; end;",
    "partition with (k of S) begin from S#window.session(500) select k, v insert all events into O; end;",
    "partition with (k of S) begin from S#window.lengthBatch(2) select k, v insert all events into O; end;",
    "partition with (k of S) begin from S select k, v output last every 500 milliseconds insert into O; end;",
    "define window W (k string, v int) timeBatch(500, 0); from W select k, v insert into O;",
    *[
        feed(
            f"from S#window.time(500) {how} join R#window.time(250) on S.k == R.k "
            f"select {side}.k as k, R.v as v insert {events} into O;"
        )
        for how, side, events in [
            ("left outer", "S", ""),
            ("left outer", "R", "all events"),
            ("right outer", "S", ""),
            ("full outer", "R", "expired events"),
        ]
    ],
]


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, tuple[str, ...]]:
    """Two or three rows of the table, each over the output of the previous one or, sometimes, over the stream itself."""
    definitions, queries, outputs, source, others = [STREAMS], [], [], "S", ["R"]
    for n, text in enumerate(draw(st.lists(st.sampled_from(CHAINED), min_size=2, max_size=3))):
        other = draw(st.sampled_from(others))
        named = re.sub(r"\b([OTW])\b", rf"\g<1>{n}", feed(text)).replace("'q'", f"'q{n}'")
        named = re.sub(r"\b[SR]\b", lambda found, here=(source, other): here[found[0] == "R"], named)
        definitions += DEFINITION.findall(named)
        queries.append(DEFINITION.sub("", named))
        outputs.append(f"O{n}")
        value = next(
            (a.name for a in plan(parse(STREAMS + feed(text))).streams["O"].attributes if a.name in "vnw"), "1"
        )
        queries.append(
            f"from O{n} select k, convert({value}, 'int') as v, currentTimeMillis() as ts, 0.5 as d insert into L{n};"
        )
        others = [one for one in (*others, "S", source) if one != f"L{n}"]
        source = f"L{n}"
    return "\n".join([*definitions, *queries]), tuple(outputs)


@st.composite
def meetings(draw: st.DrawFn) -> list[Row]:
    """Rows at whose time something is often due."""
    clock, rows = 10_000, []
    for stream, key in draw(
        st.lists(st.tuples(st.sampled_from("SSR"), st.sampled_from("ABC")), min_size=1, max_size=20)
    ):
        clock += draw(st.sampled_from([0, 0, 1, 100, 250, 250, 500, 1_250]))
        rows.append((stream, clock, (key, len(rows) % 4, clock, 0.5)))
    return rows


@given(
    app=chains(),
    rows=meetings(),
    seed=st.integers(0, 99),
    shards=st.sampled_from([2, 5]),
    forget=st.booleans(),
)
def test_rows_of_the_table_after_others(app, rows: list[Row], seed: int, shards: int, forget: bool) -> None:
    text, outputs = app
    assert told(text, rows, outputs=outputs, seed=seed, shards=shards, forget=forget) is None
