"""The layout of an app on Spark is explained from its text; needs no PySpark and no Java."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.app_layout import app_layout
from siddhi.spark.plan.fragments import cut

TRADES = "define stream Trades (ts long, symbol string, price double, n int);\n"
APP = f"""@app:name('Alerts') {TRADES}
@info(name = 'dear') from Trades[price > 10.0] select symbol, n insert into Dear;
@info(name = 'sums') from Dear select symbol, sum(n) as total group by symbol insert into Sums;
@info(name = 'last') from Trades#window.length(5) select max(n) as most insert into Most;"""
REFUSED = f"""define trigger Opening at 'start';
@source(type='http', receiver.url='http://localhost/') {TRADES}
@sink(type='file', file.uri='/out', @map(type='csv'))
define stream Out (o object);
from Trades select createSet(symbol) as o insert into Out;"""


def test_each_step_has_its_place_and_key() -> None:
    dear, sums, last = app_layout(APP).to_dict()["steps"]
    assert (dear["kind"], dear["form"], dear["name"]) == ("catalyst", "filter and projection", "dear")
    assert (sums["partitioning"], sums["shards"]) == ("hash", 64)
    assert sums["inputs"] == {"Dear": {"to": "the shard of its key", "by": ["symbol"]}}
    assert (last["partitioning"], last["shards"], last["line"]) == ("single", 1, 5)
    assert last["inputs"] == {"Trades": {"to": "one shard", "by": []}}
    assert [element["name"] for element in last["elements"]] == ["last"]


def test_the_layout_of_a_stream_tells_its_tasks() -> None:
    shown = app_layout(APP, streaming=True).to_text()
    assert "app Alerts on Spark, streaming" in shown
    assert "\n4 tasks, each with at most 16 shards of a fragment\n" in shown
    assert "\nwarning: last runs on one shard: " in shown
    assert "\n40 tasks, each with at most 2 shards" in app_layout(APP, streaming=True, tasks=40).to_text()
    assert app_layout(APP).tasks is None


def test_all_that_spark_refuses_is_in_the_layout_with_its_location() -> None:
    found = app_layout(REFUSED)
    assert [(error.code, error.line) for error in found.refused] == [("E401", 1), ("E412", 6)]
    assert [error.code for error in found.bindings] == ["E409"]
    assert "\nnote: Spark can't read the http source of 'Trades'" in found.to_text()
    data = json.loads(json.dumps(found.to_dict()))
    assert data["refused"][0]["hint"] == "use 'at every <time>', or bind a stream of the times"
    assert data["bindings"][0]["line"] == 2


def test_strict_makes_refusals_of_warnings() -> None:
    found = app_layout(APP, strict=True)
    assert [(error.code, error.line) for error in found.refused] == [("E410", 5)]
    assert not found.warnings


def test_an_app_that_is_invalid_on_any_engine_is_an_error() -> None:
    with pytest.raises(SiddhiAppError, match="prize"):
        app_layout(f"{TRADES} from Trades[prize > 1.0] select n insert into O;")


def test_the_layout_needs_no_pyspark() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = sys.modules['pyarrow'] = None; "
        "from siddhi.spark.app_layout import app_layout; print(app_layout(sys.argv[1], streaming=True).to_text())"
    )
    done = subprocess.run([sys.executable, "-c", code, APP], capture_output=True, text=True, check=True)
    assert done.stdout == app_layout(APP, streaming=True).to_text() + "\n"


ATTRIBUTES = "abcdefgh"
COLUMNS = ", ".join(f"{name} string" for name in ATTRIBUTES)


def keyed_at_random(rng: random.Random) -> str:
    """Return 20 queries of one stream, each grouped by other attributes."""
    keys = [", ".join(rng.sample(ATTRIBUTES, rng.randint(1, 8))) for _ in range(20)]
    queries = (f"from S select {by}, sum(v) as w group by {by} insert into O{n};" for n, by in enumerate(keys))
    return f"define stream S ({COLUMNS}, v int);" + "".join(queries)


def chained(rng: random.Random) -> str:
    """Return 20 queries, each reading the one before, grouped by other attributes."""
    keys = [", ".join(rng.sample(ATTRIBUTES, rng.randint(1, 8))) for _ in range(20)]
    every = ", ".join(ATTRIBUTES)
    queries = (
        f"from S{n}#window.time(1 sec) select {every}, v group by {by} insert into S{n + 1};"
        for n, by in enumerate(keys)
    )
    return f"define stream S0 ({COLUMNS}, v int);" + "".join(queries)


def coloured(_: random.Random) -> str:
    """Return 20 joins of 7 streams on unequal attributes: a key is a colouring of the streams that does not exist."""
    pairs = [(one, other) for one in range(7) for other in range(one)][:20]
    on = " and ".join(f"x.{one} == y.{other}" for one in "abc" for other in "abc" if one != other)
    streams = "".join(f"define stream S{n} (a string, b string, c string);" for n in range(7))
    return streams + "".join(
        f"from S{one}#window.time(1 sec) as x join S{other}#window.time(1 sec) as y on {on} select x.a insert into O{n};"
        for n, (one, other) in enumerate(pairs)
    )


@pytest.mark.parametrize("app", [keyed_at_random, chained, coloured])
def test_a_layout_of_20_queries_by_mixed_keys_takes_less_than_a_second(app) -> None:
    planned = plan(parse(app(random.Random(7))))
    begin = time.process_time()
    assert cut(planned, streaming=True, prefer="engine").fragments
    assert time.process_time() - begin < 1
