"""No sender waits unnoticed for a reader that takes nothing: it is closed if it has ended, and reported if it has not."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

import siddhi
from siddhi.errors import BufferOverflowError
from siddhi.runtime.readers import backpressure
from tests.kit.running import TRADES

APP = f"{TRADES} from Trades select symbol, volume insert into Out;"


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(backpressure, "_LOOK_S", 0.01)


def send(app, count):
    for volume in range(count):
        app["Trades"].send(("IBM", 1.0, volume))


async def produce(app, count):
    for volume in range(count):
        await app["Trades"].send_async(("IBM", 1.0, volume))


async def until_warned(caplog):
    while not logged(caplog, logging.WARNING):  # noqa: ASYNC110 - a log has no event
        await asyncio.sleep(0.001)


def logged(caplog, level):
    return [record for record in caplog.records if record.levelno == level]


@pytest.mark.parametrize("how", ["failed", "was cancelled", "has ended"])
def test_a_reader_whose_task_has_ended_is_closed_with_an_error(how, caplog):
    async def consume(stream):
        async for _ in stream:
            if how == "has ended":
                return
            if how == "failed":
                raise KeyError("a bug")
            await asyncio.sleep(60)

    async def main():
        async with siddhi.App(APP) as app:
            stream = app.stream("Out", buffer=2)
            task = asyncio.create_task(consume(stream), name="consumer")
            producing = asyncio.create_task(produce(app, 20))
            if how == "was cancelled":
                await asyncio.sleep(0)  # it begins to read
                task.cancel()
            await asyncio.wait_for(producing, 30)
            assert stream.is_closed
            with pytest.raises(BufferOverflowError, match="was closed, since its task 'consumer'") as caught:
                await anext(stream)
            assert caught.value.lost > 0
            assert [event async for event in stream] == []

    asyncio.run(main())
    (record,) = logged(caplog, logging.ERROR)
    assert f"app.stream('Out') was closed, since its task 'consumer' {how}" in record.getMessage()
    if how == "failed":
        assert record.exc_info[0] is KeyError


def test_a_reader_whose_thread_has_ended_is_closed_with_an_error(caplog):
    with siddhi.App(APP) as app:
        stream = app.stream("Out", buffer=2)
        send(app, 2)
        reading = threading.Thread(target=lambda: next(stream), name="consumer")
        reading.start()
        reading.join(10)
        sending = threading.Thread(target=send, args=(app, 20))
        sending.start()
        sending.join(30)
        assert not sending.is_alive()
        assert stream.is_closed
    (record,) = logged(caplog, logging.ERROR)
    assert "app.stream('Out') was closed, since its thread 'consumer' has ended" in record.getMessage()


@pytest.mark.parametrize("in_thread", [False, True])
def test_one_warning_names_the_stream_that_is_not_read(in_thread, caplog):
    async def main():
        async with siddhi.App(APP) as app:
            stream = app.stream("Out", buffer=2)
            sending = asyncio.create_task(asyncio.to_thread(send, app, 20) if in_thread else produce(app, 20))
            await until_warned(caplog)
            await asyncio.sleep(0.03)  # time for more of them
            assert not sending.done()
            stream.close()
            await sending

    asyncio.run(main())
    (record,) = logged(caplog, logging.WARNING)
    assert "senders wait for app.stream('Out'), which has taken nothing" in record.getMessage()
    assert not logged(caplog, logging.ERROR)


def test_a_task_for_one_event_may_end(caplog):
    async def main():
        async with siddhi.App(APP) as app:
            stream = app.stream("Out", buffer=2)
            producing = asyncio.create_task(produce(app, 20))
            seen = [(await asyncio.create_task(anext(stream)))["volume"]]
            await until_warned(caplog)
            while len(seen) < 20:
                seen.append((await asyncio.create_task(anext(stream)))["volume"])
            await producing
            return seen

    assert asyncio.run(main()) == list(range(20))


def test_each_coroutine_that_waits_is_woken_about_once(monkeypatch):
    waits = []
    new_future = backpressure._Sleeper.new_future
    monkeypatch.setattr(
        backpressure._Sleeper, "new_future", lambda self, loop: waits.append(self) or new_future(self, loop)
    )

    async def main():
        seen = []
        async with siddhi.App(APP) as app:

            async def read(stream):
                seen.extend([event["volume"] async for event in stream])

            reading = asyncio.create_task(read(app.stream("Out", buffer=16)))
            handler = app["Trades"]
            await asyncio.gather(*(handler.send_async(("IBM", 1.0, volume)) for volume in range(1000)))
        await reading
        return seen

    assert asyncio.run(main()) == list(range(1000))
    assert len(waits) < 3 * 1000


def test_a_cancelled_coroutine_leaves_its_turn_to_the_next():
    async def main():
        async with siddhi.App(APP) as app:
            stream = app.stream("Out", buffer=1)
            handler = app["Trades"]
            sending = [asyncio.create_task(handler.send_async(("IBM", 1.0, volume))) for volume in range(4)]
            await asyncio.sleep(0)  # they begin to send
            assert (await anext(stream))["volume"] == 0  # wakes the second one
            sending[1].cancel()
            assert [(await anext(stream))["volume"] for _ in range(2)] == [2, 3]
            await asyncio.gather(*sending, return_exceptions=True)

    asyncio.run(main())
