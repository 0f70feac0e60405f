"""An app releases its events, pools and objects."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from siddhi import Event, SiddhiManager
from siddhi._core.record.event import live_events, live_pools
from tests.kit.running import running

STREAM = "define stream S (k string, v int, o object);"
APPS = {
    "filter": "from S[v > 2] select k, v, o insert into Out;",
    "length": "from S#window.length(3) select k, o, sum(v) as v insert all events into Out;",
    "length_batch": "from S#window.lengthBatch(4) select k, v, o insert all events into Out;",
    "time": "from S#window.time(1 sec) select k, o, count() as n insert expired events into Out;",
    "time_batch": "from S#window.timeBatch(500) select k, o, count() as n group by k insert all events into Out;",
    "batch": "from S#window.batch() select k, v, o insert all events into Out;",
    "grouped": "from S select k, o, distinctCount(k) as n, unionSet(createSet(k)) as names group by k insert into Out;",
    "ordered": "from S#window.lengthBatch(3) select k, v, o order by v desc limit 1 offset 1 insert into Out;",
    "chain": "from S#window.length(2) select k, o, v insert into M; from M#window.length(2) select o insert into Out;",
    "partition": "partition with (k of S) begin from S#window.length(2) select k, o insert all events into Out; end;",
    "fails": "from S#window.length(2) select k, o, and(v > 2) as every insert all events into Out;",
    "stream_function": "from S#pol2Cart(1.0, 2.0)#window.length(2) select k, x, o insert into Out;",
}


class Thing:
    """Something whose end can be seen."""


def use(name: str, keep: list[list[Event]] | None = None) -> None:
    """Run an app over rows, chunks, batches, failures, a snapshot that is refused and one that is restored."""
    with running(f"@app:playback {STREAM} {APPS[name]}") as runtime:
        runtime.handle_exception_with(lambda *failure: None)
        runtime.add_callback("Out", (lambda events: None) if keep is None else keep.append)
        handler = runtime.input_handler("S")
        for number in range(12):
            handler.send((f"k{number % 3}", number % 5, None), 1000 + 100 * number)
        handler.send_events([Event(2500, (f"k{number}", number, None)) for number in range(5)])
        handler.send_batch({"k": ["x", None] * 300, "v": list(range(600)), "o": [None] * 600}, timestamp=[2600] * 600)
        with pytest.raises(ValueError, match="stream 'S'"):
            handler.send_events([Event(2700, ("a", 1, None)), Event(2700, ("a", "b", None))])
        snapshot = runtime.snapshot()
        handler.send(("k1", None, ["some"]), 2700)
        runtime.restore(snapshot)
        handler.send(("k1", 0, Thing()), 2800)


@pytest.mark.parametrize("name", APPS)
def test_a_collected_app_leaves_no_event_and_no_pool(name):
    use(name)
    gc.collect()
    before = live_events(), live_pools()
    for _ in range(3):
        use(name)
    gc.collect()
    assert (live_events(), live_pools()) == before


def test_events_referenced_by_a_user_are_kept_alone():
    gc.collect()
    before, pools = live_events(), live_pools()
    kept = []
    use("length", keep=kept)
    gc.collect()
    count = sum(map(len, kept))
    assert count > 0
    assert live_events() - before == count
    assert all(event.timestamp for chunk in kept for event in chunk)
    _ = [event.data for chunk in kept for event in chunk]
    assert live_events() == before, "an event that was read is a tuple, and its record goes back"
    kept.clear()
    gc.collect()
    assert live_pools() == pools


@pytest.mark.parametrize("name", APPS)
def test_sent_objects_are_released(name):
    thing = Thing()
    gone = weakref.ref(thing)
    text = str(object())
    references = sys.getrefcount(text)
    with running(f"@app:playback {STREAM} {APPS[name]}") as runtime:
        runtime.handle_exception_with(lambda *failure: None)
        runtime.add_callback("Out", lambda events: [event.data for event in events])
        handler = runtime.input_handler("S")
        for time in range(1000, 3000, 100):
            handler.send((text, time % 7, thing), time)
        handler.send_batch({"k": [text] * 300, "v": [3] * 300, "o": [thing] * 300}, timestamp=[3000] * 300)
    del runtime, handler, thing
    gc.collect()
    assert sys.getrefcount(text) == references
    assert gone() is None


def test_a_refused_row_releases_its_objects():
    text = str(object())
    references = sys.getrefcount(text)
    with running(STREAM) as runtime:
        handler = runtime.input_handler("S")
        for _ in range(5):
            with pytest.raises(ValueError, match="'v'"):
                handler.send((text, "wrong", text))
    assert sys.getrefcount(text) == references


def test_an_app_dropped_without_shutdown_is_collected():
    gc.collect()
    before = live_events(), live_pools()
    runtime = SiddhiManager().create_siddhi_app_runtime(f"@app:playback {STREAM} {APPS['length']}")
    runtime.add_callback("Out", lambda events, runtime=runtime: runtime.now)
    runtime.start()
    runtime.input_handler("S").send(("a", 1, None), 1)
    del runtime
    gc.collect()
    assert (live_events(), live_pools()) == before


def test_garbage_collection_during_events_is_safe():
    threshold = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for name in ("length", "grouped", "partition"):
            with running(f"@app:playback {STREAM} {APPS[name]}") as runtime:
                runtime.add_callback("Out", lambda events: [event.data for event in events])
                for number in range(20):
                    runtime.input_handler("S").send((f"k{number % 3}", number, [number]), number)
    finally:
        gc.set_threshold(*threshold)
