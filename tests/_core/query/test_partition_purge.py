"""Purging of partition keys; the current key is never purged."""

from __future__ import annotations

from siddhi import Event
from tests.kit.running import running


def test_the_current_key_is_not_purged():
    app = """@app:playback define stream S (k string, v int);
    @purge(enable='true', interval='1 sec', idle.period='100 milliseconds')
    partition with (k of S) begin from S#window.lengthBatch(2) select k, v insert into Out; end;"""
    with running(app) as runtime:
        handler = runtime.input_handler("S")
        seen = []

        def move_clock_on(events):
            seen.append([event.data for event in events])
            if len(seen) == 1:
                handler.send(("B", 0), 10_000_000)

        runtime.add_callback("Out", move_clock_on)
        handler.send_events([Event(1000, ("A", number)) for number in range(6)])
        assert seen == [[("A", 0), ("A", 1)], [("A", 2), ("A", 3)], [("A", 4), ("A", 5)]]
        # Afterwards it goes like any other: a batch begun is forgotten.
        handler.send(("A", 6), 10_000_000)
        handler.send(("B", 1), 10_002_000)
        handler.send(("A", 7), 10_003_000)
        assert seen[3:] == []
