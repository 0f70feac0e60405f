"""Outputs that a fragment may read, and merging of fragments; needs no Java. Then results."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.fragments import CatalystStage, Layout, cut
from siddhi.spark.testing import assert_parity

pytestmark = pytest.mark.filterwarnings("ignore:.*runs? on one shard:UserWarning")
STREAMS = "define stream S (a string, i int); define stream T (a string, i int);"
FUNCTION = "define function f[python] return int { return data[0] };"
BATCH = "@info(name = 'bars') from S#window.timeBatch(1 sec, 0) select a, count() as c group by a insert into B;"
START = 1_700_000_000_000


def laid_out(text: str, **options) -> Layout:
    return cut(plan(parse(STREAMS + text)), **options)


def shape(text: str, **options) -> list[str]:
    """Per step its queries, behind a word for how it runs."""
    steps = laid_out(text, **options).steps
    return [
        f"native {step.element.name}"
        if isinstance(step, CatalystStage)
        else f"{step.partitioning.value} {' '.join(step.names)}"
        for step in steps
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{BATCH} @info(name = 'f') from B[c > 1] select a insert into O;", ["native bars", "native f"]),
        (f"{BATCH} @info(name = 'r') from B select sum(c) as n insert into O;", ["one shard bars r"]),
        (
            (
                f"{BATCH} @info(name = 'f') from B[c > 1] select * insert into C; "
                "@info(name = 'r') from C select sum(c) as n insert into O;"
            ),
            ["one shard bars f r"],
        ),
        (
            f"{BATCH} @info(name = 'r') from B as b join T#window.time(1 sec) as t on b.a == t.a select b.a insert into O;",
            ["shards bars r"],
        ),
        (f"{BATCH} @info(name = 'r') from B select a output every 2 events insert into O;", ["one shard bars r"]),
        (f"{BATCH} @info(name = 'r') from B select a, currentTimeMillis() as t insert into O;", ["shards bars r"]),
        (f"define table K (a string); {BATCH} @info(name = 'r') from B select a insert into K;", ["shards bars r"]),
        (
            (
                "define table K (a string); @info(name = 'j') from S join K on S.a == K.a select S.a as a insert into J;"
                "@info(name = 'r') from J select count() as n insert into O;"
            ),
            ["one shard j r"],
        ),
    ],
)
def test_order_sensitive_output_runs_in_the_engine_not_in_catalyst(text, expected):
    assert shape(text) == expected


NEIGHBOUR = "@info(name = 'near') from S#window.length(3) select count() as n insert into N;"


@pytest.mark.parametrize("prefer", ["native", "engine"])
def test_a_group_joins_the_fragment_that_emits_chunks(prefer):
    text = (
        f"{BATCH} @info(name = 'f') from B[c > 1] select * insert into C; {NEIGHBOUR}"
        "@info(name = 'r') from C select sum(c) as n insert into O;"
    )
    assert shape(text, prefer=prefer) == ["one shard bars f near r"]


def test_several_outputs_of_one_event_are_read_in_order():
    text = (
        f"{FUNCTION} @info(name = 'u') from S select a, f(i) as i insert into U;"
        "@info(name = 'v') from T select a, f(i) as i insert into U;"
        "partition with (a of U) begin @info(name = 'p') from U select a, i, count() as c insert into C; end;"
        "partition with (i of C) begin @info(name = 'q') from C select i, count() as c insert into D; end;"
        "@info(name = 'r') from D select count() as n insert into O;"
    )
    layout = laid_out(text)
    assert [(fragment.partitioning.value, fragment.ordered) for fragment in layout.fragments] == [
        ("anywhere", ("U",)),
        ("shards", ("C",)),
        ("shards", ("D",)),
        ("one shard", ()),
    ]


@pytest.mark.parametrize(
    "text",
    [
        # One row comes twice, by two ways.
        (
            f"{FUNCTION} @info(name = 'u') from S[f(i) > 0] select a, i insert into U; @info(name = 'n') from S select a, i "
            "insert into U; @info(name = 'r') from U select count() as c insert into O;"
        ),
        # It reaches every shard.
        (
            "partition with (a of S) begin @info(name = 'u') from T select a, i insert into U; from S select a insert into V; end;"
            "@info(name = 'r') from U select count() as c insert into O;"
        ),
        # It comes later.
        (
            "partition with (a of S) begin @info(name = 'u') from S#window.delay(1 sec) select a, i insert into U; end;"
            "@info(name = 'r') from U select count() as c insert into O;"
        ),
    ],
)
def test_output_without_order_is_read_in_the_same_fragment(text):
    (fragment,) = laid_out(text).fragments
    assert fragment.is_single


# --- it comes as in one engine

ROWS = [("ST"[n % 2], START + 137 * (n // 4), ("xyz"[n % 3], n)) for n in range(48)]


@pytest.mark.spark
@pytest.mark.parametrize("shuffled", [False, True])
def test_order_within_a_millisecond_is_kept_across_fragments(spark, shuffled):
    rows = sorted(ROWS, key=lambda row: row[2][1] * 7 % 48) if shuffled else ROWS
    assert_parity(
        f"""{STREAMS} {FUNCTION}
        from S select a, f(i) as i insert into U;
        from T[i % 5 != 0] select a, i insert into U;
        from U select a, i, count() as c, sum(i) as s insert into O;
        partition with (a of U) begin
            from U select a, i, count() as c insert into C;
            from every x=U, y=U[i > x.i] select x.i as i, y.i as j insert into P;
        end;
        from C#window.length(3) select a, i, c, sum(i) as s insert into D;
        partition with (c of C) begin from C select i, c, count() as n insert into E; end;
        from E select i, n, count() as all insert into F;
        from P#window.lengthBatch(3) select sum(i) as s, count() as n insert into Q;""",
        rows,
        spark,
    )


@pytest.mark.spark
def test_readers_of_batches_get_them_complete(spark):
    assert_parity(
        f"""{STREAMS} {NEIGHBOUR} {BATCH}
        from B[c > 1] select a, c insert into C;
        from C select sum(c) as total insert into G;
        from C#window.lengthBatch(2) select a, c insert into L;
        from B as b join T#window.time(300) as t on b.a == t.a select b.a as a, b.c as c, t.i as i insert into J;
        from every t=T -> b=B[a == t.a] within 300 milliseconds select b.a as a, t.i as i insert into M;
        from B select a, currentTimeMillis() as now, eventTimestamp() as at insert into N2;""",
        ROWS,
        spark,
        end_of_input="flush",
    )


@pytest.mark.spark
def test_rows_joined_with_a_table_are_emitted_together(spark):
    assert_parity(
        f"""{STREAMS} define table K (a string, w int);
        from S join K on S.a == K.a select S.a as a, K.w as w insert into J;
        from J select a, sum(w) as w, count() as n insert into O;""",
        ROWS,
        spark,
        tables={"K": [("x", 1), ("x", 2), ("y", 4)]},
    )


@pytest.mark.spark
def test_the_clock_of_a_row_is_its_own_time(spark):
    assert_parity(
        f"""{STREAMS} {FUNCTION}
        from S select a, i, currentTimeMillis() - eventTimestamp() as behind insert into O;
        from T[currentTimeMillis() % 2L == 0L] select a, f(i) as i, currentTimeMillis() as now insert into P;""",
        ROWS[::-1],
        spark,
    )


SETS = f"""{STREAMS} define stream Sets (a string, seen object, n long);
define aggregation Totals from Sets select a, sum(n) as total group by a aggregate every sec;
@info(name = 'sets') from S#window.lengthBatch(2) select a, unionSet(createSet(i)) as seen, count() as n insert into Sets;
@info(name = 'filter') from Sets[n > 1] select a, n insert into Out;
@info(name = 'bars') from Sets#window.timeBatch(1 sec, 0) select count() as n insert into Bars;
@info(name = 'by') from every e=S[i > 0]<1:2> -> f=S[i == 0] select e[0].i as i, e.i as all, f.a as a insert into P;
@info(name = 'of pattern') from P[i > 1] select a, i insert into Named;
"""


@pytest.mark.parametrize("streaming", [False, True])
def test_readers_of_object_attributes_run_where_these_are(streaming):
    layout = cut(plan(parse(SETS)), streaming=streaming)
    assert layout.catalyst_stages == ()
    (fragment,) = layout.fragments
    assert set(fragment.names) == {"sets", "filter", "bars", "by", "of pattern", "Totals"}


@pytest.mark.spark
def test_rows_behind_object_attributes(spark):
    rows = [("S", START + 150 * n, ("ab"[n % 2], n % 4)) for n in range(24)]
    assert_parity(SETS, rows, spark, outputs=["Out", "Bars", "Named"], shards=[2], prefer=["native"])
