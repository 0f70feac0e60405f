"""Readers of a running app while it is changed: iterators, asynchronous callbacks, operators that go on as they are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import siddhi
from siddhi import Event, SiddhiManager, extension
from siddhi.errors import CannotChangeAppError
from siddhi.extension import Registry

APP = """
define stream S (v long);
@info(name = 'all') from S#window.length(3) select v, count() as n insert into Out;
@info(name = 'twice') from S[v % 2 == 0] select v * 2 as twice insert into Twice;
"""
N = 400
ROWS = [(v, min(v + 1, 3)) for v in range(N)]


def changed(app: siddhi.App) -> Iterator[None]:
    """Change the app in several ways, step by step; what is read goes on."""
    for number in range(3):
        app.add(
            f"@info(name = 'more{number}') from S#window.length(5) select sum(v) as total insert into More{number};"
        )
        yield
        app.replace(APP.replace("v * 2", f"v * 2 + {number}"))
        yield
        app.add("define table T (v long); @info(name = 'kept') from S select v insert into T;")
        app.remove("kept")
        app.remove("T")
        yield


def send_all(app: siddhi.App, sent: threading.Semaphore) -> None:
    handler = app["S"]
    for v in range(N):
        handler.send((v,))
        sent.release()


@pytest.mark.parametrize("batch", [False, True])
def test_iterators_go_on(batch: bool) -> None:
    """In a thread, while another one sends and a third one changes the app: no event is missing or seen twice."""
    with siddhi.App(APP) as app:
        stream: Any = app.stream("Out", batch=True, buffer=16) if batch else app.stream("Out", buffer=16)
        rows: list[tuple[Any, ...]] = []

        def read() -> None:
            for item in stream:
                rows.extend((row["v"], row["n"]) for row in item.to_dicts()) if batch else rows.append(tuple(item.data))

        sent = threading.Semaphore(0)
        threads = [threading.Thread(target=read), threading.Thread(target=send_all, args=(app, sent))]
        for thread in threads:
            thread.start()
        for _ in changed(app):
            for _ in range(20):
                assert sent.acquire(timeout=30)
        threads[1].join(30)
    threads[0].join(30)
    assert rows == ROWS


def test_async_for_and_async_callbacks_go_on() -> None:
    async def main() -> tuple[list[Any], list[Any], list[Any]]:
        called: list[Any] = []
        plain: list[Any] = []
        async with siddhi.App(APP) as app:
            stream = app.stream("Out", buffer=8)

            @app.on("Out", buffer=8)
            async def note(events: list[Event]) -> None:
                await asyncio.sleep(0)
                called.extend(tuple(event.data) for event in events)

            @app.on("all")
            def count(time: int, current: list[Event] | None, expired: list[Event] | None) -> None:
                plain.extend(tuple(event.data) for event in current or [])

            async def read() -> list[Any]:
                return [tuple(event.data) async for event in stream]

            reading = asyncio.create_task(read())
            steps = changed(app)
            for v in range(N):
                await app["S"].send_async((v,))
                if v % 40 == 0:
                    await asyncio.to_thread(next, steps, None)
        return await reading, called, plain

    assert asyncio.run(main()) == (ROWS, ROWS, ROWS)


def test_a_stream_that_is_read_is_not_removed() -> None:
    with siddhi.App(APP) as app:
        stream = app.stream("Twice")
        with pytest.raises(
            CannotChangeAppError, match=r"it is removed, but an iterator of stream\(\) is attached to it"
        ):
            app.remove("twice")
        stream.close()
        app.remove("twice")
        assert "Twice" not in app


@pytest.mark.parametrize("change", ["", "-- a comment\n"])
def test_unchanged_queries_keep_their_operators(change: str) -> None:
    """So that the pause does not depend on what they hold: their state is not even written."""
    manager = SiddhiManager()

    @extension.stream_processor("readers:sum", registry=Registry())
    class Sum:
        def __init__(self, context: extension.ProcessorContext) -> None:
            self.total = 0

        def process(self, event: Event) -> Event:
            self.total += event["v"]
            return event

        def on_timer(self, time: int) -> None: ...

        def snapshot(self) -> object:
            raise RuntimeError("not to be called")

        def restore(self, state: object) -> None:
            raise RuntimeError("not to be called")

    manager.set_extension("readers:sum", Sum)
    text = """@app:name('A') @app:playback define stream S (v long);
    @info(name = 'sum') from S#readers:sum()#window.time(1 sec) select count() as n insert all events into Out;
    @info(name = 'match') from every a=S -> not S for 1 sec select a.v as v output last every 1 sec insert into Matches;"""

    def run(changes: bool) -> list[Any]:
        with siddhi.App(text, manager=manager) as app:
            seen: list[Any] = []
            app.on("Out", lambda events: seen.extend(event.data for event in events))
            app.on("Matches", lambda events: seen.extend(event.data for event in events))
            app["S"].send((1,), 1000)
            if changes:
                result = app.replace(change + text)
                assert set(result.kept) == {"query 'sum'", "query 'match'"}
                app.add("@info(name = 'front') from S[v > 5] select v insert into More;")
            app["S"].send((7,), 1500)
            for now in range(2000, 5000, 250):
                app.advance_clock(now)
        return seen

    found = run(True)
    assert found == run(False)
    assert (7,) in found


def test_queries_that_go_on_can_be_saved_and_changed_again() -> None:
    text = APP.replace("define stream", "@app:name('A') @app:playback define stream")
    with siddhi.App(text) as app:
        out: list[Any] = []
        app.on("Out", lambda events: out.extend(event.data for event in events))
        for v in range(2):
            app["S"].send((v,), v)
            app.add(f"from S select v insert into More{v};")
        snapshot = app.snapshot()
        app.replace(text.replace("length(3)", "length(2)"), reset="all")
        app.replace(text, reset="all")
        app["S"].send((2,), 2)
        app.restore(snapshot)
        app["S"].send((3,), 3)
    assert out == [(0, 1), (1, 2), (2, 1), (3, 3)]
