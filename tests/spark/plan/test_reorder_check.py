"""Projections between readers of one stream; the plan needs no Java. Then order of results."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.fragments import cut
from siddhi.spark.testing import assert_parity

pytestmark = pytest.mark.filterwarnings("ignore:.*runs? on one shard:UserWarning")
STREAM = "define stream S (a string, i int);"
START = 1_700_000_000_000
FIRST = "@info(name = 'first') from S select a, count() as i group by a insert into X;"
BETWEEN = "@info(name = 'between') from S[i > 0] select a, 100L as i insert into {};"
AFTER = "@info(name = 'after') from S select a, count() + 200 as i group by a insert into X;"
LAST = "@info(name = 'last') from X#window.length(3) select a, i, sum(i) as n insert into O;"


def stages(text: str, **options) -> list[str]:
    return [step.element.name for step in cut(plan(parse(STREAM + text)), **options).catalyst_stages]


def reasons(text: str, **options) -> dict[str, str]:
    found: dict[str, str] = {}
    for fragment in cut(plan(parse(STREAM + text)), **options).fragments:
        found.update(fragment.why)
    return found


@pytest.mark.parametrize("streaming", [False, True])
def test_a_projection_between_readers_of_its_stream_runs_in_the_engine(streaming):
    text = FIRST + BETWEEN.format("X") + AFTER + LAST
    assert stages(text, streaming=streaming) == []
    why = reasons(text, streaming=streaming)["between"]
    assert why == "its output comes before what after makes of 'S'"


@pytest.mark.parametrize("streaming", [False, True])
def test_projections_on_the_way_run_in_the_engine(streaming):
    text = (
        f"{FIRST} {BETWEEN.format('Y')} {AFTER} @info(name = 'on') from Y[a != 'x'] select a, i insert into X; {LAST}"
        "@info(name = 'aside') from S[i < 0] select a insert into P;"
    )
    assert stages(text, streaming=streaming) == ["aside"]


@pytest.mark.parametrize(
    "text",
    [
        BETWEEN.format("X") + FIRST + AFTER + LAST,  # ahead of all
        FIRST + AFTER + BETWEEN.format("X") + LAST,  # behind all
        FIRST + BETWEEN.format("Y") + AFTER + LAST,  # no engine reads it
        (  # Nothing sees what either of them makes.
            f"{FIRST} {BETWEEN.format('Y')} {AFTER} @info(name = 'other') from Y select a, count() as n insert into O;"
        ),
        (  # All of it is seen together where nothing is kept.
            f"{FIRST} {BETWEEN.format('Y')} {AFTER} @info(name = 'other') from Y select a, count() as i insert into X;"
            "@info(name = 'last') from X select a, i insert into O;"
        ),
    ],
)
def test_other_projections_run_in_catalyst(text):
    assert "between" in stages(text)


def test_readers_that_share_a_table_or_window_are_ordered():
    table = (
        "define table T (a string, i int); from S select a, i update or insert into T on T.a == a;"
        f"{BETWEEN.format('M')} from S delete T on T.a == a;"
        "from M join T on M.a == T.a select M.a as a, T.i as i insert into O;"
    )
    window = (
        "define window W (a string, i int) length(2); from S select a, count() as c insert into C;"
        f"{BETWEEN.format('M')} from S select a, i insert into W; from C select a insert into P;"
        "from S#window.length(1) as s join W on s.a == W.a select s.a as a insert into Q;"
        "from M#window.length(1) as m join W on m.a == W.a select m.a as a insert into O;"
    )
    assert "between" not in stages(table) + stages(window)


# --- nothing is overtaken

ROWS = [("S", START + 10 * n, (["x", "y", None, "z"][n % 4], n % 9)) for n in range(24)]
APPS = {
    "windows": FIRST + BETWEEN.format("X") + AFTER + LAST,
    "a table": (
        "define table T (a string, i int); from S select a, i update or insert into T on T.a == a;"
        "from S[i > 0] select a, i insert into M; from S delete T on T.a == a;"
        "from M join T on M.a == T.a select M.a as a, T.i as i insert into O;"
    ),
    "patterns": (
        "from every a=S, b=S[i > a.i] select b.a as a, 'rise' as what insert into Trend;"
        "from S[i > 6] select a, 'high' as what insert into Trend;"
        "from every a=S, b=S[i < a.i] select b.a as a, 'fall' as what insert into Trend;"
        "from every a=Trend[what == 'high'], b=Trend[what == 'fall'] select a.a as a insert into O;"
    ),
    "a join": (
        "from S select a, i, count() as n group by a insert into A; from S[i > 3] select a, i, 5L as n insert into A;"
        "from S#window.length(2) select a, i, sum(i) as n insert into B;"
        "from A join B#window.length(1) on A.a == B.a select A.a as a, A.n as n, B.n as m insert into O;"
    ),
}


@pytest.mark.spark
@pytest.mark.parametrize("app", APPS)
def test_the_order_is_that_of_one_engine(spark, app):
    assert_parity(STREAM + APPS[app], ROWS, spark)
