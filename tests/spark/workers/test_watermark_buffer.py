"""The order of rows from the watermark buffer."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from siddhi.errors import SparkRunError
from siddhi.spark.workers.record_batch import encode
from siddhi.spark.workers.watermark_buffer import WatermarkBuffer, in_order
from tests.spark.streaming.without_jvm import Handle, Mapped

ROWS = [
    # event time, source, sequence, place; then what the app sees
    (5, 0, 7, 0, 2, "b", True, 1.5),
    (5, 0, 7, 0, 2, "a", False, None),
    (5, 0, 7, 0, 2, "a", None, float("nan")),
    (5, 0, 7, 0, None, "a", True, 2.5),
    (5, 0, 3, 0, 9, "z", True, 0.5),
]
KINDS = (pa.int64(), pa.int32(), pa.int64(), pa.int32(), pa.int32(), pa.string(), pa.bool_(), pa.float64())
NAMES = ["o0", "o1", "o2", "o3", "o1", "input", "c0", "c1"]


def batch_of(rows):
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows), KINDS)]
    return pa.RecordBatch.from_arrays(columns, names=NAMES)


def test_rows_of_equal_time_are_ordered_by_values():
    found = {
        repr([tuple(row.values()) for row in in_order([batch_of(rows[:2]), batch_of(rows[2:])], 4)
              .rename_columns([f"c{n}" for n in range(8)]).to_pylist()])
        for rows in itertools.permutations(ROWS)
    }  # fmt: skip
    assert len(found) == 1
    (told,) = found
    assert told.startswith(
        "[(5, 0, 3, 0, 9, 'z', True, 0.5), (5, 0, 7, 0, 2, 'a', False, None), (5, 0, 7, 0, 2, 'a', None,"
    )


def test_rows_of_different_times_are_unchanged():
    rows = [(n, *ROWS[0][1:]) for n in range(3)]
    assert in_order([batch_of(rows)], 4).equals(batch_of(rows))


def test_upgraded_rows_can_be_fewer():
    handle = Handle()
    waiting = WatermarkBuffer(handle.getMapState("pending"), handle.getValueState("timer", ""), handle, 4)
    waiting.put(0, [(encode(batch_of([(n, *ROWS[0][1:]) for n in span])), span[0], span[-1], len(span))
                    for span in (range(5), range(10, 15), range(20, 25))], 1)  # fmt: skip

    def later(least):
        return lambda rows: rows.filter(pa.array([time >= least for time in rows.column(0).to_pylist()]))

    ready, rest = waiting.split("q", 0, 13, later(100))
    assert (ready, [first for _, first in rest]) == (None, [20])
    waiting.rearm(0, rest, None, 1)
    ready, rest = waiting.split("q", 0, 22, later(23))
    assert (ready, [first for _, first in rest]) == (None, [23])
    waiting.rearm(0, rest, None, 20)
    ready, rest = waiting.split("q", 0, 30, later(24))
    assert ready.column(0).to_pylist() == [23, 24]  # this process has them as they were let in before
    assert rest == []


class Counted(Mapped):
    """Notes what is asked of the store."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def getValue(self, key):  # noqa: N802
        self.asked.append("read")
        return super().getValue(key)

    def updateValue(self, key, value):  # noqa: N802
        self.asked.append("write")
        super().updateValue(key, value)

    def removeKey(self, key):  # noqa: N802
        self.asked.append("delete")
        super().removeKey(key)


def chunk_of(first, n):
    batch = pa.RecordBatch.from_arrays([pa.array(range(first, first + n), pa.int64())], names=["o0"])
    return encode(batch), batch


@pytest.mark.parametrize("query", [["a"] * 12, [f"{n}" for n in range(12)]])
def test_a_watermark_step_touches_only_the_rows_it_releases(query):
    """Rows that wait for long are written once, whichever worker goes on (another query: another worker's cache)."""
    handle, pending = Handle(), Counted()
    timer = handle.getValueState("timer", "")
    found = []
    for step in range(12):
        waiting = WatermarkBuffer(pending, timer, handle, 1)  # a task knows nothing of the one before
        pending.asked.clear()
        waiting.add(query[step], 0, [chunk_of(100 * step, 50), chunk_of(100 * step + 50, 50)])
        assert pending.asked == ["write", "write"]
        assert handle.timers == {timer.held[0]}
        watermark = 100 * (step - 5)
        if watermark < timer.held[0]:
            continue
        pending.asked.clear()
        handle.timers.clear()  # it fires
        ready, rest = waiting.split(query[step], 0, watermark)
        waiting.rearm(0, rest, None, timer.held[0])
        found += ready.column(0).to_pylist()
        assert pending.asked == ["delete"] * 2 if len(set(query)) == 1 else ["read", "delete"] * 2
        assert len(pending.held) == len(rest) == 2 * 6
        assert handle.timers == {watermark + 1}
    assert found == list(range(600))


def test_a_partly_released_chunk_keeps_the_rest():
    handle, pending = Handle(), Counted()
    timer = handle.getValueState("timer", "")
    waiting = WatermarkBuffer(pending, timer, handle, 1)
    waiting.add("query", 0, [chunk_of(10, 10)])
    handle.timers.clear()
    ready, rest = waiting.split("query", 0, 13)
    assert ready.column(0).to_pylist() == [10, 11, 12]
    waiting.rearm(0, rest, None, 11)
    assert [(first, last, n) for _, first, last, n in pending.held.values()] == [(13, 19, 7)]
    assert handle.timers == {14}
    ready, rest = WatermarkBuffer(pending, timer, handle, 1).split("another worker", 0, 1000)
    assert ready.column(0).to_pylist() == list(range(13, 20))
    assert rest == []
    assert pending.held == {}
    waiting = WatermarkBuffer(pending, timer, handle, 1)
    waiting.rearm(0, rest, None, 14)
    assert timer.held is None


def test_a_repeated_attempt_writes_the_same_state_in_any_row_order():
    chunks = [chunk_of(10, 10), chunk_of(15, 20), chunk_of(10, 10), chunk_of(40, 5)]
    written = []
    for query, order in (("one", [0, 1, 2, 3]), ("other", [3, 2, 1, 0])):
        handle, pending = Handle(), Counted()
        waiting = WatermarkBuffer(pending, handle.getValueState("timer", ""), handle, 1)
        waiting.add(query, 0, [chunks[n] for n in order])
        first = dict(pending.held)
        assert len(first) == 4  # equal ones, too
        _, rest = waiting.split(query, 0, 18)
        waiting.rearm(0, rest, None, None)
        written.append((first, dict(pending.held), sorted(rest)))
    assert written[0] == written[1]


def test_missing_rows_are_an_error_of_one_sentence():
    handle, pending = Handle(), Counted()
    waiting = WatermarkBuffer(pending, handle.getValueState("timer", ""), handle, 1)
    waiting.add("query", 7, [chunk_of(10, 10)])
    pending.held.clear()
    with pytest.raises(SparkRunError, match="damaged checkpoint: buffered rows of shard 7 are missing"):
        WatermarkBuffer(pending, waiting._timer, handle, 1).split("another worker", 7, 1000)
