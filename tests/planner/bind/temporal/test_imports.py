"""Topics of the in-memory broker: lifetimes do not come back to the stream that they come from."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.query_compiler.parser import parse

A = "@source(type = 'inMemory', topic = 't') @temporal(model = 'point') define stream A (k int); "
OUT = "@sink(type = 'inMemory', topic = '{}'{}) @temporal(model = 'point') define stream {} (k int); "
IN = "@source(type = 'inMemory', topic = '{}') @temporal(model = 'point') define stream {} (k int); "


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("@sink(type = 'inMemory', topic = 't') " + A, "A <- A"),
        (A + OUT.format("t", "", "B") + "from A select k insert into M; from M select k insert into B;", "B <- M <- A <- B"),
        (
            A + OUT.format("u", "", "B") + IN.format("u", "C") + OUT.format("t", "", "D")
            + "from A select k insert into B; from C select k insert into D;",
            "B <- A <- D <- C <- B",
        ),
        (A + OUT.format("t", "", "B") + "from A#window.length(2) select k insert into B;", "B <- A <- B"),
    ],
)  # fmt: skip
def test_a_topic_that_leads_back_to_its_stream_is_refused(text: str, path: str) -> None:
    with pytest.raises(SiddhiAppError, match="on which it depends") as caught:
        plan(parse(text))
    assert (caught.value.code, caught.value.message.split(": ")[-1]) == ("E313", path)
    assert caught.value.column is not None


@pytest.mark.parametrize(
    "text",
    [
        A + OUT.format("u", "", "B") + "from A select k insert into B;",
        A + OUT.format("t", "", "B") + IN.format("v", "C") + "from C select k insert into B;",
        A + OUT.format("{{k}}", "", "B") + "from A select k insert into B;",  # one per row: it passes no lifetimes
        A + OUT.format("t", ", @map(type = 'json')", "B") + "from A select k insert into B;",
    ],
)
def test_other_topics_are_free(text: str) -> None:
    plan(parse(text))
