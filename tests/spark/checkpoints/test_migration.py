"""A checkpoint under more shards gives what the old one would have given."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.planner import plan
from siddhi.query_compiler import parse
from siddhi.spark.checkpoints.evolution import slot_of
from siddhi.spark.checkpoints.migration import unsplittable
from siddhi.spark.layout.islands import cut
from siddhi.spark.testing import differences, oracle
from siddhi.spark.workers.program import write_program
from tests.spark.checkpoints.test_checkpoints import given, more, started
from tests.spark.streams.stream_run import APP, OUTPUTS
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
    with pytest.raises(ValueError, match=r"3 shards don't become 8: .* a multiple \(6, 9, 12 \.\.\.\)"):
        started(spark, tmp_path, app, shards=8).migrate(old, new)
    with pytest.raises(SparkRunError, match=r"another form of the app: .*'last' is gone"):
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


def test_what_time_brings_out_for_all_keys_together_is_not_split():
    planned = plan(parse(SLOTS))
    (island,) = cut(planned, streaming=True, prefer="engine").islands
    slot = slot_of(planned, island, write_program(planned, island, []), 0, 4)
    assert slot.keys == {"S": ["k"]}
    assert list(unsplittable(planned, slot)) == [
        "query 'minute' keeps what time brings out for all keys together: put it into a partition"
    ]
