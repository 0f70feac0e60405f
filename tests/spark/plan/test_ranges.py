"""Partitions by ranges: distributed by labels that Spark can compute; results of one engine; no JVM."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from siddhi.errors import SparkLoweringError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark import SparkRuntime
from siddhi.spark.plan.fragments import cut
from siddhi.spark.plan.key_hash import shard_of_key
from siddhi.spark.testing import Row, differences, oracle
from siddhi.spark.workers.program import write_program
from tests.spark.streaming.without_jvm import FakeStream, played

STREAMS = (
    "@app:playback(timers = 'exact') define stream S (k string, v int, d double); define stream R (k string, v int);\n"
)
RANGES = "v > 0 as 'up' or v < 2 as 'low' or d >= 1.5 as 'A' or v is null as 'none' or v == 3 as 'up'"
COUNTED = "from S select k, v, count() as n insert into O;"
SPREAD = {
    "counts": f"partition with ({RANGES} of S) begin {COUNTED} end;",
    "times": (
        f"partition with ({RANGES} of S) begin from S#window.time(1 sec) select k, sum(v) as n insert all events into #I; "
        "from #I[n > 1L] select k, n insert into O; end;"
    ),
    "patterns": (
        f"partition with ({RANGES} of S) begin from every a = S -> b = S[v > a.v] within 2 sec "
        "select a.v as v, b.v as w insert into O; end;"
    ),
    "silences": (
        f"partition with ({RANGES} of S) begin from every a = S -> not S for 500 milliseconds select a.v as v insert into O; end;"
    ),
    "values": f"partition with ({RANGES} of S, k of R) begin {COUNTED} from R select k, count() as n insert into P; end;",
    "whole numbers": (
        "partition with (v > 0 as '1' or v < 2 as '2' of S, v of R) begin from S#window.length(2) join R#window.length(1) "
        "select S.v as v, R.k as k insert into O; end;"
    ),
    "all keys": (
        f"partition with ({RANGES} of S) begin from S#window.length(1) join R#window.length(2) "
        "select S.v as v, R.v as w insert into O; end;"
    ),
    "two ranges": (
        f"partition with ({RANGES} of S, v > 1 as 'up' or v <= 2 as 'low' of R) begin "
        "from every a = S -> b = R select a.v as v, b.v as w insert into O; end;"
    ),
    "twice": (
        f"partition with ({RANGES} of S) begin {COUNTED} end; "
        f"partition with ({RANGES} of S) begin from S select max(v) as m insert into P; end;"
    ),
    "two of one stream": (
        f"partition with ({RANGES} of S) begin {COUNTED} end; "
        "partition with (k == 'A' as 'a' or k != 'A' as 'other' or v > 1 as 'up' of S) begin "
        "from S select k, count() as m insert into P; end;"
    ),
    "beside a group": (
        f"partition with ({RANGES} of S) begin {COUNTED} end; from R select k, count() as n group by k insert into P;"
    ),
    "at their time": (
        "partition with (eventTimestamp() % 2L == 0L as 'even' or currentTimeMillis() > 12000L as 'late' of S) "
        f"begin {COUNTED} end;"
    ),
    "behind a filter": f"partition with ({RANGES} of S) begin {COUNTED} end; from O[n > 1L] select n insert into P;",
}


def layout(text: str, **options):
    return cut(plan(parse(STREAMS + text)), streaming=True, bound={"S", "R"}, **options)


@st.composite
def timelines(draw: st.DrawFn) -> list[Row]:
    clock, rows = 10_000, []
    values = st.none() | st.integers(-1, 4)
    some = st.tuples(st.sampled_from("SSR"), st.sampled_from("AB") | st.just("up"), values, st.none() | st.floats(0, 3))
    for stream, key, value, floating in draw(st.lists(some, min_size=1, max_size=25)):
        clock += draw(st.sampled_from([0, 1, 250, 400, 1_700]))
        rows.append((stream, clock, (key, value, floating) if stream == "S" else (key, value)))
    return rows


@pytest.mark.parametrize("text", SPREAD.values(), ids=SPREAD)
def test_they_are_distributed_by_labels(text: str) -> None:
    fragments = layout(text).fragments
    assert not any(fragment.is_single for fragment in fragments)
    assert any(fragment.key is not None and fragment.key.labels for fragment in fragments)


@pytest.mark.parametrize("text", SPREAD.values(), ids=SPREAD)
@settings(max_examples=15)
@given(rows=timelines(), seed=st.integers(0, 99), shards=st.sampled_from([1, 3, 64]), forget=st.booleans())
def test_shards_have_the_output_of_one_engine(text: str, rows: list[Row], seed: int, shards: int, forget: bool) -> None:
    outputs = [name for name in ("O", "P") if f"into {name};" in text]
    want = oracle(STREAMS + text, rows, outputs)
    stream = played(STREAMS + text, rows, seed=seed, shards=shards, forget=forget)
    for name in outputs:
        assert differences(want[name], stream.found.get(name, [])) is None, name


def test_distributed_by_anything_else_they_have_other_output() -> None:
    text = STREAMS + f"partition with (v > 0 as 'up' or v < 2 as 'low' of S) begin {COUNTED} end;"
    rows = [("S", 10_000 + n, ("AB"[n % 2], n % 4, 0.5)) for n in range(12)]
    want = oracle(text, rows, ["O"])
    assert differences(want["O"], played(text, rows, seed=1, shards=3).found["O"]) is None
    assert differences(want["O"], played(text, rows, seed=1, shards=3, by="k").found["O"]) is not None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "partition with (convert(d, 'string') == '1.0' as 'one' of S) begin from S select k insert into O; end;",
            r"the range 'one' has convert\(\) of a double to string",
        ),
        (
            "partition with (UUID() of S) begin from S select k insert into O; end;",
            r"the key of S has the function 'UUID'",
        ),
        (
            "partition with (v > 0 as 'up' of S, convert(v, 'string') of R, d of S2) begin from S select k insert into O; end;",
            "its key is a double, and is compared with others as text",
        ),
        (
            f"partition with ({RANGES} of S) begin {COUNTED} end; from O select k, sum(n) as n group by k insert into P;",
            "query_2 depends on the order of its rows, and one event may have rows of several ranges",
        ),
        (
            "partition with (v > 0 as 'up' of S) begin from R select k insert into O; end;",
            "its elements have no common key",
        ),
        (
            (
                "define window W (k string, v int) length(2); from S select k, v insert into W;"
                "partition with (v > 0 as 'up' of W) begin from W select k insert into O; end;"
            ),
            "depends on all events",
        ),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
def test_the_reason_of_a_single_partition(text: str, reason: str, streaming: bool) -> None:
    app = STREAMS + "define stream S2 (d double);" + text
    fragments = cut(plan(parse(app)), streaming=streaming, bound={"S", "R"}).fragments
    (told,) = {fragment.reason for fragment in fragments if fragment.is_single}
    assert re.search(reason, told), told


def test_one_shard_is_warned_of_with_a_hint() -> None:
    app = STREAMS + f"partition with ({RANGES} of S) begin {COUNTED} end;\n"
    assert (
        "engine fragment 1 on 64 shards\n  from S by v > 0 as 'up' or" in SparkRuntime(app, None, strict=True).explain()
    )
    with pytest.raises(SparkLoweringError, match="partition by their name") as caught:
        SparkRuntime(app + "from O select k, sum(n) as n group by k insert into P;", None, strict=True)
    assert caught.value.code == "E410"


def test_stateless_queries_get_a_row_on_one_shard_only() -> None:
    text = (
        f"partition with ({RANGES} of S) begin {COUNTED} end;"
        "from S#log() select k, v, 1L as n insert into O; from O#log() select k insert into P;"
    )
    (fragment,) = layout(text).fragments
    assert (fragment.is_single, fragment.reason) == (True, "its elements have no common key")


def test_a_late_row_is_counted_once_for_several_shards() -> None:
    stream = FakeStream(STREAMS + SPREAD["all keys"], bound={"S", "R"}, shards=64, grace=0)
    stream.batch([(0, "S", 10_000, ("A", 1, 2.0)), (1, "R", 20_000, ("A", 1))])
    late = [("S", ("A", 1, 2.0)), ("S", ("A", 1, 0.0)), ("R", ("A", 1)), ("S", ("A", 3, None))]
    stream.batch([(n, name, 5_000, values) for n, (name, values) in enumerate(late, 2)])
    assert stream.late == 4


def test_a_label_belongs_to_one_shard() -> None:
    made = plan(parse(STREAMS + SPREAD["two ranges"]))
    (fragment,) = cut(made, streaming=True).fragments
    program = write_program(made, fragment, ["O"], shards=5)
    assert dict(program.labels) == {label: shard_of_key([label], 5) for label in ("up", "low", "A", "none")}
    assert len(dict(program.labels)) == len(program.labels)
