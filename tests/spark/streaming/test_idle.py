"""Idle streams, as seen by the driver; needs no Java."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.streaming.idle import IdleInputs, IdleWatch, reported


def inputs(**patience: float) -> IdleInputs:
    return IdleInputs({"A": 100, "B": 10}, patience, now=0.0)


def written(idle: IdleInputs, now: float) -> dict[str, int]:
    """The marks that are due, which are written."""
    found = idle.punctuations(now)
    for stream, at in found.items():
        idle.wrote(stream, at, now)
    return found


def test_an_idle_stream_follows_the_others():
    idle = inputs(B=60)
    idle.saw("A", 5000, 1.0)
    assert idle.punctuations(59.0) == {}
    assert written(idle, 60.0) == {"B": 4910}  # so that its watermark is that of A
    assert written(idle, 61.0) == {}
    idle.saw("A", 6000, 62.0)
    assert written(idle, 89.9) == {}  # each mark is a file and a micro-batch
    assert written(idle, 90.0) == {"B": 5910}


def test_it_is_waited_for_once_it_has_rows_again():
    idle = inputs(B=60)
    idle.saw("A", 5000, 1.0)
    idle.saw("B", 100, 50.0)
    assert idle.punctuations(109.0) == {}
    assert idle.punctuations(110.0) == {"B": 4910}


def test_it_is_not_moved_if_it_is_ahead():
    idle = inputs(B=60)
    idle.saw("B", 9000, 1.0)
    idle.saw("A", 5000, 2.0)
    assert idle.punctuations(100.0) == {}


def test_a_stream_without_rows_has_no_time():
    idle = inputs(B=60)
    assert idle.punctuations(100.0) == {}
    assert inputs(A=60, B=60).punctuations(100.0) == {}


def test_if_all_streams_are_idle_buffered_rows_are_released():
    idle = inputs(A=60, B=60)
    idle.saw("A", 5000, 1.0)
    idle.saw("B", 4000, 2.0)
    assert idle.punctuations(61.0) == {}  # A follows B, and is ahead of it
    assert written(idle, 62.0) == {"A": 5101, "B": 5011}
    assert written(idle, 99.0) == {}


def test_one_stream_alone():
    idle = IdleInputs({"A": 100}, {"A": 60}, now=0.0)
    idle.saw("A", 5000, 1.0)
    assert idle.punctuations(61.0) == {"A": 5101}


def test_after_a_restart_it_continues_with_the_known_times():
    graces, patience = {"A": 100, "B": 10}, {"A": 60, "B": 60}
    idle = IdleInputs(graces, patience, now=0.0, latest={"A": 5000, "B": 4000, "Gone": 9000})
    idle.noted("A", 5101)
    assert written(idle, 59.0) == {}
    assert written(idle, 60.0) == {"B": 5011}  # A has its mark


def test_it_follows_a_given_time_of_the_others():
    idle = inputs(B=60)
    idle.saw("A", 5000, 1.0)
    idle.noted("A", 9100)  # by a user: nothing earlier will come
    idle.noted("A", 8000)
    assert written(idle, 60.0) == {"B": 9010}
    idle = inputs(B=60)
    idle.noted("A", 9100)  # no row ever came
    assert written(idle, 60.0) == {"B": 9010}
    idle.noted("B", 20_000)
    assert idle.punctuations(200.0) == {}


def test_idle_streams_emit_rows_up_to_the_latest_punctuation():
    idle = inputs(A=60, B=60)
    idle.saw("A", 5000, 1.0)
    idle.saw("B", 4000, 2.0)
    idle.noted("A", 9100)
    assert written(idle, 100.0) == {"B": 9010}


def test_the_number_of_punctuations_is_limited_by_the_idle_timeout():
    idle, n = inputs(B=60), 0
    for second in range(0, 86_400, 5):
        idle.saw("A", 1_000_000 + second * 1000, float(second))
        n += len(written(idle, float(second)))
    assert n == (86_400 - 60) / 30


class Query:
    """What Spark reports of a query."""

    def __init__(self):
        self.recentProgress = []

    def report(self, batch: int, **times: int | None) -> None:
        metrics = {f"siddhi_{name}": {"last": at} for name, at in times.items()} | {"mine": {"last": 7}}
        self.recentProgress.append({"batchId": batch, "observedMetrics": metrics})


def test_the_monitor_reads_reports_and_writes_punctuation():
    query, written = Query(), []
    noted: dict[str, int] = {}
    watch = IdleWatch(
        inputs(B=60),
        lambda: reported(query),
        lambda: noted,
        lambda stream, at: written.append((stream, at)),
        lambda: False,
        1.0,
    )
    query.report(0, A=5000, B=3000)
    watch.look(10.0)
    query.report(1, A=6000, B=None)
    watch.look(50.0)
    assert written == []
    watch.look(70.0)  # 60 s after the last row of B, however often the reports are read
    assert written == [("B", 5910)]
    noted["A"] = 7100
    watch.look(110.0)
    assert written == [("B", 5910), ("B", 7010)]


def test_the_monitor_logs_failures_and_continues(caplog):
    query, looks, written = Query(), iter([True] * 5 + [False]), []

    def write(stream: str, at: int) -> None:
        if stream == "A" and len(caplog.records) < 4:
            raise LookupError("the store is away")
        written.append((stream, at))

    idle = IdleInputs({"A": 0, "B": 0}, {"A": 0, "B": 0}, now=0.0, latest={"A": 5000, "B": 4000})
    watch = IdleWatch(idle, lambda: reported(query), dict, write, lambda: next(looks), 0.0)
    with caplog.at_level("WARNING", "siddhi"):
        watch.run()
    assert written == [("B", 5001), ("A", 5001)]  # A's is tried until it is there
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "ERROR", "ERROR"]
    assert caplog.messages[-1].endswith("4 times in a row: the store is away")


def test_the_monitor_ends_if_its_query_cannot_be_read(caplog):
    def gone() -> bool:
        raise ConnectionRefusedError("no JVM")

    with caplog.at_level("ERROR", "siddhi"):
        IdleWatch(inputs(B=60), list, dict, lambda stream, at: None, gone, 0.0).run()
    assert caplog.messages == ["idle streams are no longer watched, as the state of their query is unknown: no JVM"]
