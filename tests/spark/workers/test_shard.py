"""One engine of an island by itself; needs no Java."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.fragments import cut
from siddhi.spark.workers.program import TableRows, write_program
from siddhi.spark.workers.shard import Shard

APP = """define stream S (k string); define table Names (k string, name string);
@info(name = 'count') from S#window.length(5) join Names on S.k == Names.k
select S.k as k, Names.name as name, count() as n group by S.k insert into O;"""


def program(*rows: tuple[str, str]):
    planned = plan(parse(APP))
    (fragment,) = cut(planned, streaming=True, prefer="engine").fragments
    written = write_program(planned, fragment, ["O"])
    ((_, stream),) = written.fills
    table = pa.table({"k": [k for k, _ in rows], "name": [name for _, name in rows]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return replace(written, tables=(TableRows(stream, sink.getvalue()),))


def sent(shard: Shard, *keys: str) -> list[dict]:
    shard.send(pa.record_batch({"k": list(keys)}), pa.array(range(1, len(keys) + 1), pa.int64()))
    return [row for _, batch in shard.drain() for row in batch.to_pylist()]


def test_tables_that_are_only_read_are_those_of_the_start_and_no_state():
    before = Shard(program(("a", "Anna"), ("b", "a name that would be seen in a snapshot")))
    before.open(3, 0)
    assert [(row["name"], row["n"]) for row in sent(before, "a", "a")] == [("Anna", 1), ("Anna", 2)]
    pieces = before.blocks()
    assert not any(b"would be seen" in data for data in pieces.values())
    now = Shard(program(("a", "Bea")))
    now.restore(3, pieces)
    assert [(row["name"], row["n"]) for row in sent(now, "a")] == [("Bea", 3)]
    now.open(4, 0)  # another shard in the same engine
    assert [(row["name"], row["n"]) for row in sent(now, "a")] == [("Bea", 1)]
