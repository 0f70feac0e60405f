"""What ``explain`` says of temporal streams."""

from __future__ import annotations

from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.query_compiler.parser import parse

APP = """
@temporal(model = 'point', policy = 'drop') define stream In (k int);
@temporal(model = 'edge') define stream Declared (k int);
@temporal(model = 'point') define stream Found (k int);
from In select k insert into Inferred;
from In select k insert into Declared;
from In#window.length(2) select k insert into Found;
"""


def test_only_streams_that_events_can_reach_late_have_a_policy() -> None:
    lines = {line.split()[1]: line for line in explain(plan(parse(APP))).splitlines() if line.startswith("stream ")}
    assert "temporal point, late drop" in lines["In"]
    assert "temporal point, late error" in lines["Found"]  # rows of batch windows may be late
    assert "temporal edge" in lines["Declared"]
    assert "temporal" in lines["Inferred"]
    assert [name for name, line in lines.items() if "late" in line] == ["In", "Found"]
