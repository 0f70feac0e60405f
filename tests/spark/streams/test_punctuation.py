"""Streams that stand still, as the driver sees them; needs no Java."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.streams.punctuation import IdleInputs, IdleWatch, reported


def inputs(**patience: float) -> IdleInputs:
    return IdleInputs({"A": 100, "B": 10}, patience, now=0.0)


def test_a_stream_that_stands_still_follows_the_others():
    idle = inputs(B=60)
    idle.saw("A", 5000, 1.0)
    assert idle.marks(59.0) == {}
    assert idle.marks(60.0) == {"B": 4910}  # so that its watermark is that of A
    assert idle.marks(61.0) == {}
    idle.saw("A", 6000, 62.0)
    assert idle.marks(62.0) == {"B": 5910}


def test_it_waits_again_once_it_has_gone_on():
    idle = inputs(B=60)
    idle.saw("A", 5000, 1.0)
    idle.saw("B", 100, 50.0)
    assert idle.marks(109.0) == {}
    assert idle.marks(110.0) == {"B": 4910}


def test_it_is_not_moved_where_it_is_ahead():
    idle = inputs(B=60)
    idle.saw("B", 9000, 1.0)
    idle.saw("A", 5000, 2.0)
    assert idle.marks(100.0) == {}


def test_nothing_is_known_of_a_stream_that_never_came():
    idle = inputs(B=60)
    assert idle.marks(100.0) == {}
    assert inputs(A=60, B=60).marks(100.0) == {}


def test_where_all_stand_still_what_was_held_back_is_let_go():
    idle = inputs(A=60, B=60)
    idle.saw("A", 5000, 1.0)
    idle.saw("B", 4000, 2.0)
    assert idle.marks(61.0) == {}  # A follows B, and is ahead of it
    assert idle.marks(62.0) == {"A": 5101, "B": 5011}
    assert idle.marks(99.0) == {}


def test_one_stream_alone():
    idle = IdleInputs({"A": 100}, {"A": 60}, now=0.0)
    idle.saw("A", 5000, 1.0)
    assert idle.marks(61.0) == {"A": 5101}


class Query:
    """What Spark reports of a query."""

    def __init__(self):
        self.recentProgress = []

    def report(self, batch: int, **times: int | None) -> None:
        metrics = {f"siddhi_{name}": {"last": at} for name, at in times.items()} | {"mine": {"last": 7}}
        self.recentProgress.append({"batchId": batch, "observedMetrics": metrics})


def test_the_watch_reads_reports_and_writes_marks():
    query, written = Query(), []
    watch = IdleWatch(
        inputs(B=60), lambda: reported(query), lambda stream, at: written.append((stream, at)), lambda: False, 1.0
    )
    query.report(0, A=5000, B=3000)
    watch.look(10.0)
    query.report(1, A=6000, B=None)
    watch.look(50.0)
    assert written == []
    watch.look(70.0)  # 60 s after the last row of B, however often the reports are read
    assert written == [("B", 5910)]
