"""``async def`` callbacks: their loop, order, bound, exceptions and the end."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass

import pytest

import siddhi
from siddhi.errors import DeadlockError, NotRunningError
from siddhi.runtime.assembly import async_stream
from siddhi.runtime.readers.async_callback import AsyncCallback
from tests.kit.running import TRADES

APP = f"{TRADES} @info(name = 'all') from Trades select symbol, volume insert into Out;"


def send(app, *volumes):
    for volume in volumes:
        app["Trades"].send(("IBM", 1.0, volume))


def test_calls_run_one_after_the_other_on_the_loop_in_order():
    async def main():
        seen, running = [], 0

        async with siddhi.App(APP) as app:

            @app.on("Out", buffer=8)
            async def slow(events):
                nonlocal running
                running += 1
                assert running == 1
                assert threading.current_thread() is threading.main_thread()
                await asyncio.sleep(0)
                seen.extend(event["volume"] for event in events)
                running -= 1

            await asyncio.to_thread(send, app, *range(300))
            for volume in range(300, 600):
                await app["Trades"].send_async(("IBM", 1.0, volume))
        return seen

    assert asyncio.run(main()) == list(range(600))


def test_every_kind_of_callback_may_be_asynchronous():
    app = f"@temporal(model = 'point') define stream T (v int); {APP}"

    async def main():
        seen = []

        async def note(*arguments):
            seen.append(len(arguments))

        async with siddhi.App(app) as running:
            for attach in (running.add_callback, running.add_batch_callback):
                attach("Out", note)
            running.add_query_callback("all", note)
            running.on("Out", note, batch=True)
            running.on("all", note)
            running.add_temporal_callback("T", note)
            send(running, 1)
            running["T"].point(1, (1,))
            running["T"].cti(5)
        assert sorted(seen) == [1, 1, 1, 1, 3, 3]
        running.remove_callback(note)
        async with running:
            send(running, 1)
        assert len(seen) == 6

    asyncio.run(main())


def test_an_asynchronous_callback_without_a_loop_is_refused():
    async def note(events): ...

    app = siddhi.App(APP)
    with pytest.raises(TypeError, match=r"can't be asynchronous here: .* would run on the event loop of this thread"):
        app.on("Out", note)
    with pytest.raises(TypeError, match="attach it inside a coroutine"):
        app.add_callback("Out", note)


def test_exceptions_go_to_the_exception_handler_and_later_calls_run():
    async def main():
        errors, seen = [], []

        async def fail(events):
            seen.append(events[0]["volume"])
            raise ValueError(f"told {events[0]['volume']}")

        async with siddhi.App(APP) as app:
            app.handle_exception_with(lambda *arguments: errors.append(arguments))
            app.on("Out", fail)
            send(app, 1, 2)
        assert seen == [1, 2]
        assert [(str(error), origin, events[0]["volume"]) for error, origin, events in errors] == [
            ("told 1", "callback of 'Out'", 1),
            ("told 2", "callback of 'Out'", 2),
        ]

    asyncio.run(main())


@dataclass
class Sale:
    symbol: str
    volume: int

    def __post_init__(self):
        if self.volume == 3:
            raise ValueError("no such sale")


def test_a_call_with_typed_rows_that_fails_gives_its_events_to_the_handler():
    async def main():
        errors, seen = [], []

        async def sell(sales):
            seen.extend(sales)
            assert sales[0].volume != 2, "told"

        async def of_query(timestamp, current, expired):
            await sell(current)

        async with siddhi.App(APP) as app:
            app.handle_exception_with(lambda error, _, events: errors.append((str(error).split(chr(10))[0], events)))
            app.on("Out", sell, type=Sale)
            app.on("all", of_query, type=Sale)
            send(app, 1, 2, 3, 4)
        assert sorted(sale.volume for sale in seen) == [1, 1, 2, 2, 4, 4]
        assert sorted((told, [event.volume for event in events]) for told, events in errors) == [
            ("no such sale", [3]), ("no such sale", [3]), ("told", [2]), ("told", [2]),
        ]  # fmt: skip

    asyncio.run(main())


def test_without_a_handler_exceptions_are_logged(caplog):
    async def main():
        async def fail(timestamp, current, expired):
            raise ValueError("told")

        async with siddhi.App(APP) as app:
            app.on("all", fail)
            send(app, 1)

            def refuse(error, origin, events):
                raise KeyError("refused")

            await asyncio.sleep(0.01)
            app.handle_exception_with(refuse)
            send(app, 2)

    with caplog.at_level(logging.ERROR, "siddhi"):
        asyncio.run(main())
    assert "callback of query 'all': ValueError: told; dropped: Event(" in caplog.text
    assert "callback of query 'all': the exception handler failed" in caplog.text


def test_a_send_that_blocks_the_loop_of_a_full_callback_is_an_error():
    async def main():
        seen = []

        async def note(events):
            seen.extend(event["volume"] for event in events)

        async with siddhi.App(APP) as app:
            app.on("Out", note, buffer=5)
            send(app, *range(5))
            with pytest.raises(DeadlockError, match=r"the asynchronous callback of 'Out' is full \(5 events\)"):
                send(app, 5)
            await app["Trades"].send_async(("IBM", 1.0, 6))
        assert seen == [0, 1, 2, 3, 4, 6]

    asyncio.run(main())


@pytest.mark.parametrize("in_thread", [False, True])
def test_an_asynchronous_callback_can_send_into_its_own_stream(in_thread):
    async def main():
        seen = []

        async with siddhi.App(f"{TRADES} from Trades[volume > 0] select symbol, price, volume insert into Out;") as app:

            @app.on("Out", buffer=1)
            async def twice(events):
                for event in events:
                    seen.append(event["volume"])
                    for _ in range(2):
                        row = (event["symbol"], event["price"], event["volume"] - 1)
                        if in_thread:
                            await asyncio.to_thread(app["Trades"].send, row)
                        else:
                            await app["Trades"].send_async(row)

            await app["Trades"].send_async(("IBM", 1.0, 5))
        return seen

    assert sorted(asyncio.run(main()), reverse=True) == [5] + 2 * [4] + 4 * [3] + 8 * [2] + 16 * [1]


def test_two_callbacks_can_send_to_each_other():
    app = "define stream A (n int); define stream B (n int);"

    async def main():
        async with siddhi.App(app) as running:
            seen = []

            async def to_b(events):
                for event in events:
                    seen.append(event["n"])
                    if event["n"] < 200:
                        await running["B"].send_async((event["n"] + 1,))
                        await running["B"].send_async((1000,))

            async def to_a(events):
                for event in events:
                    if event["n"] < 200:
                        await running["A"].send_async((event["n"] + 1,))
                        await running["A"].send_async((1000,))

            running.on("A", to_b, buffer=1)
            running.on("B", to_a, buffer=1)
            await running["A"].send_async((0,))
        return seen

    assert [n for n in asyncio.run(main()) if n < 1000] == list(range(0, 201, 2))


def test_detaching_lets_the_calls_so_far_run():
    async def main():
        seen = []

        async def note(events):
            await asyncio.sleep(0)
            seen.extend(event["volume"] for event in events)
            if len(seen) == 2:
                done.set()

        done = asyncio.Event()
        async with siddhi.App(APP) as app:
            attachment = app.on("Out", note, buffer=2)
            send(app, 1, 2)
            attachment.detach()
            send(app, 3)
            await done.wait()
        return seen

    assert asyncio.run(main()) == [1, 2]


def test_callbacks_go_on_when_the_app_starts_again():
    async def main():
        seen = []

        async def note(events):
            seen.extend(event["volume"] for event in events)

        app = siddhi.App(APP)
        app.on("Out", note, buffer=1)
        for volume in (1, 2):
            async with app:
                await app["Trades"].send_async(("IBM", 1.0, volume))
        return seen

    assert asyncio.run(main()) == [1, 2]


def test_a_shutdown_on_the_loop_itself_does_not_wait():
    async def main():
        seen, refused = [], asyncio.Event()

        async def note(events):
            seen.extend(event["volume"] for event in events)
            try:
                await app["Trades"].send_async(("IBM", 1.0, 5))
            except NotRunningError:
                refused.set()

        app = siddhi.App(APP)
        app.on("Out", note)
        with app:
            send(app, 1)
        assert seen == []
        await refused.wait()
        return seen

    assert asyncio.run(main()) == [1]


def test_a_callback_can_shut_the_app_down():
    async def main():
        app, stopped = siddhi.App(APP), asyncio.Event()

        async def stop(events):
            await asyncio.to_thread(app.shutdown)
            stopped.set()

        app.start()
        app.on("Out", stop)
        send(app, 1)
        await stopped.wait()
        assert not app.is_running

    asyncio.run(main())


def test_events_for_a_loop_that_has_ended_are_errors():
    errors = []
    app = siddhi.App(APP)
    app.handle_exception_with(lambda error, origin, events: errors.append(error))
    app.start()

    async def main():
        async def note(events): ...

        app.on("Out", note)

    asyncio.run(main())
    send(app, 1)
    app.shutdown()
    assert [type(error) for error in errors] == [RuntimeError]
    assert "the event loop on which the asynchronous callback of 'Out' runs is closed" in str(errors[0])


def test_a_call_that_awaits_a_cancelled_task_does_not_stop_the_calls_behind_it():
    async def main():
        seen, errors = [], []
        async with siddhi.App(APP) as app:
            app.handle_exception_with(lambda error, *_: errors.append(error))

            async def note(events):
                seen.append(events[0]["volume"])
                if seen == [0]:
                    task = asyncio.create_task(asyncio.sleep(60))
                    task.cancel()
                    await task

            app.on("Out", note)
            for volume in range(4):
                await app["Trades"].send_async(("IBM", 1.0, volume))
        return seen, errors

    seen, (error,) = asyncio.run(main())
    assert seen == [0, 1, 2, 3]
    assert str(error) == "a call of the asynchronous callback of 'Out' was cancelled"
    assert isinstance(error.__cause__, asyncio.CancelledError)


def test_calls_behind_a_cancelled_task_run_before_a_shutdown():
    async def main():
        seen, errors = [], []
        async with siddhi.App(APP) as app:
            app.handle_exception_with(lambda error, *_: errors.append(error))

            async def note(events):
                seen.append(events[0]["volume"])
                if seen == [0]:
                    asyncio.current_task().cancel()
                    await asyncio.sleep(60)

            app.on("Out", note)
            send(app, 0, 1, 2)
        return seen, errors

    seen, errors = asyncio.run(main())
    assert seen == [0, 1, 2]
    assert len(errors) == 1


def test_a_shutdown_waits_for_callbacks_once(monkeypatch):
    monkeypatch.setattr(async_stream, "DRAIN_SECONDS", 0.1)
    join, limits = AsyncCallback.join, []
    monkeypatch.setattr(AsyncCallback, "join", lambda self, seconds: limits.append(seconds) or join(self, seconds))

    async def main():
        released = asyncio.Event()

        async def wait(events):
            await released.wait()

        for _ in range(2):  # the second start has its full time again
            limits.clear()
            async with app:
                if not attached:
                    attached.append(app.on("Out", wait))
                send(app, 1)
            assert limits[0] > 0 >= max(limits[1:])
        released.set()

    app, attached = siddhi.App(APP), []
    asyncio.run(main())
