"""Parts of an app as apps of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi.planner.app import plan
from siddhi.planner.distribution.sub_app import SubApp, sub_app
from siddhi.planner.plan.elements import app_elements
from siddhi.planner.plan.limits import KeyLimitPlan, OnFull
from siddhi.planner.plan.nodes import QueryPlan
from siddhi.query_compiler.parser import parse
from tests.kit.apps import DEFINITION, apps, send_rows, timelines
from tests.kit.running import running

APP = """
@app:name('trades')
@app:statistics(reporter = 'console')
@source(type = 'inMemory', topic = 'in', @map(type = 'passThrough'))
define stream Trades (symbol string, price double);
@OnError(action = 'stream')
define stream Clean (symbol string, price double);
@PrimaryKey('symbol') define table Limits (symbol string, most double);
define table Seen (symbol string);
define window Last (symbol string, price double) length(2);
define aggregation PerSecond from Clean select symbol, sum(price) as total group by symbol aggregate every sec...min;
define trigger Tick at every 5 sec;

@info(name = 'clean') from Trades[price > 0.0] select symbol, price insert into Clean;
from Clean#window.length(3) select symbol, avg(price) as mean group by symbol insert into Means;
@info(name = 'limit') from Clean join Limits on Clean.symbol == Limits.symbol and Clean.price > Limits.most
select Clean.symbol as symbol, price insert into Alerts;
@info(name = 'see') from Alerts select symbol insert into Seen;
@info(name = 'keep') from Clean select symbol, price insert into Last;
@info(name = 'last') from Last select symbol insert into Latest;
partition with (symbol of Clean) begin
  from Clean select symbol, count() as n insert into #Counts;
  from #Counts[n > 1L] select symbol, n insert into Often;
end;
@info(name = 'outer') from (from Trades select symbol return)[symbol == 'A'] select symbol insert into As;
"""


def part(*names: str, app: str = APP) -> SubApp:
    return sub_app(plan(parse(app)), names)


def test_the_elements_of_an_app() -> None:
    found = {element.name: element for element in app_elements(plan(parse(APP)))}
    assert list(found) == [
        "Tick", "Last", "PerSecond", "clean", "query_2", "limit", "see", "keep", "last", "partition_0", "anonymous-1", "outer",
    ]  # fmt: skip
    assert found["limit"].reads == ("Clean",)
    assert found["limit"].uses == {"Limits"}
    assert found["see"].changes == {"Seen"}
    assert found["partition_0"].writes == ("Often",)
    assert found["outer"].reads == ("anonymous-1",)


def test_a_query_with_its_streams() -> None:
    found = part("query_2")
    assert found.names == ("query_2",)
    assert dict(found.inputs) == {"Clean": (("symbol", "string"), ("price", "double"))}
    assert dict(found.outputs) == {
        "!Clean": (("symbol", "string"), ("price", "double"), ("_error", "object")),
        "Means": (("symbol", "string"), ("mean", "double")),
    }
    assert "playback(timers = 'exact')" in found.text.replace("='", " = '")
    assert "@source" not in found.text
    assert "statistics" not in found.text
    assert "query_2" in found.text


def test_the_time_zone_is_copied_with_aggregations_only() -> None:
    whole = plan(parse(f"@app:aggTimeZone('Asia/Colombo') {APP}"))
    kept = sub_app(whole, ["PerSecond"])
    assert plan(parse(kept.text)).aggregations["PerSecond"].zone == "Asia/Colombo"
    assert kept.fingerprint != sub_app(plan(parse(APP)), ["PerSecond"]).fingerprint
    assert sub_app(whole, ["clean"]).text == sub_app(plan(parse(APP)), ["clean"]).text


def test_the_limits_of_the_app_apply_to_its_parts() -> None:
    whole = plan(parse(f"@app:limits(keys = '7', on.full = 'log') {APP.replace('#window.length(3)', '')}"))
    (query,) = plan(parse(sub_app(whole, ["query_2"]).text)).executions
    assert isinstance(query, QueryPlan)
    assert query.limit == KeyLimitPlan(keys=7, on_full=OnFull.LOG, annotation="@app:limits")


def test_inner_queries_windows_and_aggregations_are_copied_with_readers() -> None:
    assert part("outer").names == ("anonymous-1", "outer")
    assert part("last").names == ("Last", "last")
    assert list(part("last").inputs) == []
    assert part("keep", "last").names == ("Last", "keep", "last")
    assert list(part("keep", "last").inputs) == ["Clean"]
    with pytest.raises(ValueError, match="both are one query"):
        part("anonymous-1")
    with pytest.raises(ValueError, match="no element 'nothing'"):
        part("limit", "nothing")


def test_a_trigger_of_another_part_is_an_input() -> None:
    app = "define trigger T at every 1 sec; @info(name = 'q') from T select triggered_time as t insert into O;"
    assert list(part("q", app=app).inputs) == ["T"]
    assert list(part("q", "T", app=app).inputs) == []
    for names in (["q"], ["q", "T"]):
        with running(part(*names, app=app).text):
            pass


def test_read_only_tables_are_filled_by_a_stream() -> None:
    found = part("limit", "see")
    assert list(found.tables) == ["Limits"]
    with running(found.text) as runtime:
        runtime.collect("Alerts")
        rows = pa.table({"symbol": ["A", "B"], "most": [10.0, 20.0]})
        runtime.input_handler(found.fills["Limits"]).send_batch(rows)
        assert runtime.now == 0
        for row in [("A", 9.0), ("A", 11.0), ("B", 19.0), ("C", 99.0)]:
            runtime.input_handler("Clean").send(row, 1_000)
        assert runtime.drain()["Alerts"].column("symbol") == ["A"]
        assert [event.data for event in runtime.query("from Seen select symbol")] == [("A",)]


def test_a_stream_name_that_is_taken_is_refused() -> None:
    app = (
        "define stream S (a int); define stream T__rows (a int); define table T (a int);"
        "@info(name = 'q') from S join T on S.a == T.a select S.a as a insert into O;"
    )
    with pytest.raises(ValueError, match="'T__rows'"):
        part("q", app=app)


def test_a_stream_with_inside_and_outside_writers_is_input_and_output() -> None:
    app = (
        "define stream S (a int); @info(name = 'one') from S[a > 0] select a insert into M;"
        "@info(name = 'two') from S[a < 0] select a insert into M; @info(name = 'three') from M select a insert into O;"
    )
    found = part("one", "three", app=app)
    assert list(found.inputs) == ["S", "M"]
    assert list(found.outputs) == ["M", "O"]
    assert list(part("one", "two", "three", app=app).inputs) == ["S"]


def test_a_stream_read_only_by_a_partition_key_is_defined() -> None:
    app = (
        "define stream S (a int); define stream R (a int);"
        "@info(name = 'p') partition with (a of S, a of R) begin from S select a insert into O; end;"
    )
    found = part("p", app=app)
    assert list(found.inputs) == ["S"]
    with running(found.text):
        pass


def test_a_part_is_restored_from_json() -> None:
    found = part("limit", "partition_0")
    again = SubApp.from_json(found.to_json())
    assert again == found
    assert again.fingerprint == found.fingerprint
    assert found.fingerprint != part("limit").fingerprint
    for text in ('{"format": 2}', "[]", json.dumps({"format": 1, "text": ""})):
        with pytest.raises(ValueError, match="sub-app"):
            SubApp.from_json(text)


def test_a_part_planned_again_has_the_same_elements() -> None:
    everything = [element.name for element in app_elements(plan(parse(APP)))]
    whole = part(*everything)
    made = [element.name for element in app_elements(plan(parse(whole.text)))]
    assert [name for name in made if not name.startswith("fill ")] == everything


@given(app=apps(playback=True), events=timelines(), data=st.data())
def test_each_query_alone_has_the_output_of_the_app(app: str, events: list[Any], data: st.DataObject) -> None:
    whole = plan(parse(app))
    timers = "exact" if whole.playback and whole.playback.exact else "jump"
    names = [element.name for element in app_elements(whole) if element.reads == ("S",)]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    found = sub_app(whole, chosen, timers=timers)
    streams = [stream for stream in found.outputs if stream != "Both"]
    # After the error of one query, later queries of the app do not get the event; in separate apps they do.
    events = [event for event in events if event.values[2] is not None]
    assert put_out(found.text, streams, events) == put_out(app, streams, events)


def put_out(app: str, streams: Iterable[str], events: list[Any]) -> dict[str, Any]:
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.collect(*streams)
        send_rows(runtime, events)
        return {stream: (batch.timestamps.tolist(), list(batch)) for stream, batch in runtime.drain().items()}


def test_definitions_are_complete() -> None:
    text = sub_app(plan(parse(f"{DEFINITION} @info(name = 'q') from S select t insert into O;")), ["q"]).text
    assert parse(text).definitions[1:] == parse("define stream O (t string);").definitions
