"""Values that a worker keeps between tasks are used only for the stored state; needs no Java."""

from __future__ import annotations

import copy
import random

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from siddhi.spark.plan.state_keys import EVEN, StateKeys
from siddhi.spark.workers.input_schema import InputSchema
from siddhi.spark.workers.record_batch import RowLayout, decode, encode_rows
from siddhi.spark.workers.stored_state import StoredState
from siddhi.spark.workers.worker import WorkerCache
from tests.spark.streaming.without_jvm import FakeStream, Mapped

APP = """define stream S (k string, v int);
partition with (k of S) begin
    from S#window.length(5) select k, count() as n, sum(v) as total insert into Out;
end;"""


def rows_of(first: int, n: int) -> list:
    rng = random.Random(first)
    return [(i, "S", 10_000 + i, (f"k{rng.randrange(20)}", i)) for i in range(first, first + n)]


def test_cached_values_belong_to_one_state():
    gone: list[str] = []
    kept: WorkerCache[str] = WorkerCache(10, gone.append)
    kept.put("query", 1, 77, "first")
    assert kept.take("query", 2, 77) is None
    assert kept.take("other query", 1, 77) is None
    assert kept.take("query", 1, 77) == "first"
    assert kept.take("query", 1, 77) is None, "who takes it may change it"
    kept.put("query", 1, 77, "first")
    assert kept.take("query", 1, 78) is None
    assert gone == ["first"]
    assert kept.take("query", 1, 77) is None


def test_the_least_recently_used_value_is_released():
    gone: list[str] = []
    kept: WorkerCache[str] = WorkerCache(10, gone.append)
    kept.put("query", 1, 1, "a", 4)
    kept.put("query", 2, 2, "b", 4)
    kept.put("query", 1, 3, "a again", 4)
    assert gone == ["a"]
    kept.put("query", 3, 4, "c", 4)
    assert gone == ["a", "b"]
    kept.put("query", 4, 5, "larger than all", 11)
    assert gone == ["a", "b", "a again", "c", "larger than all"]


@pytest.mark.parametrize("same_rows", [True, False])
def test_a_failed_attempt_leaves_no_cached_state(same_rows):
    once = FakeStream(APP, bound={"S"}, shards=3, grace=50, forget=True)
    again = FakeStream(APP, bound={"S"}, shards=3, grace=50)
    for batch in range(6):
        rows = rows_of(batch * 200, 200)
        once.batch(rows)
        before = copy.deepcopy((again.handles, again.watermark, again.latest, again.found))
        again.batch(rows if same_rows else rows_of(batch * 200, 130))  # its state never gets into the store
        again.handles, again.watermark, again.latest, again.found = before
        again.batch(rows)
    once.finish()
    again.finish()
    assert again.found == once.found
    assert len(once.found["Out"]) == 1200


def test_a_worker_with_outdated_state_reads_the_store():
    once = FakeStream(APP, bound={"S"}, shards=1, grace=50, forget=True)
    stream = FakeStream(APP, bound={"S"}, shards=1, grace=50)
    here = stream.run
    for batch in range(8):
        rows = rows_of(batch * 100, 100)
        once.batch(rows)
        stream.run = here if batch % 3 else f"{here} elsewhere"  # another process has another cache
        stream.batch(rows)
    once.finish()
    stream.finish()
    assert stream.found == once.found


def test_a_worker_with_current_state_reads_only_tokens(monkeypatch):
    stream = FakeStream(APP, bound={"S"}, shards=2, grace=50)
    stream.batch(rows_of(0, 200))
    monkeypatch.setattr(StoredState, "read", lambda *_: pytest.fail("the engine is there"))
    monkeypatch.setattr(Mapped, "getValue", lambda *_: pytest.fail("the rows are there"))
    for batch in range(1, 4):
        stream.batch(rows_of(batch * 200, 200))
    stream.finish()
    assert len(stream.found["Out"]) == 800


def test_common_values_are_in_the_record_batches():
    stream = FakeStream(APP, bound={"S"}, shards=2, grace=0)
    (program,) = stream.programs
    layout = RowLayout(input_columns=((0, 1),), order=(None, 3, None, 0), fragment=0)
    batches = [
        pa.RecordBatch.from_arrays(
            [
                pa.array(shards, pa.int32()),
                pa.array(times),
                pa.array(times),
                pa.array(list("abc")),
                pa.array([1, 2, 3]),
            ],
            names=["shard", "t", "s", "d0", "d1"],
        )
        for shards, times in (([70_000, 0, 70_000], [5, 6, 7]), ([0, 0, 1], [8, 9, 10]))
    ]
    keys = StateKeys(EVEN, 70_001)
    (batches,) = encode_rows((program,), layout, [InputSchema.of(program)], keys)(iter(batches))
    found = {keys.number(key): (n, decode(rows)) for key, n, rows in zip(*(c.to_pylist() for c in batches.columns))}
    assert {shard: n for shard, (n, _) in found.items()} == {0: 3, 1: 1, 70_000: 2}
    assert found[0][1].to_pydict() == {
        "o0": [6, 8, 9], "o1": [3, 3, 3], "o2": [6, 8, 9], "o3": [0, 0, 0], "k": ["b", "a", "b"], "v": [2, 1, 2],
    }  # fmt: skip
    assert list(encode_rows((program,), layout, [InputSchema.of(program)], keys)(iter([]))) == []
