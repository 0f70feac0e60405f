"""The plan of an app in several formats, with and without figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

import siddhi
from siddhi.planner.explain.app import explain
from siddhi.runtime.app import SiddhiAppRuntime

APP = """
@app:name('graph')
define stream S (k string, v int);
define table T (k string, v int);
define trigger Beat at every 1 min;
@info(name = 'keep') from S[v > 1] select k, v insert into T;
@info(name = 'find <all>') from S join T on S.k == T.k select S.k as k, T.v as v insert into Found;
partition with (k of S) begin
  @info(name = 'count') from S#window.lengthBatch(2) select k, count() as n insert into Counts;
end;
@info(name = 'again') from Counts select k, 1 as v insert into S;
"""


@pytest.fixture
def app() -> Iterator[SiddhiAppRuntime]:
    with siddhi.App(APP) as runtime:
        yield runtime


def test_the_plan_is_text_by_default(app: SiddhiAppRuntime) -> None:
    assert app.explain() == explain(app.plan)
    assert "<pre>" in app.explain()._repr_html_()


def test_json_has_the_graph_and_the_plan(app: SiddhiAppRuntime) -> None:
    content = json.loads(app.explain("json"))
    edges = {(edge["source"], edge["target"], edge["kind"]) for edge in content["edges"]}
    assert {
        ("stream S", "query keep", "flows"),
        ("query keep", "table T", "flows"),
        ("table T", "query find <all>", "reads"),
        ("query again", "stream S", "flows"),
    } <= edges
    assert content["plan"] == explain(app.plan).splitlines()
    assert {node["kind"] for node in content["nodes"]} == {"stream", "table", "trigger", "query", "partition"}


def test_mermaid_names_every_node(app: SiddhiAppRuntime) -> None:
    text = app.explain("mermaid")
    assert text.startswith("flowchart LR\n")
    assert text.count(" --> ") + text.count(" -.-> ") == len(json.loads(app.explain("json"))["edges"])


def test_svg_is_well_formed_and_has_a_box_per_node(app: SiddhiAppRuntime) -> None:
    picture = app.explain("svg")
    root = ET.fromstring(picture)
    boxes = [element for element in root.iter() if element.tag.endswith("}rect")]
    assert len(boxes) == len(json.loads(app.explain("json"))["nodes"])
    assert picture._repr_html_() == picture


def test_figures_of_the_last_profile_are_added(app: SiddhiAppRuntime) -> None:
    with pytest.raises(ValueError, match="was not profiled"):
        app.explain(analyze=True)
    plain = {format_: app.explain(format_) for format_ in ("text", "json", "mermaid", "svg")}
    with app.profile(every=1) as profile:
        for number in range(10):
            app["S"].send((f"k{number % 2}", number))
    for format_ in ("text", "json", "mermaid", "svg"):
        analyzed = app.explain(format_, analyze=True)
        assert analyzed == app.explain(format_, analyze=profile)
        assert analyzed != plain[format_]
    lines = app.explain(analyze=True).splitlines()
    keep = next(number for number, line in enumerate(lines) if line.startswith("query keep"))
    assert "→" in lines[keep]
    assert lines[keep + 1].strip().startswith("| filter:")
    assert json.loads(app.explain("json", analyze=True))["profile"]["rows"] == profile.rows


def test_unknown_formats_are_refused(app: SiddhiAppRuntime) -> None:
    with pytest.raises(ValueError, match="expected one of text, json, mermaid, svg"):
        app.explain("dot")  # type: ignore[arg-type]


def test_an_app_shows_as_its_graph(app: SiddhiAppRuntime) -> None:
    assert "<svg" in app._repr_html_()
    app.enable_statistics("BASIC")
    app["S"].send(("k", 1))
    assert "events, " in app._repr_html_()


def test_an_app_without_a_name_shows_none() -> None:
    app = siddhi.App("define stream S (a int); from S select a insert into T;")
    assert app.name not in app.explain("svg") + app.explain("json") + app._repr_html_()
    assert json.loads(app.explain("json"))["app"] is None
    named = siddhi.App("@app:name('alerts') define stream S (a int); from S select a insert into T;")
    assert json.loads(named.explain("json"))["app"] == "alerts"
    assert "<b>alerts</b>" in named._repr_html_()
