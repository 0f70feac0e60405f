"""Senders wait for readers: in threads, coroutines, timers and workers of ``@async``, and through changes of the app."""

from __future__ import annotations

import asyncio
import threading

import pytest

import siddhi
from siddhi.errors import DeadlockError
from tests.kit.running import TRADES

APP = f"{TRADES} from Trades select symbol, volume insert into Out;"
ASYNC = f"@async(buffer.size = '4') {TRADES} from Trades select symbol, volume insert into Out;"


def send(app, *volumes):
    for volume in volumes:
        app["Trades"].send(("IBM", 1.0, volume))


async def read(stream, seen):
    async for event in stream:
        seen.append(event["volume"])
        await asyncio.sleep(0)


def test_a_coroutine_waits_without_blocking_its_loop():
    async def main():
        async with siddhi.App(APP) as app:
            stream, order = app.stream("Out", buffer=2), []

            async def produce():
                for volume in range(6):
                    await app["Trades"].send_async(("IBM", 1.0, volume))
                    order.append(f"sent {volume}")

            producing = asyncio.create_task(produce())
            for _ in range(10):
                await asyncio.sleep(0)
            assert order == ["sent 0", "sent 1"]
            for volume in range(6):
                assert (await anext(stream))["volume"] == volume
            await producing

    asyncio.run(main())


def test_a_cancelled_coroutine_has_sent_nothing():
    async def main():
        async with siddhi.App(APP) as app:
            stream = app.stream("Out", buffer=1)
            await app["Trades"].send_async(("IBM", 1.0, 0))
            waiting = asyncio.create_task(app["Trades"].send_async(("IBM", 1.0, 1)))
            await asyncio.sleep(0)
            waiting.cancel()
            assert (await anext(stream))["volume"] == 0
            assert await asyncio.gather(waiting, return_exceptions=True) != [None]
            assert stream.received == 1

    asyncio.run(main())


def test_all_forms_of_sending_wait():
    async def main():
        async with siddhi.App(APP) as app:
            seen = []
            reading = asyncio.create_task(read(app.stream("Out", buffer=1), seen))
            handler = app["Trades"]
            await handler.send_async(("IBM", 1.0, 1))
            await handler.send_events_async([siddhi.Event(1, ("IBM", 1.0, 2))])
            await handler.send_batch_async({"symbol": ["A", "B"], "price": [1.0, 2.0], "volume": [3, 4]})
            await handler.send_async(("IBM", 1.0, 5))
        await reading
        return seen

    assert asyncio.run(main()) == [1, 2, 3, 4, 5]


def test_a_thread_waits_until_its_reader_takes_or_closes():
    with siddhi.App(APP) as app:
        for end in ("close", "read"):
            stream = app.stream("Out", buffer=2)
            sending = threading.Thread(target=send, args=(app, *range(5)))
            reader = threading.Thread(target=lambda s=stream: next(s))
            send(app, 0)
            reader.start()
            reader.join(10)
            sending.start()
            if end == "close":
                stream.close()
            else:
                assert [next(stream)["volume"] for _ in range(5)] == list(range(5))
            sending.join(10)
            assert not sending.is_alive()


def test_a_shutdown_releases_senders_that_wait():
    errors = []
    app = siddhi.App(APP)
    app.start()
    made = []
    making = threading.Thread(target=lambda: made.append(app.stream("Out", buffer=1)))
    making.start()
    making.join(10)

    def flood():
        try:
            send(app, *range(10_000))
        except siddhi.errors.NotRunningError as error:
            errors.append(error)

    sending = threading.Thread(target=flood)
    sending.start()
    app.shutdown()
    sending.join(10)
    assert not sending.is_alive()
    assert len(errors) == 1
    assert len(list(made[0])) == made[0].received


def test_workers_of_a_buffered_stream_wait_and_so_do_their_senders():
    async def main():
        async with siddhi.App(ASYNC) as app:
            stream, seen = app.stream("Out", buffer=2), []
            sending = asyncio.create_task(asyncio.to_thread(send, app, *range(50)))
            reading = asyncio.create_task(read(stream, seen))
            await sending
            for volume in range(50, 60):
                await app["Trades"].send_async(("IBM", 1.0, volume))
            await app["Trades"].send_events_async([siddhi.Event(1, ("IBM", 1.0, 60))])
            await app["Trades"].send_batch_async({"symbol": ["A"], "price": [1.0], "volume": [61]})
        await reading
        return seen

    assert asyncio.run(main()) == list(range(62))


def test_a_send_that_blocks_the_loop_of_a_worker_s_reader_is_an_error():
    async def main():
        async with siddhi.App(ASYNC) as app:
            errors = []
            stream = app.stream("Out", buffer=1)
            with pytest.raises(DeadlockError, match="its reader runs on the event loop of this thread"):
                send(app, *range(100))
            stream.close()
        return errors

    asyncio.run(main())


def test_timers_wait_as_senders_do():
    async def main():
        async with siddhi.App("define trigger Tick at every 1 millisec; from Tick select * insert into Out;") as app:
            stream = app.stream("Tick", buffer=3)
            full = app.stream("Out", batch=True, policy="drop_oldest")
            while stream.buffered < 3:
                await anext(full)
            await asyncio.sleep(0.05)  # what is due together comes together
            received = stream.received
            await asyncio.sleep(0.02)
            assert stream.received == received
            for _ in range(3 * received):
                await anext(stream)

    asyncio.run(main())


def test_a_reader_of_two_streams_does_not_block_the_one_that_it_waits_for():
    async def main():
        async with siddhi.App(f"{APP} from Trades[volume == 9] select volume insert into Last;") as app:
            out, last = app.stream("Out", buffer=2), app.stream("Last")

            async def produce():
                for volume in range(10):
                    await app["Trades"].send_async(("IBM", 1.0, volume))

            producing = asyncio.create_task(produce())
            assert (await anext(out))["volume"] == 0
            assert (await anext(last))["volume"] == 9  # while nothing takes from the other one
            await producing
            return [(await anext(out))["volume"] for _ in range(9)]

    assert asyncio.run(main()) == list(range(1, 10))


def test_the_body_of_a_loop_can_send_into_what_it_reads():
    async def main():
        async with siddhi.App(APP) as app:
            stream, seen = app.stream("Out", buffer=1), []
            await app["Trades"].send_async(("IBM", 1.0, 3))
            async for event in stream:
                volume = event["volume"]
                seen.append(volume)
                if volume < 100:
                    await app["Trades"].send_async(("IBM", 1.0, volume - 1))
                    await asyncio.to_thread(send, app, volume + 100)
                if volume == 100:
                    break
            return seen

    assert asyncio.run(main()) == [3, 2, 103, 1, 102, 0, 101, -1, 100]


def test_readers_go_on_through_a_change_of_the_app():
    async def main():
        async with siddhi.App(ASYNC) as app:
            seen = []
            stream, batches = app.stream("Out", buffer=1), app.stream("Out", batch=True, buffer=1)
            for volume in range(5):
                await app["Trades"].send_async(("IBM", 1.0, volume))
            app.replace(ASYNC + " from Trades select volume insert into More;")

            async def produce():
                for volume in range(5, 20):
                    await app["Trades"].send_async(("IBM", 1.0, volume))

            producing = asyncio.create_task(produce())
            rows = []

            async def read_batches():
                async for batch in batches:
                    rows.extend(batch["volume"].tolist())

            tasks = [asyncio.create_task(read(stream, seen)), asyncio.create_task(read_batches())]
            await producing
        await asyncio.gather(*tasks)
        return seen, rows

    assert asyncio.run(main()) == (list(range(20)), list(range(20)))


def test_a_coroutine_does_not_block_its_loop_while_another_thread_sends():
    async def main():
        async with siddhi.App(APP) as app:
            entered, leave = threading.Event(), threading.Event()
            app.on("Out", lambda events: (entered.set(), leave.wait(10)) if events[0]["volume"] == 0 else None)
            other = asyncio.create_task(asyncio.to_thread(send, app, 0))
            await asyncio.to_thread(entered.wait, 10)
            sending = asyncio.create_task(app["Trades"].send_async(("IBM", 1.0, 1)))
            await asyncio.sleep(0)
            assert not sending.done()
            leave.set()
            await asyncio.gather(other, sending)

    asyncio.run(main())


def test_a_query_does_not_block_its_loop_while_another_thread_is_in_the_app():
    async def main():
        app = siddhi.App(f"define table Kept (volume int); {APP} from Trades select volume insert into Kept;")
        async with app:
            entered, leave = threading.Event(), threading.Event()
            app.on("Out", lambda _: (entered.set(), leave.wait(10)))
            sending = asyncio.create_task(asyncio.to_thread(send, app, 7))
            await asyncio.to_thread(entered.wait, 10)
            querying = asyncio.create_task(app.query_async("from Kept on volume == :n select volume", n=7))
            await asyncio.sleep(0)
            assert not querying.done()
            leave.set()
            await sending
            return [row["volume"] for row in await querying]

    assert asyncio.run(main()) == [7]
