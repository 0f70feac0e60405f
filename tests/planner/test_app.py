from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import Playback
from siddhi.query_api import SiddhiApp, StreamDefinition
from siddhi.query_compiler import parse
from tests.kit.planning import STREAM, planned, query, refused


def test_the_app_name_is_given_or_generated() -> None:
    assert planned("@app:name('mine') " + STREAM).name == "mine"
    first, second = planned(STREAM).name, planned(STREAM).name
    assert first != second


@pytest.mark.parametrize(
    ("annotation", "playback"),
    [
        ("", None),
        ("@app:playback", Playback()),
        ("@app:playback(idle.time='1 sec', increment='2 sec')", Playback(1000, 2000)),
    ],
)
def test_playback(annotation: str, playback: Playback | None) -> None:
    assert planned(f"{annotation}\n{STREAM}").playback == playback


@pytest.mark.parametrize(
    "annotation",
    [
        "@app:playback(idle.time='1 sec')",
        "@app:playback(increment='1 sec')",
        "@app:playback(idle.time='soon', increment='1 sec')",
        "@app:playback(speed='2', idle.time='1 sec', increment='1 sec')",
        "@app:playback('true')",
        "@app:async",
        "@app:statistics(reporter='nowhere')",
        "@app:statistics('perhaps')",
        "@app:statistics(interval='often')",
        "@app:name('a') @app:name('b')",
    ],
)
def test_invalid_app_annotations_are_refused(annotation: str) -> None:
    assert refused(STREAM, definitions=annotation + "\n").code in ("E315", "E206")


@pytest.mark.parametrize(
    "annotation", ["@app:statistics", "@app:statistics('false')", "@app:statistics(reporter='console')"]
)
def test_statistics_annotations_are_accepted(annotation: str) -> None:
    assert planned(f"{annotation}\n{STREAM}").statistics is not None


def test_unknown_annotations_are_ignored() -> None:
    planned("@app:description('x') @app:enforceOrder @app:whatever(a='b') @any(c='d') " + STREAM)


def test_queries_are_numbered_in_text_order() -> None:
    text = "from S select i insert into A; @info(name='mine') from S select i insert into B; from S select i insert into C;"
    assert [execution.name for execution in planned(STREAM + text).executions] == ["query_1", "mine", "query_3"]


def test_names_are_unique() -> None:
    text = "@info(name='query_2') from S select i insert into A; from S select i insert into B;"
    assert refused(text).code == "E208"


@pytest.mark.parametrize(
    ("annotation", "expected"), [("", None), ("@synchronized('true')", True), ("@synchronized('false')", False)]
)
def test_synchronized(annotation: str, expected: bool | None) -> None:
    assert query(f"{annotation} from S select i insert into O;").synchronized is expected


def test_errors_contain_the_app_and_its_text() -> None:
    error = refused("from S select zz insert into O;", definitions="@app:name('mine')\n" + STREAM)
    assert error.app == "mine"
    assert str(error).split("\n")[1:3] == ["3 | from S select zz insert into O;", "                  ^^"]


def test_the_text_can_be_passed_separately() -> None:
    app = SiddhiApp(definitions=(StreamDefinition("S", parse(STREAM).definitions[0].attributes * 2),))  # type: ignore[union-attr]
    with pytest.raises(SiddhiAppError) as caught:
        plan(app, source="the text")
    assert caught.value.source == "the text"


def test_plans_are_values() -> None:
    text = (
        "@app:name('mine')" + STREAM + "from S[i > 1]#window.length(3) select s, sum(i) as t group by s insert into O;"
    )
    assert planned(text) == planned(text)
