"""Classical queries that insert into temporal streams."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.planner.explain.temporal import temporal_text
from siddhi.query_compiler import parse

S = "@temporal(model = 'point') define stream S (a int);"
T = "@temporal(model = 'point') define stream T (a int);"
C = "define stream C (a int);"
FILL = "from S#window.length(2) select a insert into T;"


def test_a_filled_point_stream_is_marked_and_explained() -> None:
    stream = plan(parse(S + T + FILL)).streams["T"].temporal
    assert stream is not None
    assert stream.filled
    assert temporal_text(stream).endswith("CTI with the release to classical queries, which fill it")


@pytest.mark.parametrize(
    "text",
    [
        f"{C} @temporal(model = 'point', @advance(count = '1')) define stream T (a int); from C select a insert into T;",
        f"{S}{T}{FILL} from T#window.snapshot() select count() as n insert into N;",
        f"{S}{T}{FILL} from S select a insert into T;",
        f"{S}{T} from S#window.length(2) select a insert into C; from C select a insert into T;",
        f"{S}{T}{C}{FILL} partition with (a of C) begin from C select a insert into T; end;",
    ],
)
def test_a_filled_stream_gets_ctis_by_the_release_or_by_advance(text: str) -> None:
    stream = plan(parse(text)).streams["T"].temporal
    assert stream is not None
    assert stream.filled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{S} @temporal define stream T (a int); {FILL}", "stream 'T' is of model 'interval'"),
        (f"{T}{C} from C select a insert into T;", "gets no CTI"),
        (
            f"{S} @source(type = 'inMemory', topic = 't') {T} {FILL}",
            "temporal stream 'T' has a source",
        ),
        (f"{S}{T}{FILL} from T#window.length(2) select a insert into O;", "depend on themselves: T <- T"),
        (
            f"{S}{T}{FILL} from T#window.snapshot() select count() as n insert into N; from N select sum(n) as s insert into O;",
            "depend on themselves: T <- N <- T",
        ),
    ],
)
def test_a_stream_that_can_get_no_events_or_ctis_is_refused(text: str, message: str) -> None:
    with pytest.raises(SiddhiAppError, match=message) as caught:
        plan(parse(text))
    assert caught.value.span is not None
    assert caught.value.hint
