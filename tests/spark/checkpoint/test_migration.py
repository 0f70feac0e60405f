"""A checkpoint migrated to more shards has the output of the old one."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from siddhi.errors import SparkRunError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.checkpoint.key_ranges import key_range_of
from siddhi.spark.checkpoint.migration import RowsByShard, unsplittable
from siddhi.spark.plan.fragments import cut
from siddhi.spark.plan.key_hash import shard_of_key
from siddhi.spark.testing import differences, oracle
from siddhi.spark.workers.input_schema import InputSchema, upgrade_rows, with_schema_id
from siddhi.spark.workers.program import write_program
from siddhi.spark.workers.record_batch import decode, encode
from tests.spark.checkpoint.test_checkpoints import given, more, started
from tests.spark.streaming.stream_run import APP, OUTPUTS
from tests.spark.trades import trades

LABELLED = """partition with (price > 500.0 as 'dear' or price < 700.0 as 'cheap' or n % 10 == 0 as 'tenth' of Trades) begin
@info(name = 'labelled') from every a = Trades, b = Trades[price > a.price] select a.n as first, b.n as last insert into Labelled;
end;
"""


def labels_of(price: float, n: int) -> list[str]:
    found = {"dear": price > 500.0, "cheap": price < 700.0, "tenth": n % 10 == 0}
    return [label for label, holds in found.items() if holds]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:.* on one shard")
def test_half_of_a_stream_on_three_shards_and_half_on_six(spark, tmp_path):
    from siddhi.spark import MemorySink

    app = (
        APP
        + "@info(name = 'last') from Trades#window.length(4) select sum(price) as total, max(n) as n insert into Last;"
        + LABELLED
    )
    rows, now = trades(600), {"availableNow": True}
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    sinks = {name: MemorySink() for name in (*OUTPUTS, "Last", "Labelled")}
    more(tmp_path, rows[:300], "a")
    started(spark, tmp_path, app).start(old, sinks, trigger=now).await_termination()
    wider = started(spark, tmp_path, app, shards=6)
    with pytest.raises(ValueError, match=r"3 shards can't be migrated to 8: .* a multiple \(6, 9, 12 \.\.\.\)"):
        started(spark, tmp_path, app, shards=8).migrate(old, new)
    with pytest.raises(SparkRunError, match=r"another form of the app: .*'last' was removed"):
        started(spark, tmp_path, APP, shards=6).migrate(old, new)
    wider.migrate(old, new, partitions=3)
    passed = [row for row in rows[:300] if row[0] < rows[299][0] - 1000]
    for label in ("dear", "cheap", "tenth"):
        last = [n for _, _, price, n in passed if label in labels_of(price, n)][-1]
        for checkpoint in (old, new):
            held = wider.state(checkpoint).inner("labelled", key=label)["pattern"]
            assert last in [event.data[-1] for told in held if isinstance(told, list) for event in told]
    with pytest.raises(SparkRunError, match="is not empty"):
        wider.migrate(old, new)

    def waiting(checkpoint: str) -> int:
        found = wider.state(checkpoint).shards()
        assert {shard.clock for shard in found} <= {0, rows[299][0] - 1000}
        return sum(shard.waiting for shard in found if "partition_0" in shard.elements)

    assert waiting(new) == waiting(old) > 10
    more(tmp_path, rows[300:], "b")
    wider.finish(new, sinks)
    want = oracle(app, [("Trades", row[0], row) for row in rows], list(sinks))
    for name, sink in sinks.items():
        assert want[name]
        assert differences(want[name], given(sink)) is None, name


SLOTS = """define stream S (k string, v int);
@info(name = 'count') from S select k, count() as n group by k insert into A;
@info(name = 'minute') from S#window.time(1 min) select k, count() as n group by k insert into B;
partition with (k of S) begin @info(name = 'inside') from S#window.time(1 min) select k, sum(v) as v insert into C; end;
"""


def test_elements_with_timers_for_all_keys_together_are_not_split():
    planned = plan(parse(SLOTS))
    (fragment,) = cut(planned, streaming=True, prefer="engine").fragments
    key_range = key_range_of(planned, fragment, write_program(planned, fragment, []), 0, 4)
    assert key_range.keys == {"S": ["k"]}
    assert list(unsplittable(planned, key_range)) == [
        "query 'minute' has timers for all keys together: move it into a partition"
    ]


@pytest.mark.spark
@pytest.mark.parametrize("ordering", [4, 5, 6])
def test_buffered_rows_are_moved_by_their_key_in_any_order(spark, ordering):
    text = """define stream S (k string, v int); define stream T (v int, k string);
    partition with (k of S, k of T) begin from S select k insert into A; from T select count() as n insert into B; end;"""
    planned = plan(parse(text))
    (fragment,) = cut(planned, streaming=True, prefer="engine").fragments
    program = write_program(planned, fragment, [])
    key_range = key_range_of(planned, fragment, program, 0, 4)
    keys = [f"k{n}" for n in range(12)]
    columns = {f"o{n}": pa.array([100 + n] * 12, pa.int64()) for n in range(ordering)}
    for name, kind in zip(program.columns, program.kinds):
        values = keys if kind == "string" else [n % 2 for n in range(12)]
        columns[name] = pa.array(values, pa.string() if kind == "string" else pa.int32())
    rows = encode(pa.RecordBatch.from_pydict(columns))
    found = RowsByShard(spark, planned, key_range, range(4)).split([(rows, 100, 100, 12)])
    place = next(n for n, kind in enumerate(program.kinds) if kind == "string") + ordering
    dealt = {child: decode(part[0][0]).column(place).to_pylist() for child, part in found.items()}
    assert dealt == {
        child: [key for key in keys if shard_of_key([key], 4) == child]
        for child in sorted({shard_of_key([key], 4) for key in keys})
    }


TWO = """@app:name('Two') define stream S (ts long, k string, v int); define stream T (ts long, k string, v int);
partition with (k of S, k of T) begin
@info(name = 'sums') from S select k, sum(v) as v insert into Sums;
@info(name = 'counts') from T select k, count() as n insert into Counts;
end;
"""


@pytest.mark.spark
def test_time_continues_after_read_and_unread_punctuation(spark, tmp_path):
    from siddhi.spark import MemorySink, SparkRuntime

    now, sinks = {"availableNow": True}, {"Sums": MemorySink(), "Counts": MemorySink()}
    events = []

    def runtime(shards: int) -> SparkRuntime:
        made = SparkRuntime(TWO, spark, shards=shards)
        for stream in "ST":
            rows = spark.readStream.schema("ts bigint, k string, v int").parquet(str(tmp_path / stream))
            made.bind(stream, rows, timestamp="ts", watermark="1 second")
        return made

    def bring(stream: str, *times: int) -> None:
        rows = [(at, f"k{at // 1000 % 3}", at % 1000) for at in times]
        events.extend((stream, row[0], row) for row in rows)
        columns = [pa.array(column) for column in zip(*rows)]
        table = pa.table([columns[0], columns[1], columns[2].cast(pa.int32())], names=["ts", "k", "v"])
        (tmp_path / stream).mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / stream / f"{times[0]}.parquet")

    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    bring("S", 10_001, 11_002, 12_003)
    bring("T", 10_004)
    first, wider, sums = runtime(2), runtime(4), sinks["Sums"]
    first.start(old, sinks, trigger=now).await_termination()
    bring("S", 20_005, 21_006, 22_007)
    first.punctuate("T", 12_000)
    first.start(old, sinks, trigger=now).await_termination()
    assert max(row[0] for row in given(sums)) == 11_002  # T holds it up
    first.punctuate("T", 60_000)  # noted, and not read
    wider.migrate(old, new)
    (tmp_path / "S" / "10001.parquet").unlink()  # what has been read is not missed
    bring("S", 30_008, 31_009, 32_010)
    wider.punctuate("S", 50_000, checkpoint=new)
    wider.start(new, sinks, trigger=now).await_termination()
    want = oracle(TWO, events, list(sinks))
    for name, sink in sinks.items():
        assert differences(want[name], given(sink)) is None, name


def test_rows_of_two_schemas_are_distributed_alike(monkeypatch):
    text = """define stream S (k string, v int); define stream T (v int, k string);
    partition with (k of S, k of T) begin from S select k insert into A; from T select count() as n insert into B; end;"""
    planned = plan(parse(text))
    (fragment,) = cut(planned, streaming=True, prefer="engine").fragments
    program = write_program(planned, fragment, [])
    before, now = InputSchema("S", ("k", "v"), ("string", "int"), (("S", (0, 1)),)), InputSchema.of(program)
    key_range = replace(
        key_range_of(planned, fragment, program, 0, 4),
        earlier_schemas=[replace(before, assigned_id=before.schema_id).to_json()],
    )
    keys = [f"k{n}" for n in range(12)]

    def encoded_batch(schema: InputSchema, at: int, **columns: list[object]) -> tuple[bytes, int, int, int]:
        kinds = dict(zip(schema.columns, schema.kinds))
        arrays = {"o0": pa.array([at] * 12, pa.int64()), "o1": pa.array([0] * 12, pa.int32())}
        for name, values in columns.items():
            arrays[name] = pa.array(values, pa.string() if kinds[name] == "string" else pa.int32())
        return encode(with_schema_id(pa.RecordBatch.from_pydict(arrays), schema.schema_id)), at, at, 12

    (_, (key, _)), *_ = (found for found in now.inputs if found[0] == "S")
    new = {name: keys if kind == "string" else [0] * 12 for name, kind in zip(now.columns, now.kinds)}
    new["input"] = [[stream for stream, _ in now.inputs].index("S")] * 12
    dealt_by = RowsByShard(None, planned, key_range, range(4))
    monkeypatch.setattr(
        dealt_by,
        "_shards_by_key",
        lambda _, __, table: [[shard_of_key([k], 4)] for k in table.column("c0").to_pylist()],
    )
    batches = [encoded_batch(before, 100, k=keys, v=[5] * 12), encoded_batch(now, 200, **new)]
    for child, ((data, first, last, n),) in dealt_by.split(batches).items():
        mine = [k for k in keys if shard_of_key([k], 4) == child]
        rows = decode(data)
        assert (first, last, n) == (100, 200, 2 * len(mine))
        assert sorted(rows.column(2 + key).to_pylist()) == sorted(2 * mine)
        assert upgrade_rows(rows, now, [before]) is rows


@pytest.mark.spark
def test_a_stream_with_added_attributes_can_have_more_shards(spark, tmp_path):
    from siddhi.spark import MemorySink, SparkRuntime

    count = "@info(name = 'count') from S select ts, k, count() as n group by k insert into Counts;"
    app = f"@app:name('More') define stream S (ts long, k string); define stream T (ts long, k string);\n{count}"
    wider = f"{app} @info(name = 'last') from T select k, max(ts) as ts group by k insert into Lasts;"
    bound = app.replace(count, f"{count} from T[ts < 0L] select k insert into Never;"), wider
    sinks = {name: MemorySink() for name in ("Counts", "Never", "Lasts")}
    events = []

    def go_on(text: str, shards: int, checkpoint: str, number: int, *, ends: bool = False, **options: bool) -> None:
        for stream in "ST":
            rows = [(10_000 * number + 1000 * n + (stream == "T"), f"k{n % 5}") for n in range(10)]
            events.extend((stream, row[0], row) for row in rows)
            (tmp_path / stream).mkdir(exist_ok=True)
            table = pa.table([pa.array(column) for column in zip(*rows)], names=["ts", "k"])
            pq.write_table(table, tmp_path / stream / f"{number}.parquet")
        runtime = SparkRuntime(text, spark, shards=shards)
        for stream in "ST":
            frame = spark.readStream.schema("ts bigint, k string").parquet(str(tmp_path / stream))
            runtime.bind(stream, frame, timestamp="ts", watermark="5 seconds")
        mine = {name: sink for name, sink in sinks.items() if f"into {name};" in text}
        if ends:
            runtime.finish(checkpoint, mine, **options)
        else:
            runtime.start(checkpoint, mine, trigger={"availableNow": True}, **options).await_termination()

    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    go_on(bound[0], 2, old, 1)
    with pytest.raises(SparkRunError, match="query 'last' is new"):
        go_on(bound[1], 2, old, 2)
    go_on(bound[1], 2, old, 3, evolve=True)
    SparkRuntime(bound[1], spark, shards=4).migrate(old, new)
    go_on(bound[1], 4, new, 4, ends=True)
    want = oracle(app, events, ["Counts"])["Counts"]
    assert differences(want, given(sinks["Counts"])) is None
    lasts = oracle(wider, [event for event in events if event[1] >= 20_000], ["Lasts"])["Lasts"]
    assert differences(lasts, given(sinks["Lasts"])) is None
