"""lengthBatch, timeBatch and batch: what a join finds in them amid a release."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager, extension
from siddhi.types import AttributeType
from tests.runtime.running import collect, running

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
def test_what_a_piece_feeds_back_finds_the_whole_chunk(on: str, right: str) -> None:
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
def test_a_function_that_sends_amid_a_release_finds_the_whole_batch(on: str, window: str, events: str) -> None:
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
def test_a_batch_whose_join_failed_is_found_in_its_order(on: str, window: str, batches: int) -> None:
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
