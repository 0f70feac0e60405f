"""Statistics: the counters of each level, and the metrics for Prometheus."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io import InMemoryBroker
from siddhi.runtime.metrics.memory import StateSizes
from siddhi.runtime.metrics.statistics import StatisticsLevel

APP = """
    @app:name('measured')
    define stream S (a string, v int);
    @async(buffer.size='16') define stream B (a string);
    define table T (a string);
    define window W (a string) length(5);
    @info(name='sums') from S[v > 0]#window.length(3) select a, sum(v) as s group by a insert into O;
    @info(name='chained') from O select a insert into P;
    @info(name='kept') from S select a insert into T;
    @info(name='windowed') from S select a insert into W;
    partition with (a of S) begin
        @info(name='inside') from S select a, count() as n insert into #I;
        @info(name='inner') from #I select a insert into Q;
    end;
"""


@pytest.fixture
def manager() -> Iterator[SiddhiManager]:
    with SiddhiManager() as manager:
        yield manager


@pytest.fixture
def runtime(manager: SiddhiManager) -> SiddhiAppRuntime:
    runtime = manager.create_siddhi_app_runtime(APP)
    runtime.start()
    return runtime


def send(runtime: SiddhiAppRuntime, n: int = 6) -> None:
    for i in range(n):
        runtime.input_handler("S").send(("ab"[i % 2], i))


def test_statistics_are_off_by_default(runtime: SiddhiAppRuntime) -> None:
    send(runtime)
    read = runtime.statistics
    assert read.level is StatisticsLevel.OFF
    assert (dict(read.streams), dict(read.queries), dict(read.memory), read.metrics()) == ({}, {}, {}, {})


def test_basic_counts_events_and_measures_times(runtime: SiddhiAppRuntime) -> None:
    runtime.enable_statistics("basic")
    send(runtime)
    read = runtime.statistics
    assert read.level is StatisticsLevel.BASIC
    assert {name: read.streams[name].events for name in "SOPQ"} == {"S": 6, "O": 5, "P": 5, "Q": 6}
    assert read.streams["W"].kind == "Windows"
    assert read.streams["B"].buffered == 0
    assert read.streams["S"].buffered is None
    assert {name: query.events for name, query in read.queries.items() if query.events} == {
        "sums": 5,
        "chained": 5,
        "kept": 6,
        "windowed": 6,
        "partition_0/inside": 6,
        "partition_0/inner": 6,
    }
    names = ("partition_0", "partition_0/inside", "partition_0/inner")
    for name, chunks in {"sums": 6, "chained": 5, **dict.fromkeys(names, 6)}.items():
        query = read.queries[name]
        assert query.chunks == chunks
        assert 0 < query.slowest <= query.seconds <= read.seconds
        assert query.latency == query.seconds / chunks
    assert read.streams["S"].throughput == pytest.approx(6 / read.seconds)
    assert dict(read.memory) == {}


def test_detail_measures_state_size(runtime: SiddhiAppRuntime) -> None:
    runtime.enable_statistics(StatisticsLevel.DETAIL)
    before = runtime.statistics.memory
    send(runtime)
    after = runtime.statistics.memory
    for owner in [("Queries", "sums"), ("Tables", "T"), ("Windows", "W"), ("Partitions", "partition_0")]:
        assert after[owner] > before[owner]


def test_large_state_is_measured_rarely(runtime: SiddhiAppRuntime) -> None:
    now = 0.0
    each = 0.2  # seconds that measuring takes, by a clock that only moves then

    def clock() -> float:
        return now

    sizes = StateSizes(runtime._assembly, clock)
    measured = sizes._measured

    def slowly() -> dict[tuple[str, str], int]:
        nonlocal now
        now += each
        return measured()

    sizes._measured = slowly  # type: ignore[method-assign]
    before = sizes.read()
    send(runtime)
    now = 20.1
    assert sizes.read() is before
    now = 20.3
    after = sizes.read()
    assert after["Queries", "sums"] > before["Queries", "sums"]
    each, now = 0.001, 50.0
    assert sizes.read() is not sizes.read()


def test_only_state_with_objects_that_cannot_be_saved_has_no_size(manager: SiddhiManager) -> None:
    app = """
        define stream S (o object, v int);
        @info(name = 'objects') from S#window.length(5) select o insert into O;
        @info(name = 'numbers') from S#window.length(5) select v insert into P;
    """
    with manager.create_siddhi_app_runtime(app) as runtime:
        runtime.enable_statistics("DETAIL")
        runtime.input_handler("S").send((object(), 1))
        assert [name for _, name in runtime.statistics.memory] == ["numbers"]


def test_the_time_of_later_queries_is_not_included(runtime: SiddhiAppRuntime) -> None:
    inside = 0.0

    def work(events: object) -> None:
        nonlocal inside
        started = time.perf_counter()
        while time.perf_counter() - started < 0.01:
            pass
        inside += time.perf_counter() - started

    runtime.add_callback("P", work)
    runtime.enable_statistics()
    started = time.perf_counter()
    runtime.input_handler("S").send(("a", 1))
    whole = time.perf_counter() - started
    queries = runtime.statistics.queries
    assert queries["chained"].seconds >= inside > 0.0
    # However slow the machine is: were the time behind a query its own as well, it would be counted twice.
    assert sum(query.seconds for query in queries.values()) <= whole


def test_enabling_starts_at_zero_and_a_change_of_detail_does_not(runtime: SiddhiAppRuntime) -> None:
    runtime.enable_statistics("BASIC")
    send(runtime)
    runtime.enable_statistics("DETAIL")
    assert runtime.statistics.streams["S"].events == 6
    runtime.enable_statistics("OFF")
    send(runtime)
    runtime.enable_statistics("BASIC")
    send(runtime, 2)
    read = runtime.statistics
    assert read.streams["S"].events == 2
    assert read.queries["sums"].chunks == 2


def test_outputs_are_the_same_at_every_level(manager: SiddhiManager) -> None:
    outputs = []
    for level in StatisticsLevel:
        runtime = manager.create_siddhi_app_runtime(APP)
        rows: list[tuple[object, ...]] = []
        for stream in "OPQ":
            runtime.add_callback(stream, lambda events, rows=rows: rows.extend(event.data for event in events))
        runtime.start()
        runtime.enable_statistics(level)
        send(runtime, 4)
        runtime.enable_statistics(StatisticsLevel.BASIC)
        send(runtime, 4)
        runtime.input_handler("S").send_events([Event(i, ("c", i)) for i in range(4)])
        runtime.enable_statistics(StatisticsLevel.OFF)
        send(runtime, 4)
        outputs.append(rows)
        runtime.shutdown()
    assert outputs[0] == outputs[1] == outputs[2]


def test_batches_are_counted_row_by_row(runtime: SiddhiAppRuntime) -> None:
    numpy = pytest.importorskip("numpy")
    runtime.enable_statistics("BASIC")
    keys = numpy.array(["a", "b"] * 50, dtype=object)
    runtime.input_handler("S").send_batch({"a": keys, "v": numpy.ones(100, dtype="int32")})
    read = runtime.statistics
    assert read.streams["S"].events == read.queries["sums"].events == 100


def test_a_failing_query_is_measured_and_its_failure_handled(manager: SiddhiManager) -> None:
    runtime = manager.create_siddhi_app_runtime(
        "@OnError(action='stream') define stream S (b bool); @info(name='q') from S select and(b) as r insert into O;"
    )
    failures: list[object] = []
    runtime.add_callback("!S", lambda events: failures.extend(event.data[0] for event in events))
    with runtime:
        runtime.enable_statistics()
        for value in (True, None, False):
            runtime.input_handler("S").send((value,))
        assert runtime.statistics.queries["q"].chunks == 3
    assert failures == [None]


def test_partial_matches_are_counted(manager: SiddhiManager) -> None:
    runtime = manager.create_siddhi_app_runtime(
        "@app:name('p') @app:playback define stream A (x int); define stream B (x int);"
        "@info(name='all') from every e1=A -> e2=B[x == e1.x] within 1 sec select e1.x as x insert into O;"
        "@info(name='some', max.partial.matches='2', partial.matches.overflow='drop.oldest')"
        "from every e1=A -> e2=B[x == e1.x] select e1.x as x insert into P;"
        "@info(name='none') from A select x insert into Q;"
    )
    runtime.start()
    runtime.enable_statistics("basic")
    for x in range(5):
        runtime.input_handler("A").send((x,), timestamp=1000 + x)
    runtime.input_handler("B").send((4,), timestamp=1010)
    queries = runtime.statistics.queries
    assert {name: (query.partial_matches, query.dropped) for name, query in queries.items()} == {
        "all": (4, 0),
        "some": (1, 3),
        "none": (None, None),
    }
    assert runtime.statistics.metrics("*atches") == {
        "io.siddhi.SiddhiApps.p.Siddhi.Queries.all.partialMatches": 4,
        "io.siddhi.SiddhiApps.p.Siddhi.Queries.some.partialMatches": 1,
        "io.siddhi.SiddhiApps.p.Siddhi.Queries.some.droppedPartialMatches": 3,
    }
    runtime.input_handler("B").send((9,), timestamp=9000)
    assert runtime.statistics.queries["all"].partial_matches == 0


REFUSING = """
    @app:name('keys')
    define stream S (k string, v int);
    define stream U (k string, to string);
    @PrimaryKey('k') define table T (k string, v int);
    @PrimaryKey('k') define table Calm (k string);
    define table Loose (k string, v int);
    from S select k, v insert into T;
    from S select k, v insert into Loose;
    from U update T set T.k = to on T.k == k;
"""


def test_refused_rows_of_tables_are_counted(manager: SiddhiManager) -> None:
    runtime = manager.create_siddhi_app_runtime(REFUSING)
    runtime.start()
    runtime.input_handler("S").send(("a", 1))
    runtime.input_handler("S").send(("a", 2))
    runtime.enable_statistics("basic")
    for k in "abcb":
        runtime.input_handler("S").send((k, 3))
    runtime.input_handler("U").send(("a", "b"))
    runtime.query("select 'c' as k, 7 as v insert into T")
    assert {name: table.refused for name, table in runtime.statistics.tables.items()} == {"T": 5, "Calm": 0}
    assert runtime.statistics.metrics("*.refused") == {"io.siddhi.SiddhiApps.keys.Siddhi.Tables.T.refused": 5}
    runtime.enable_statistics("off")
    assert dict(runtime.statistics.tables) == {}


def test_refused_rows_of_tables_are_exported_to_prometheus(manager: SiddhiManager) -> None:
    prometheus_client = pytest.importorskip("prometheus_client")
    from siddhi.runtime.prometheus import SiddhiCollector

    registry = prometheus_client.CollectorRegistry()
    registry.register(SiddhiCollector(manager))
    runtime = manager.create_siddhi_app_runtime(REFUSING)
    runtime.start()
    runtime.enable_statistics("basic")
    for v in range(3):
        runtime.input_handler("S").send(("a", v))
    refused = {
        table: registry.get_sample_value("siddhi_table_refused_total", {"app": "keys", "table": table})
        for table in ("T", "Calm", "Loose")
    }
    assert refused == {"T": 2, "Calm": 0, "Loose": None}


def test_an_unknown_level_is_refused(runtime: SiddhiAppRuntime) -> None:
    with pytest.raises(ValueError, match="invalid statistics level 'ALL'"):
        runtime.enable_statistics("ALL")


@pytest.mark.parametrize(
    ("annotation", "level"),
    [
        ("@app:statistics", "BASIC"),
        ("@app:statistics('true')", "BASIC"),
        ("@app:statistics(reporter='jmx')", "BASIC"),
        ("@app:statistics('false')", "OFF"),
        ("@app:statistics(enable='false')", "OFF"),
    ],
)
def test_the_annotation_sets_the_level_at_start(manager: SiddhiManager, annotation: str, level: str) -> None:
    runtime = manager.create_siddhi_app_runtime(f"{annotation} define stream S (v int);")
    assert runtime.statistics.level is StatisticsLevel.OFF
    runtime.start()
    assert runtime.statistics.level.value == level


def test_an_unknown_reporter_is_refused(manager: SiddhiManager) -> None:
    with pytest.raises(SiddhiAppCreationError, match="reporter"):
        manager.create_siddhi_app_runtime("@app:statistics(reporter='paper') define stream S (v int);")


def test_metrics_have_full_names_and_can_be_selected(runtime: SiddhiAppRuntime) -> None:
    runtime.enable_statistics("DETAIL")
    send(runtime)
    metrics = runtime.statistics.metrics()
    prefix = "io.siddhi.SiddhiApps.measured.Siddhi"
    assert {
        f"{prefix}.Streams.S.throughput",
        f"{prefix}.Streams.B.size",
        f"{prefix}.Queries.sums.latency",
        f"{prefix}.Tables.T.memory",
    } <= metrics.keys()
    chosen = runtime.statistics.metrics("*.Queries.sums.*, *.Streams.?.size")
    assert sorted(name.removeprefix(prefix) for name in chosen) == [
        ".Queries.sums.keys",
        ".Queries.sums.latency",
        ".Queries.sums.memory",
        ".Queries.sums.throughput",
        ".Streams.B.size",
    ]


def test_the_console_reporter_logs(manager: SiddhiManager) -> None:
    reported = threading.Event()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "Streams.S.throughput" in record.getMessage():
                reported.set()

    log, handler = logging.getLogger("siddhi.statistics"), Handler()
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        with manager.create_siddhi_app_runtime("@app:statistics(interval='1') define stream S (v int);"):
            assert reported.wait(30)
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)


def test_prometheus_is_told(manager: SiddhiManager, runtime: SiddhiAppRuntime) -> None:
    prometheus_client = pytest.importorskip("prometheus_client")
    from siddhi.runtime.prometheus import SiddhiCollector

    registry = prometheus_client.CollectorRegistry()
    registry.register(SiddhiCollector(manager))
    assert "measured" not in prometheus_client.generate_latest(registry).decode()
    runtime.enable_statistics("DETAIL")
    send(runtime)
    assert registry.get_sample_value("siddhi_stream_events_total", {"app": "measured", "stream": "S"}) == 6
    assert registry.get_sample_value("siddhi_stream_buffered_events", {"app": "measured", "stream": "B"}) == 0
    assert registry.get_sample_value("siddhi_query_events_total", {"app": "measured", "query": "sums"}) == 5
    assert registry.get_sample_value("siddhi_query_seconds_count", {"app": "measured", "query": "sums"}) == 6
    assert registry.get_sample_value("siddhi_state_bytes", {"app": "measured", "kind": "Tables", "name": "T"}) > 0


CONNECTED = """@app:name('connected')
@source(type='inMemory', topic='statistics-test') define stream S (a string);
@sink(type='log') @sink(type='inMemory', topic='statistics-out') define stream T (a string);
from S select a insert into T;
"""


def test_sources_and_sinks_are_counted(manager: SiddhiManager) -> None:
    with manager.create_siddhi_app_runtime(CONNECTED) as runtime:
        InMemoryBroker.publish("statistics-test", ("before",))
        assert runtime.statistics.connectors == {}
        runtime.enable_statistics("BASIC")
        InMemoryBroker.publish("statistics-test", ("x",))
        InMemoryBroker.publish("statistics-test", 7)
        found = runtime.statistics
        counts = {key: (connector.payloads, connector.connected) for key, connector in found.connectors.items()}
        # The topic of the second sink has no subscriber.
        assert counts == {("Sources", "S"): (2, True), ("Sinks", "T"): (1, True), ("Sinks", "T.2"): (0, True)}
        assert "io.siddhi.SiddhiApps.connected.Siddhi.Sources.S.throughput" in found.metrics()


def test_connectors_are_exported_to_prometheus(manager: SiddhiManager) -> None:
    prometheus_client = pytest.importorskip("prometheus_client")
    from siddhi.runtime.prometheus import SiddhiCollector

    registry = prometheus_client.CollectorRegistry()
    registry.register(SiddhiCollector(manager))
    with manager.create_siddhi_app_runtime(CONNECTED) as runtime:
        runtime.enable_statistics("BASIC")
        InMemoryBroker.publish("statistics-test", ("x",))
        text = prometheus_client.generate_latest(registry).decode()
    assert 'siddhi_connector_payloads_total{app="connected",kind="Sources",name="S"} 1.0' in text
    assert 'siddhi_connector_connected{app="connected",kind="Sinks",name="T"} 1.0' in text


OPERATIONS = """
    @app:name('operations')
    define stream S (a string, v int);
    @primaryKey('a') define table T (a string, v int);
    define window W (a string, v int) length(5);
    define aggregation G from S select a, sum(v) as s group by a aggregate every sec;
    from S[v == 1] insert into T;
    from S[v == 2] select a, v update T set T.v = v on T.a == a;
    from S[v == 3] select a, v update or insert into T set T.v = v on T.a == a;
    from S[v == 4] delete T on T.a == a;
    from S[(T.a == a) in T] insert into O;
    from S join T on S.a == T.a select S.a as a insert into P;
    from S insert into W;
    from S join W on S.a == W.a select S.a as a insert into Q;
    partition with (a of S) begin from S join G on S.a == G.a within 0L, 9000000000000L per 'sec'
        select S.a as a insert into R; end;
"""


def test_operations_on_tables_windows_and_aggregations_are_measured(manager: SiddhiManager) -> None:
    runtime = manager.create_siddhi_app_runtime(OPERATIONS)
    runtime.start()
    runtime.input_handler("S").send(("b", 1))
    runtime.enable_statistics("basic")
    for v in (1, 2, 3, 4, 3):
        runtime.input_handler("S").send(("a", v))
    runtime.query("from T select a")
    runtime.query("from W select a")
    runtime.query("select 'c' as a, 7 as v insert into T")
    runtime.query("delete T on T.a == 'c'")
    read = runtime.statistics
    assert {key: measured.operations for key, measured in read.operations.items()} == {
        ("Aggregations", "G", "find"): 5,
        ("Aggregations", "G", "insert"): 5,
        ("Tables", "T", "contains"): 5,
        ("Tables", "T", "delete"): 2,
        ("Tables", "T", "find"): 6,
        ("Tables", "T", "insert"): 2,
        ("Tables", "T", "update"): 1,
        ("Tables", "T", "updateOrInsert"): 2,
        ("Windows", "W", "find"): 6,
        ("Windows", "W", "insert"): 5,
    }
    for measured in read.operations.values():
        assert 0 < measured.slowest <= measured.seconds <= read.seconds
        assert measured.throughput == pytest.approx(measured.operations / read.seconds)
    prefix = "io.siddhi.SiddhiApps.operations.Siddhi"
    metrics = read.metrics()
    assert metrics[f"{prefix}.Tables.T.find.latency"] > 0
    assert metrics[f"{prefix}.Windows.W.insert.throughput"] > 0
    runtime.enable_statistics("off")
    assert dict(runtime.statistics.operations) == {}
    runtime.input_handler("S").send(("a", 1))
    runtime.query("select 'c' as a, 7 as v insert into T")
    runtime.enable_statistics("basic")
    assert not any(measured.operations for measured in runtime.statistics.operations.values())
