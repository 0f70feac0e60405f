"""State can be restored in apps with equal elements; differences are named in the error."""

from __future__ import annotations

import pytest

from siddhi.errors import CannotRestoreStateError
from tests.kit.running import collect, running

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
            r"query 'sums' has changed since .*\n  -from S#window.length\(3\)\n  \+from S#window",
        ),
        ("define table T (k", "@index('k') define table T (k", r"table 'T' has changed since .*\n  \+@index\('k'\)"),
        ("length(2) output", "length(5) output", r"window 'W' .*\n  -define window W \(v int\) length\(2\)"),
        ("every sec, min", "every sec, hour", "aggregation 'G' has changed since"),
        ("every 1 sec", "every 2 sec", "trigger 'Tick' has changed since"),
        ("[v > a.v]", "[v >= a.v]", "query 'pattern' has changed since"),
        ("max(v) as high", "min(v) as high", "partition 'parts' has changed"),
        ("with (k of S)", "with (v of S)", "partition 'parts' has changed"),
        (
            "S (k string, v int)",
            "S (k string, v int, w int)",
            r"query 'sums' .*\n  -S \(k string, v int\)\n  \+S \(k str",
        ),
    ],
)
def test_a_changed_element_is_named_with_the_difference(old, new, said):
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
def test_changes_without_effect_on_state_are_allowed(changed):
    with running(changed) as runtime:
        sums = collect(runtime, "Sums")
        runtime.restore(SNAPSHOT)
        runtime.input_handler("S").send(("a", 10), 1003)
        assert sums == [("a", 13)]


def test_a_new_element_starts_empty_and_keeps_its_timers():
    more = APP + "@info(name = 'new') from S#window.time(1 sec) select v insert expired events into Gone;"
    with running(more) as runtime:
        gone = collect(runtime, "Gone")
        runtime.restore(SNAPSHOT)
        for time in (1003, 2003):
            runtime.input_handler("S").send(("a", 10), time)
        assert gone == [(10,)]


def test_state_of_a_removed_element_is_dropped_with_a_warning(caplog):
    less = APP.replace(
        "@info(name = 'pattern') from every a=S -> b=S[v > a.v] select b.v as v insert into Rises;\n", ""
    )
    with running(less) as runtime:
        sums = collect(runtime, "Sums")
        runtime.restore(SNAPSHOT)
        runtime.input_handler("S").send(("a", 10), 1003)
        assert sums == [("a", 13)]
    assert "ignored state in the snapshot of elements that the app no longer has: query 'pattern'" in caplog.text


def test_a_snapshot_of_another_app_is_refused():
    other = "define stream X (v int); @info(name = 'x') from X#window.length(1) select v insert into Y;"
    with running(other) as runtime:
        runtime.input_handler("X").send((1,))
        foreign = runtime.snapshot()
    with running(APP) as runtime, pytest.raises(CannotRestoreStateError, match=r"belongs to another app.*query 'x'"):
        runtime.restore(foreign)


def test_queries_without_names_get_a_hint_to_name_them():
    app = "define stream S (k string, v int); from S#window.length(2) select k insert into O;"
    snapshot = taken(app)
    with (
        running(app.replace("length(2)", "length(5)")) as runtime,
        pytest.raises(
            CannotRestoreStateError, match=r"query 'query_1' has changed .* \(name queries with @info\(name = "
        ),
    ):
        runtime.restore(snapshot)


def test_queries_without_names_are_recognized_by_their_text():
    app = "define stream S (k string, v int); from S#window.length(2) select sum(v) as total insert into O;"
    snapshot = taken(app)
    more = app.replace("from S#", "from S#window.length(5) select v insert into P; from S#")
    with running(more) as runtime:
        totals = collect(runtime, "O")
        runtime.restore(snapshot)
        runtime.input_handler("S").send(("a", 10), 1003)
    assert totals == [(12,)]


def test_changed_elements_start_anew_where_reset_names_them():
    changed = APP.replace("length(3)", "length(2)").replace("max(v) as high", "min(v) as high")
    with running(changed) as runtime:
        sums, rises, highs = collect(runtime, "Sums"), collect(runtime, "Rises"), collect(runtime, "Highs")
        with pytest.raises(
            CannotRestoreStateError, match=r"partition 'parts': its definition has changed(.|\n)*query 'sums'"
        ):
            runtime.restore(SNAPSHOT, reset="T")
        runtime.restore(SNAPSHOT, reset=("sums", "partition 'parts'"))
        runtime.input_handler("S").send(("a", 10), 1003)
        assert (sums, rises, highs) == ([("a", 10)], [(10,)], [("a", 10)])
        assert len(runtime.query("from T select k, v")) == 4


def test_reset_starts_an_unchanged_element_anew_before_the_start_too():
    from siddhi import App

    app = App(APP)
    app.restore(SNAPSHOT, reset=("T", "G"))
    with app:
        assert app.query("from T select k, v") == []
        assert app.query("from G within 0L, 100000L per 'sec' select total") == []
        app["S"].send(("a", 10), 1003)
        assert app.query("from G within 0L, 100000L per 'sec' select total")[0].data == (10,)


def test_reset_of_an_unknown_name_is_refused():
    with running(APP) as runtime, pytest.raises(ValueError, match="no element 'sum'; did you mean 'sums'"):
        runtime.restore(SNAPSHOT, reset="sum")


def test_an_app_of_very_long_expressions_has_a_snapshot():
    app = f"define stream S (k string, v int); from S#window.length(2)[v > {' + '.join(['1'] * 5000)}] select k insert into O;"
    snapshot = taken(app)
    with running(app) as runtime:
        runtime.restore(snapshot)
    with (
        running(app.replace("> 1", "> 2")) as runtime,
        pytest.raises(CannotRestoreStateError, match="has changed since"),
    ):
        runtime.restore(snapshot)


def test_queries_of_a_partition_need_no_name_if_earlier_queries_change():
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
def test_reserved_names_keep_states_separate(first, second):
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


# --- script functions

SCRIPTED = """@app:name('A') @app:playback
define function twice[python] return int {return data[0] * 2};
define function other[python] return int {return data[0]};
define stream S (k string, v int);
@info(name = 'q') from S#window.length(2) select k, sum(twice(v)) as total insert into Out;
"""
IN_A_TEXT = SCRIPTED.replace("length(2)", "expression('twice(v) < 20')").replace("sum(twice(v))", "sum(v)")
INSIDE = SCRIPTED.replace("@info(name = 'q')", "partition with (k of S) begin").replace("Out;", "Out; end;")


@pytest.mark.parametrize("app", [SCRIPTED, IN_A_TEXT, INSIDE])
def test_a_called_script_function_is_compared(app):
    snapshot = taken(app)
    with (
        running(app.replace("data[0] * 2", "data[0] * 3")) as runtime,
        pytest.raises(
            CannotRestoreStateError, match=r"\n  -define function twice.*\* 2(.|\n)*\n  \+define function twice.*\* 3"
        ),
    ):
        runtime.restore(snapshot)
    with running(app.replace("{return data[0]}", "{return 0}")) as runtime:
        runtime.restore(snapshot)


# --- partitions

PARTITION = """@app:name('A') @app:playback define stream S (k string, v int);
partition with (k of S) begin
  from S[v > 0] select k, v insert into #I;
  from #I#window.length(2) select k, sum(v) as total insert into Out;
end;
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("begin", "begin from S select v insert into More;"),
        ("begin", "begin from (from S select v return) select v insert into More;"),
        ("[v > 0]", "[v > -1]"),
        (
            "from S[v > 0] select k, v insert into #I;",
            "from S select k, v insert into #J; from #J select * insert into #I;",
        ),
    ],
)
def test_queries_without_state_can_be_changed_inside_a_partition(old, new):
    snapshot, changed = taken(PARTITION), PARTITION.replace(old, new)
    with running(changed) as runtime:
        rows = collect(runtime, "Out")
        runtime.restore(snapshot)
        runtime.input_handler("S").send(("a", 10), 1003)
        assert rows == [("a", 12)]
    snapshot = taken(changed)
    with running(PARTITION) as runtime:
        rows = collect(runtime, "Out")
        runtime.restore(snapshot)
        runtime.input_handler("S").send(("a", 10), 1003)
        assert rows == [("a", 12)]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("select k, v insert into #I", "select k, v, 1 as w insert into #I", r"\+#I \(k string, v int, w int\)"),
        ("begin", "begin from S select count() as n insert into More;", r"count\(\)"),
        ("length(2)", "length(3)", r"length\(3\)"),
    ],
)
def test_queries_with_state_cannot_be_changed_inside_a_partition(old, new, said):
    with (
        running(PARTITION.replace(old, new)) as runtime,
        pytest.raises(CannotRestoreStateError, match=f"partition 'partition_0' has changed (.|\n)*{said}"),
    ):
        runtime.restore(taken(PARTITION))


# --- purging

PURGE = "@purge(enable = 'true', interval = '{interval}', idle.period = '{idle}') "


@pytest.mark.parametrize("before", ["", PURGE.format(interval="1 hour", idle="1 hour")])
@pytest.mark.parametrize("now", ["", PURGE.format(interval="1 sec", idle="2 sec")])
def test_the_purging_of_keys_can_be_changed(before, now):
    app = PARTITION.replace("partition", "{}partition")
    snapshot = taken(app.format(before))
    with running(app.format(now)) as runtime:
        rows = collect(runtime, "Out")
        runtime.restore(snapshot)
        runtime.input_handler("S").send(("a", 10), 1003)
        runtime.advance_clock(2500)
        runtime.input_handler("S").send(("b", 10), 2500)
        for time in (3500, 4500):
            runtime.advance_clock(time)
        for key in "ab":
            runtime.input_handler("S").send((key, 10), 4500)
        total = 10 if now else 20
        assert rows == [("a", 12), ("b", 11), ("a", total), ("b", total)]
        later = runtime.snapshot()
        runtime.restore(later)
        assert runtime.snapshot() == later


AGGREGATION = """@app:name('A') @app:playback define stream S (k string, v int);
{}define aggregation G from S select k, sum(v) as total group by k aggregate every sec, min;
"""
AGGREGATION_PURGES = [
    "",
    "@purge(enable = 'false') ",
    "@purge(enable = 'true', interval = '10 sec', @retentionPeriod(sec = '120 sec', min = 'all')) ",
]


@pytest.mark.parametrize("before", AGGREGATION_PURGES)
@pytest.mark.parametrize("now", AGGREGATION_PURGES)
def test_the_purging_of_an_aggregation_can_be_changed(before, now):
    snapshot = taken(AGGREGATION.format(before))
    with running(AGGREGATION.format(now)) as runtime:
        runtime.restore(snapshot)
        runtime.input_handler("S").send(("a", 10), 1003)
        rows = runtime.query("from G within 0L, 5000L per 'sec' select k, total")
        assert sorted(row.data for row in rows) == [("a", 12), ("b", 1)]


def test_the_time_zone_can_be_changed_if_all_buckets_start_equally():
    zone = "@app:aggTimeZone('Asia/Colombo') "
    hours = AGGREGATION.format("").replace("min", "hour")
    for before, now in ((hours, zone + hours), (zone + hours, hours)):
        with running(now) as runtime:
            with pytest.raises(
                CannotRestoreStateError, match=r"aggregation 'G' (.|\n)*[+-]buckets begin in Asia/Colombo"
            ):
                runtime.restore(taken(before))
            assert runtime.query("from G within 0L, 5000L per 'sec' select k, total") == []
    for before, now in (
        (AGGREGATION.format(""), zone + AGGREGATION.format("")),
        (hours, "@app:aggTimeZone('UTC') " + hours),
        (zone + hours, zone + hours),
    ):
        with running(now) as runtime:
            runtime.restore(taken(before))
            rows = runtime.query("from G within 0L, 5000L per 'sec' select k, total")
            assert sorted(row.data for row in rows) == [("a", 2), ("b", 1)]


# --- queries without names


def test_a_missing_query_without_name_gets_a_hint_to_name_it(caplog):
    app = "@app:playback define stream S (k string, v int); from S#window.length(2) select k insert into O;"
    named = "@info(name = 'n') from S select count() as c insert into C;"
    front = app.replace("#window.length(2)", "")
    hint = r"query 'query_1' \(name queries with @info\(name = '...'\)\)"
    with running(front) as runtime, pytest.raises(CannotRestoreStateError, match=f"another app: .* {hint}"):
        runtime.restore(taken(app))
    with running(front + named) as runtime:
        runtime.restore(taken(app + named))
    assert "that the app no longer has: query 'query_1' (name queries with @info(name = '...'))" in caplog.text
