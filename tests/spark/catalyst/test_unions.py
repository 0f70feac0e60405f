"""Streams with several writers, cycles and chains of queries; needs no Java."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.catalyst.bindings import Binding
from siddhi.spark.catalyst.lowering import Settings
from siddhi.spark.plan.fragments import CatalystStage, cut
from siddhi.spark.streaming.plan import plan_streaming
from siddhi.spark.streaming.starting import Starter

STREAMS = "define stream S (a int); define stream M (a int);"


def laid_out(text: str, *, bound: set[str], streaming: bool = True):
    made = plan(parse(STREAMS + text))
    return made, cut(made, streaming=streaming, bound=bound)


def test_external_input_of_an_inserted_stream_has_a_separate_fragment():
    made, layout = laid_out("from S select a insert into M; from M select a insert into O;", bound={"S", "M"})
    found = plan_streaming(made, layout, ["O"], always=True).fragments
    assert [(fragment.inputs, fragment.names) for fragment in found] == [
        (("S",), ("query_1", "query_2")),
        (("M",), ("query_2",)),
    ]
    _, layout = laid_out("from S select a insert into M; from M select a insert into O;", bound={"S"})
    (fragment,) = plan_streaming(made, layout, ["O"], always=True).fragments
    assert fragment.inputs == ("S",)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_query_that_inserts_into_its_input_needs_the_engine(streaming):
    _, layout = laid_out("from S[a < 3] select a + 1 as a insert into S;", bound={"S"}, streaming=streaming)
    (fragment,) = layout.fragments
    assert fragment.inputs == ("S",)
    assert fragment.why == {"query_1": "it reads its own output"}
    assert not any(isinstance(step, CatalystStage) for step in layout.steps)


def test_two_sources_of_catalyst_queries_are_an_operator():
    made, layout = laid_out("from S select a insert into O; from M select a insert into O;", bound={"S", "M"})
    frame = SimpleNamespace(isStreaming=True)
    bindings = {name: Binding(name, frame, "ts", "1 second") for name in ("S", "M")}
    starter = Starter(None, made, layout, bindings, Settings(), "drop")
    assert len(starter._checked({"O": None}).programs) == 2
    made, layout = laid_out("from S select a insert into O;", bound={"S"})
    starter = Starter(None, made, layout, {"S": bindings["S"]}, Settings(), "drop")
    assert starter._checked({"O": None}).programs == ()


def test_no_fragment_of_a_stream_reads_output_of_another():
    text = """from S select UUID() as id, a insert into F;
    from M#window.length(3) select sum(a) as n insert into O; from F#window.length(2) select id, sum(a) as n insert into P;"""
    _, layout = laid_out(text, bound={"S", "M"}, streaming=True)
    (fragment,) = layout.fragments
    assert (fragment.names, fragment.inputs) == (("query_1", "query_2", "query_3"), ("S", "M"))
    _, layout = laid_out(text, bound={"S", "M"}, streaming=False)
    assert [one.inputs for one in layout.fragments] == [("S",), ("M", "F")]
