"""One engine of a fragment by itself; needs no Java."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from siddhi.errors import SparkRunError
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


def test_read_only_tables_are_loaded_at_the_start_and_not_in_the_state():
    before = Shard(program(("a", "Anna"), ("b", "a name that would be seen in a snapshot")))
    before.open(3, 0)
    assert [(row["name"], row["n"]) for row in sent(before, "a", "a")] == [("Anna", 1), ("Anna", 2)]
    blocks = before.blocks()
    assert not any(b"would be seen" in data for data in blocks.values())
    now = Shard(program(("a", "Bea")))
    now.restore(3, blocks)
    assert [(row["name"], row["n"]) for row in sent(now, "a")] == [("Bea", 3)]
    now.open(4, 0)  # another shard in the same engine
    assert [(row["name"], row["n"]) for row in sent(now, "a")] == [("Bea", 1)]


@pytest.mark.parametrize(
    ("definition", "query", "message"),
    [
        ("", "@limit(keys = '2') from S select k, count() as n group by k insert into O;", "query 'query_1' holds 2 group-by keys"),
        ("@limit(rows = '2') define table T (k string);", "from S[k != 'a0'] select k insert into T;", "table 'T' holds 2 rows"),
    ],
)  # fmt: skip
def test_an_exceeded_limit_names_the_event_time_of_the_row_it_refuses(definition, query, message):
    planned = plan(parse(f"define stream S (k string); {definition} {query}"))
    (fragment,) = cut(planned, prefer="engine").fragments
    shard = Shard(write_program(planned, fragment, [name for name in fragment.produced if name in planned.streams]))
    shard.open(0, 1000)
    keys = ["a0"] * 300 + ["a1", "a2", "a3", *["a1"] * 300]
    refused = keys.index("a2" if not definition else "a3")
    times = [1000 + 10 * n for n in range(len(keys))]
    rows = pa.record_batch({"k": keys})
    with pytest.raises(SparkRunError, match=f"LimitExceededError: {message}.*event time {times[refused]}\\)"):
        shard.send(rows, pa.array(times, pa.int64()))
