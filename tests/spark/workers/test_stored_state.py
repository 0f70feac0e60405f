"""The state of a shard in the store: a base and changes; needs no Java."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("pyspark")

from tests.spark.streaming.without_jvm import FakeStream

APP = """define stream S (k string, v int, text string);
partition with (k of S) begin
    from S#window.length(20) select k, count() as n, sum(v) as total, text insert into Out;
end;"""


def rows_of(first: int, n: int, keys: int) -> list:
    rng = random.Random(first)
    return [
        (i, "S", 10_000 + i, (f"k{rng.randrange(keys)}", i, f"{rng.random()}{rng.random()}"))
        for i in range(first, first + n)
    ]


def test_changes_are_stored_beside_the_base():
    kept = FakeStream(APP, bound={"S"}, shards=1, grace=0)
    forgetful = FakeStream(APP, bound={"S"}, shards=1, grace=0, forget=True)
    sizes = []
    for batch, keys in enumerate([6000, 5, 5, 5, 6000, 6000]):
        rows = rows_of(batch * 8000, 8000 if keys > 5 else 50, keys)
        for stream in (kept, forgetful):
            stream.batch(rows)
        (handle,) = kept.handles.values()
        sizes.append({name: len(blob) for (name,), (_, blob) in handle.maps["engine"].held.items()})
    assert kept.found == forgetful.found
    assert len(kept.found["Out"]) == 8000 * 3 + 150 - 1
    base = sizes[0][""]
    assert base > 50_000
    changes = [size for name, size in sizes[3].items() if name]
    assert len(changes) == 3
    assert all(size < base / 4 for size in changes)
    assert list(sizes[5]) == [""]  # changes that outgrow the base are a new one
