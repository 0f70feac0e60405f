"""A state fits apps that say the same of what holds it; what differs is said."""

from __future__ import annotations

import pytest

from siddhi.errors import CannotRestoreStateError
from tests.runtime.running import collect, running

APP = """@app:name('A') @app:playback
define stream S (k string, v int);
define table T (k string, v int);
define window W (v int) length(2) output all events;
define aggregation G from S select k, sum(v) as total group by k aggregate every sec, min;
define trigger Tick at every 1 sec;
@info(name = 'sums') from S#window.length(3) select k, sum(v) as total insert into Sums;
@info(name = 'keep') from S select k, v insert into T;
@info(name = 'fill') from S select v insert into W;
@info(name = 'pattern') from every a=S -> b=S[v > a.v] select b.v as v insert into Rises;
@info(name = 'parts') partition with (k of S) begin
  @info(name = 'inner') from S#window.length(2) select k, max(v) as high insert into Highs;
end;
"""


def taken(app=APP):
    with running(app) as runtime:
        for number in range(3):
            runtime.input_handler("S").send(("ab"[number % 2], number), 1000 + number)
        return runtime.snapshot()


SNAPSHOT = taken()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "length(3)",
            "length(4)",
            r"query 'sums' is not what it was .*\n  -from S#window.length\(3\)\n  \+from S#window",
        ),
        ("define table T (k", "@index('k') define table T (k", r"table 'T' is not what it was .*\n  \+@index\('k'\)"),
        ("length(2) output", "length(5) output", r"window 'W' .*\n  -define window W \(v int\) length\(2\)"),
        ("every sec, min", "every sec, hour", "aggregation 'G' is not what it was"),
        ("every 1 sec", "every 2 sec", "trigger 'Tick' is not what it was"),
        ("[v > a.v]", "[v >= a.v]", "query 'pattern' is not what it was"),
        ("max(v) as high", "min(v) as high", "partition 'parts' is not what it was"),
        ("with (k of S)", "with (v of S)", "partition 'parts' is not what it was"),
        (
            "S (k string, v int)",
            "S (k string, v int, w int)",
            r"query 'sums' .*\n  -S \(k string, v int\)\n  \+S \(k str",
        ),
    ],
)
def test_an_element_that_changed_is_named_with_what_differs(old, new, said):
    assert old in APP
    with running(APP.replace(old, new, 1)) as runtime:
        before = runtime.snapshot()
        with pytest.raises(CannotRestoreStateError, match=f"the state of app 'A' was not restored: (.|\n)*{said}"):
            runtime.restore(SNAPSHOT)
        assert runtime.snapshot() == before


@pytest.mark.parametrize(
    "changed",
    [
        APP.replace("\n", "  -- a comment\n"),
        APP.replace("@app:name('A')", "@app:name('A') @app:description('of another kind')"),
        APP.replace("define stream S", "@sink(type = 'log') define stream S"),
        APP + "@info(name = 'more') from S[v > 1] select v insert into More;",
    ],
)
def test_what_concerns_no_state_may_change(changed):
    with running(changed) as runtime:
        sums = collect(runtime, "Sums")
        runtime.restore(SNAPSHOT)
        runtime.input_handler("S").send(("a", 10), 1003)
        assert sums == [("a", 13)]


def test_a_new_element_begins_empty_and_keeps_its_timers():
    more = APP + "@info(name = 'new') from S#window.time(1 sec) select v insert expired events into Gone;"
    with running(more) as runtime:
        gone = collect(runtime, "Gone")
        runtime.restore(SNAPSHOT)
        for time in (1003, 2003):
            runtime.input_handler("S").send(("a", 10), time)
        assert gone == [(10,)]


def test_state_of_what_is_gone_is_left_behind_with_a_warning(caplog):
    less = APP.replace(
        "@info(name = 'pattern') from every a=S -> b=S[v > a.v] select b.v as v insert into Rises;\n", ""
    )
    with running(less) as runtime:
        sums = collect(runtime, "Sums")
        runtime.restore(SNAPSHOT)
        runtime.input_handler("S").send(("a", 10), 1003)
        assert sums == [("a", 13)]
    assert "the snapshot has state of what the app has no more; it is left behind: query 'pattern'" in caplog.text


def test_a_snapshot_of_another_app_is_refused():
    other = "define stream X (v int); @info(name = 'x') from X#window.length(1) select v insert into Y;"
    with running(other) as runtime:
        runtime.input_handler("X").send((1,))
        foreign = runtime.snapshot()
    with running(APP) as runtime, pytest.raises(CannotRestoreStateError, match=r"belongs to another app.*query 'x'"):
        runtime.restore(foreign)


def test_queries_without_names_are_told_to_have_some():
    app = "define stream S (k string, v int); from S#window.length(2) select k insert into O;"
    snapshot = taken(app)
    with (
        running(app.replace("from S#", "from S#window.length(5) select v insert into P; from S#")) as runtime,
        pytest.raises(CannotRestoreStateError, match=r"query 'query_1' is not .* \(name queries with @info\(name = "),
    ):
        runtime.restore(snapshot)


def test_an_app_of_very_long_expressions_has_a_snapshot_too():
    app = f"define stream S (k string, v int); from S#window.length(2)[v > {' + '.join(['1'] * 5000)}] select k insert into O;"
    snapshot = taken(app)
    with running(app) as runtime:
        runtime.restore(snapshot)
    with (
        running(app.replace("> 1", "> 2")) as runtime,
        pytest.raises(CannotRestoreStateError, match="is not what it was"),
    ):
        runtime.restore(snapshot)


def test_queries_of_a_partition_need_no_name_where_others_come_and_go_before_it():
    inner = """@info(name = 'parts') partition with (k of S) begin
      from S#window.length(2) select k, max(v) as high insert into #Highs;
      from (from #Highs select k, high return)#window.length(2) select k, sum(high) as total insert into Totals;
    end;"""
    begun = "@app:name('A') @app:playback define stream S (k string, v int); "
    before = "from S#window.length(2) select sum(v) as v insert into Sums; from (from S select v return) select v insert into Vs; "
    with running(begun + before + inner) as runtime:
        runtime.input_handler("S").send(("a", 1), 1000)
        runtime.input_handler("S").send(("a", 2), 1001)
        snapshot = runtime.snapshot()
    for now in (inner, before + before.replace("Sums", "More") + inner):
        with running(begun + now) as runtime:
            totals = collect(runtime, "Totals")
            runtime.restore(snapshot)
            runtime.input_handler("S").send(("a", 3), 1002)
            assert totals == [("a", 5)]


@pytest.mark.parametrize(("first", "second"), [("same", "same"), ("query 2", None), ("a/b", "b/a"), ("1", "2")])
def test_names_with_a_meaning_of_their_own_keep_states_apart(first, second):
    second = "" if second is None else f"@info(name = '{second}') "
    app = f"""@app:playback define stream S (k string, v int);
    @info(name = 'a/b/{first}') from S select k, count() as n insert into Out;
    @info(name = 'a/b') partition with (k of S) begin
      @info(name = '{first}') from S select k, count() as n insert into Out; {second} from S select k, sum(v) as n insert into Out;
    end;
    @info(name = 'a') partition with (k of S) begin
      @info(name = 'b') from S select k, max(v) as n insert into Last;
    end;"""
    with running(app) as runtime:
        runtime.input_handler("S").send(("a", 5), 1000)
        snapshot = runtime.snapshot()
    with running(app) as runtime:
        rows, last = collect(runtime, "Out"), collect(runtime, "Last")
        runtime.restore(snapshot)
        runtime.input_handler("S").send(("a", 4), 1001)
        assert (rows, last) == ([("a", 2), ("a", 2), ("a", 9)], [("a", 5)])
