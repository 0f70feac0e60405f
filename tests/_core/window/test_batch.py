"""lengthBatch, timeBatch and batch: what a join finds in them during a release."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager, extension
from siddhi.types import AttributeType
from tests.kit.running import collect, running

STREAMS = "@app:playback define stream L (k string, n int); define stream R (k string, i int);"
SEARCHES = {
    "index": "l.k == r.k",
    "range": "l.n - 1 <= r.i",
    "scan": "l.k == r.k or l.k == r.k",
}
RIGHT = {
    "stream": ("", "R#window.batch(2)"),
    "named": ("define window W (k string, i int) batch(2); from R insert into W;", "W"),
}


@pytest.fixture(params=SEARCHES.values(), ids=list(SEARCHES))
def on(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def send(runtime: SiddhiAppRuntime, time: int, *numbers: int) -> None:
    runtime.input_handler("R").send_events([Event(time, ("a", number)) for number in numbers])


@pytest.mark.parametrize("right", RIGHT)
def test_an_event_fed_back_during_a_release_finds_the_whole_chunk(on: str, right: str) -> None:
    define, window = RIGHT[right]
    app = f"""{STREAMS} {define}
        from L#window.length(5) as l join {window} as r on {on} select l.k as k, l.n as n, r.i as i insert into O;
        from O[n == 0 and i == 1] select k, n + 1 as n insert into L;"""
    with running(app) as runtime:
        out = collect(runtime, "O")
        runtime.input_handler("L").send(("a", 0), 1000)
        send(runtime, 1001, *range(1, 6))
    fed_back = [("a", 1, i) for i in range(1, 6)]
    assert [row for row in out if row[1] == 1][:5] == fed_back
    # The events of the other pieces come after what was fed back, and find it.
    assert [row for row in out if row[1] == 1][5:] == [("a", 1, i) for i in (3, 4, 5)]
    assert [row for row in out if row[1] == 0] == [("a", 0, i) for i in range(1, 6)]


@pytest.mark.parametrize("events", ["into", "all events into"])
@pytest.mark.parametrize("window", ["batch()", "batch(2)", "batch(9)", "lengthBatch(4)", "timeBatch(10)"])
def test_a_function_that_sends_during_a_release_finds_the_whole_batch(on: str, window: str, events: str) -> None:
    manager = SiddhiManager()

    @extension.function(
        "test:send",
        args=(AttributeType.INT, AttributeType.INT),
        returns=AttributeType.INT,
        registry=extension.Registry(),
    )
    def feed(n: int, i: int) -> int:
        if (n, i) == (0, 2):
            runtime.input_handler("L").send(("a", 1), 1020)
        return i

    manager.set_extension("test:send", feed)
    app = f"""{STREAMS} from L#window.length(5) as l join R#window.{window} as r on {on}
        select l.n as n, test:send(l.n, r.i) as i insert {events} O;"""
    with running(app, manager=manager) as runtime:
        out = collect(runtime, "O")
        runtime.input_handler("L").send(("a", 0), 1000)
        send(runtime, 1001, 1, 2, 3, 4)
        runtime.advance_clock(1020)
    assert [row for row in out if row[0] == 1][:4] == [(1, i) for i in (1, 2, 3, 4)]
    assert sorted(row for row in out if row[0] == 0) == [(0, i) for i in (1, 2, 3, 4)]


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("window", ["batch()", "batch(2)", "lengthBatch(4)"])
def test_a_batch_whose_join_failed_is_found_in_order(on: str, window: str, batches: int) -> None:
    app = f"""{STREAMS} define function f[python] return int {{
            if data == [0, 2]: raise ValueError('no')
            return data[1]
        }};
        from L#window.length(1) as l join R#window.{window} as r on {on} select l.n as n, f(l.n, r.i) as i insert into O;"""
    with running(app) as runtime:
        failures: list[Any] = []
        runtime.handle_exception_with(lambda *failure: failures.append(failure))
        out = collect(runtime, "O")
        runtime.input_handler("L").send(("a", 0), 1000)
        for batch in range(batches):
            send(runtime, 1001 + batch, *range(4 * batch + 1, 4 * batch + 5))
        assert len(failures) == 1
        # Where current events alone are wanted, the batches stay to be found, one behind the other.
        for n in (1, 2):
            out.clear()
            runtime.input_handler("L").send(("a", n), 1010)
            assert out == [(n, i) for i in range(1, 4 * batches + 1)]


VALUES = "@app:playback define stream S (k string, v int);"


def values_of(query: str, *chunks: list[int], partitioned: bool) -> list[Any]:
    text = f"partition with (k of S) begin {query} end;" if partitioned else query
    with running(VALUES + text) as runtime:
        out = collect(runtime, "O")
        for at, chunk in enumerate(chunks):
            runtime.input_handler("S").send_events([Event(1000 + at, ("a", value)) for value in chunk])
    return [row[0] for row in out]


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize(
    ("clause", "function", "expected"),
    [
        ("all events into", "minForever(v)", [2, 6, 4]),
        ("all events into", "maxForever(v)", [3, 7, 4]),
        ("expired events into", "minForever(v)", [2, 6]),
        ("all events into", "sum(v)", [5, 13, 4]),
    ],
)
def test_with_expired_events_each_chunk_is_reset(
    clause: str, function: str, expected: list[int], partitioned: bool
) -> None:
    query = f"from S#window.batch() select {function} as x insert {clause} O;"
    assert values_of(query, [2, 3], [7, 6], [4], partitioned=partitioned) == expected


@pytest.mark.parametrize(("partitioned", "expected"), [(False, [2, 6, 4, 9]), (True, [2, 2, 2, 2])])
def test_without_expired_events_aggregates_of_a_key_continue(partitioned: bool, expected: list[int]) -> None:
    query = "from S#window.batch() select minForever(v) as x insert into O;"
    assert values_of(query, [2, 3], [7, 6], [4], [9], partitioned=partitioned) == expected


@pytest.mark.parametrize(("partitioned", "expected"), [(False, [5, 4, 6, 8]), (True, [5, 4, 10, 8])])
def test_the_parts_of_a_chunk_are_reset_in_a_partition_too(partitioned: bool, expected: list[int]) -> None:
    query = "from S#window.batch(2) select sum(v) as x insert into O;"
    assert values_of(query, [2, 3, 4], [1, 5, 8], partitioned=partitioned) == expected


def test_a_reset_has_the_time_of_the_part_before_it() -> None:
    query = "@info(name = 'q') from S#window.batch(2) select v insert expired events into O;"
    times: list[int] = []
    with running(VALUES + query) as runtime:
        runtime.add_query_callback("q", lambda time, *_: times.append(time))
        for start in (1000, 2000, 3000):
            runtime.input_handler("S").send_events([Event(start + i, ("a", i)) for i in range(3)])
    # The window emits the expired events, then the RESET before the first part of the chunk.
    assert times == [1002, 2002]


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("clause", ["into", "all events into"])
@pytest.mark.parametrize(
    ("streams", "expected"), [("LRL", [1, 2]), ("LRLRL", [1, 2, 1]), ("RLLRL", [1, 2, 1]), ("LRRL", [1, 1])]
)
def test_the_first_chunk_of_a_join_side_is_not_reset(
    streams: str, expected: list[int], clause: str, partitioned: bool
) -> None:
    query = f"""from L#window.length(9) as l left outer join R#window.batch() as r on l.n == r.i
                select count() as c insert {clause} O;"""
    keyed = f"partition with (k of L, k of R) begin {query} end;" if partitioned else query
    with running(STREAMS + keyed) as runtime:
        out = collect(runtime, "O")
        for number, stream in enumerate(streams):
            runtime.input_handler(stream).send(("a", number), 1000 + number)
    assert out == [(count,) for count in expected]
