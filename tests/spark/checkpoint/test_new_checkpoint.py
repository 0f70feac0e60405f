"""State written into a new checkpoint is used by its query; needs no Java."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

import pandas as pd
import pyarrow as pa

from siddhi.spark.checkpoint.new_checkpoint import StateWriter, encode_moved, encode_shard
from siddhi.spark.checkpoint.stored import StoredShard
from siddhi.spark.plan.state_keys import EVEN, NUMBERS, StateKeys
from siddhi.spark.testing import oracle
from siddhi.spark.workers.stored_state import blocks_of
from tests.spark.streaming.without_jvm import Clock, FakeStream, Handle

APP = """define stream S (k string, v int);
partition with (k of S) begin
    from S#window.time(100) select k, count() as n, sum(v) as total insert into Out;
end;"""


def rows_of(first: int, n: int) -> list:
    return [(i, "S", 10_000 + 3 * i, (f"k{i % 7}", i)) for i in range(first, first + n)]


def held(shard: int, handle: Handle) -> StoredShard:
    _, fingerprint, _, version, clock, _ = handle.values["meta"].held
    parts = {name: bytes(blob) for (name,), (_, blob) in handle.maps["engine"].held.items()}
    due, _ = handle.values["timer"].held
    return StoredShard(
        shard, fingerprint, version, clock, blocks_of(parts), list(handle.maps["pending"].held.values()), due
    )


def written(shard: StoredShard) -> Handle:
    writer, handle = StateWriter(), Handle()
    writer.init(handle)
    frame = pd.DataFrame({"rows": [encode_shard(shard)]})
    assert list(writer.handleInputRows((shard.number,), iter([frame]), Clock(0))) == []
    return handle


def test_a_worker_with_engines_and_rows_continues_from_the_written_state():
    stream = FakeStream(APP, bound={"S"}, shards=2, grace=50)
    stream.batch(rows_of(0, 100))
    stream.batch(rows_of(100, 100))
    moved = [held(shard, handle) for shard, handle in stream.handles.items()]
    assert all(shard.buffered for shard in moved)
    then = copy.deepcopy((stream.watermark, stream.latest, stream.found))
    stream.batch(rows_of(200, 100))  # the worker keeps what is later than what was written
    stream.watermark, stream.latest, stream.found = then
    stream.handles = {shard.number: written(shard) for shard in moved}
    for number, handle in stream.handles.items():
        assert handle.timers == {handle.values["timer"].held[0]}
        again = held(number, handle)
        assert again in moved
    stream.batch(rows_of(200, 100))
    stream.finish()
    want = oracle(APP, [row[1:] for row in rows_of(0, 300)], ["Out"])["Out"]
    assert len(want) == 300
    assert sorted(stream.found["Out"]) == sorted(want)


def test_a_shard_with_only_buffered_rows():
    stream = FakeStream(APP, bound={"S"}, shards=1, grace=5000)
    stream.batch(rows_of(0, 50))
    (handle,) = stream.handles.values()
    assert handle.values["meta"].held is None
    due, _ = handle.values["timer"].held
    stream.handles = {0: written(StoredShard(0, "", 0, 0, {}, list(handle.maps["pending"].held.values()), due))}
    stream.batch(rows_of(50, 50))
    stream.finish()
    want = oracle(APP, [row[1:] for row in rows_of(0, 100)], ["Out"])["Out"]
    assert sorted(stream.found["Out"]) == sorted(want)


def entries_of(shard: int, handle: Handle) -> pa.Table:
    """Return the entries of a shard as Spark's reader of state stores has them."""
    _, fingerprint, _, version, clock, _ = handle.values["meta"].held
    due, _ = handle.values["timer"].held
    rows = [
        ("meta", fingerprint, None, version, clock, None),
        ("timer", None, None, due, None, None),
        *(("engine", name, blob, None, None, None) for (name,), (_, blob) in handle.maps["engine"].held.items()),
        *(("pending", None, *rows) for rows in handle.maps["pending"].held.values()),
    ]
    names = ["kind", "text", "data", "x", "y", "n"]
    types = [pa.string(), pa.string(), pa.binary(), pa.int64(), pa.int64(), pa.int64()]
    columns = [pa.array(column, type_) for column, type_ in zip(zip(*rows), types)]
    return pa.table([pa.array([shard] * len(rows), pa.int32()), *columns], names=["shard", *names])


def test_workers_move_a_shard_to_its_new_key():
    stream = FakeStream(APP, bound={"S"}, shards=2, grace=50)
    stream.batch(rows_of(0, 100))
    before, now = StateKeys(NUMBERS, 2), StateKeys(EVEN, 2)
    for number, handle in stream.handles.items():
        run = encode_moved(before, now, lambda shard: replace(shard, number=shard.number + 2))
        (row,) = run(entries_of(number, handle)).to_pylist()
        assert row == {"shard": now.key(number + 2), "rows": encode_shard(held(number, handle))}
        assert encode_moved(before, now, lambda _: None)(entries_of(number, handle)).num_rows == 0
