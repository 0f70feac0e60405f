"""``app.stream``: events by ``for`` and ``async for``, with a bounded buffer and a policy."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import threading
import typing

import pytest

import siddhi
from siddhi.errors import BufferOverflowError, CannotChangeAppError, DeadlockError, DefinitionNotExistError
from tests.kit.running import TRADES

APP = f"{TRADES} @info(name = 'all') from Trades select symbol, volume insert into Out;"


def send(app, *volumes):
    for volume in volumes:
        app["Trades"].send(("IBM", 1.0, volume))


def send_batch(app, *volumes):
    app["Trades"].send_batch({"symbol": ["A"] * len(volumes), "price": [1.0] * len(volumes), "volume": list(volumes)})


def volumes(items):
    return [event["volume"] for event in items]


def rows(batches):
    return [batch["volume"].tolist() for batch in batches]


@pytest.fixture
def app():
    with siddhi.App(APP) as running:
        yield running


def test_iteration_yields_what_arrived_since_the_stream_was_made(app):
    send(app, 1)
    stream = app.stream("Out", timeout=0)
    send(app, 2, 3)
    assert volumes(stream) == [2, 3]
    send(app, 4)
    assert volumes(stream) == [4]
    assert (stream.received, stream.buffered, stream.lost, stream.is_closed) == (3, 0, 0, False)


def test_iteration_ends_with_the_app_behind_what_is_buffered():
    app = siddhi.App(APP)
    stream, batches = app.stream("Out"), app.stream("Out", batch=True)
    with app:
        send(app, 1, 2)
    assert (volumes(stream), rows(batches)) == ([1, 2], [[1, 2]])
    assert repr(stream) == "<EventStream 'Out' (ended, 0 events buffered)>"
    with app:
        send(app, 3)
    assert list(stream) == []


def test_iteration_waits_in_a_thread_for_events_of_another_one(app):
    stream = app.stream("Out")
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(volumes(stream)))
    reader.start()
    send(app, *range(5000))
    app.shutdown()
    reader.join(10)
    assert seen == list(range(5000))
    assert stream.lost == 0


def test_iteration_ends_when_nothing_arrives_in_time(app):
    assert list(app.stream("Out", timeout=0.001)) == []

    async def main():
        return [event async for event in app.stream("Out", timeout=0.001)]

    assert asyncio.run(main()) == []


def test_rows_that_arrive_between_two_readings_are_one_batch(app):
    stream = app.stream("Out", batch=True, timeout=0)
    send(app, 1, 2)
    assert rows(stream) == [[1, 2]]
    send(app, 3)
    send_batch(app, 4, 5)
    send(app, 6)
    assert rows(stream) == [[3], [4, 5], [6]]
    assert (stream.received, stream.buffered) == (6, 0)


def test_an_asynchronous_iteration_yields_all_events_in_order():
    async def main():
        async with siddhi.App(APP) as app:
            stream = app.stream("Out", buffer=10)

            async def read():
                return volumes([event async for event in stream])

            reader = asyncio.create_task(read())
            for volume in range(1000):
                await app["Trades"].send_async(("IBM", 1.0, volume))
                assert stream.buffered <= 10
        assert await reader == list(range(1000))

    asyncio.run(main())


def test_a_sender_that_reads_afterwards_does_not_wait_for_itself(app):
    stream = app.stream("Out", buffer=2, timeout=0)
    send(app, *range(10))
    assert volumes(stream) == list(range(10))

    async def main():
        stream = app.stream("Out", buffer=2, timeout=0)
        for volume in range(10):
            await app["Trades"].send_async(("IBM", 1.0, volume))
        return [event["volume"] async for event in stream]

    assert asyncio.run(main()) == list(range(10))


def test_an_asynchronous_iteration_yields_events_of_another_thread():
    async def main():
        async with siddhi.App(APP) as app:
            stream = app.stream("Out", buffer=10)
            batches = app.stream("Out", batch=True, buffer=10)
            sending = asyncio.create_task(asyncio.to_thread(send, app, *range(1000)))
            reading = asyncio.create_task(read_batches(batches))
            seen = []
            async for event in stream:
                seen.append(event["volume"])
                if len(seen) == 1000:
                    break
            await sending
        return seen, await reading

    async def read_batches(batches):
        found = []
        async for batch in batches:
            found += batch["volume"].tolist()
        return found

    assert asyncio.run(main()) == (list(range(1000)), list(range(1000)))


def test_other_tasks_run_while_events_never_run_out(app):
    async def main():
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        stream = app.stream("Out", buffer=10_000, timeout=0)
        send(app, *range(5000))
        counting = asyncio.create_task(count())
        assert len([event async for event in stream]) == 5000
        counting.cancel()
        return turns

    assert asyncio.run(main()) > 10


@pytest.mark.parametrize("batch", [False, True])
def test_drop_oldest_keeps_the_newest_events(app, batch):
    stream = app.stream("Out", buffer=3, policy="drop_oldest", timeout=0, batch=batch)
    shown = (lambda: [one for found in rows(stream) for one in found]) if batch else (lambda: volumes(stream))
    send(app, *range(10))
    assert (stream.buffered, stream.lost) == (3, 7)
    assert shown() == [7, 8, 9]
    send(app, 10)
    send_batch(app, 11, 12, 13, 14)
    assert (stream.buffered, stream.lost) == (3, 9)
    assert shown() == [12, 13, 14]
    send_batch(app, 15, 16)
    send(app, 17)
    send_batch(app, 18, 19)
    assert shown() == [17, 18, 19]
    assert stream.received == 20


@pytest.mark.parametrize("batch", [False, True])
def test_raise_tells_the_reader_where_events_are_missing(app, batch):
    stream = app.stream("Out", buffer=3, policy="raise", timeout=0, batch=batch)
    for sending in (send, send_batch):
        sending(app, *range(5))
        send(app, 5)
        seen = []
        with pytest.raises(BufferOverflowError, match=r"lost 3 events, because its buffer of 3 was full") as caught:
            seen.extend(iter(stream.__next__, None))
        assert caught.value.lost == 3
        send(app, 6)
        assert (rows(stream) == [[6]]) if batch else (volumes(stream) == [6])
    assert (stream.lost, stream.received) == (6, 14)


def test_events_before_a_gap_are_read_first(app):
    stream = app.stream("Out", buffer=2, policy="raise", timeout=0)
    send(app, 1, 2, 3)
    assert [next(stream)["volume"], next(stream)["volume"]] == [1, 2]
    with pytest.raises(BufferOverflowError):
        next(stream)


def test_a_closed_stream_is_detached_and_ends(app):
    stream = app.stream("Out")
    send(app, 1)
    with stream:
        assert next(stream)["volume"] == 1
        send(app, 2)
    assert (stream.is_closed, stream.buffered, list(stream)) == (True, 0, [])
    send(app, 3)
    assert stream.received == 2
    assert app._attachments._attached == []


def test_close_ends_an_iteration_that_waits():
    async def main():
        async with siddhi.App(APP) as app:
            stream = app.stream("Out")

            async def read():
                return [event async for event in stream]

            reading = asyncio.create_task(read())
            await asyncio.sleep(0)
            await stream.aclose()
            return await reading

    assert asyncio.run(main()) == []


def test_a_stream_is_closed_when_nothing_refers_to_it(app):
    for event in iterate_after(app, app.stream("Out", buffer=1), 7):
        assert event["volume"] == 7
        break
    gc.collect()
    send(app, 1, 2, 3)  # would wait for a reader
    assert app._attachments._attached == []


def iterate_after(app, stream, volume):
    send(app, volume)
    return stream


def test_a_stream_follows_the_app_through_a_restart_of_senders_only(app):
    app.shutdown()
    stream = app.stream("Out", timeout=0)
    with app:
        send(app, 1)
        assert volumes(stream) == [1]


def test_waiting_where_no_event_can_arrive_is_a_deadlock_error(app):
    stream = app.stream("Out")

    async def main():
        with pytest.raises(DeadlockError, match="would block the event loop of this thread; write 'async for'"):
            next(stream)

    asyncio.run(main())
    errors = []
    app.handle_exception_with(lambda error, origin, events: errors.append(error))
    waiting = app.stream("Trades", policy="drop_oldest")
    app.on("Out", lambda events: [next(waiting), next(waiting)])
    send(app, 1)
    assert [type(error) for error in errors] == [DeadlockError]
    assert "a callback or function of the app waits for an event" in str(errors[0])


def test_two_readers_of_one_stream_are_refused():
    async def main():
        async with siddhi.App(APP) as app:
            stream = app.stream("Out")
            waiting = asyncio.create_task(anext(stream))
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="is read already: make one for each thread or task"):
                await anext(stream)
            await app["Trades"].send_async(("IBM", 1.0, 1))
            assert (await waiting)["volume"] == 1

    asyncio.run(main())


@dataclasses.dataclass
class Sum:
    total: int


SLIDING = f"{TRADES} @info(name = 'sums') from Trades#window.length(2) select volume insert all events into Out;"


def test_a_query_yields_current_and_expired_events_in_their_order():
    with siddhi.App(SLIDING) as app, app.stream("sums", timeout=0) as sums:
        app["Trades"].send_batch([("IBM", 1.0, n) for n in (1, 2, 3, 4)])
        assert [(event.volume, event.is_expired) for event in sums] == [
            (1, False), (2, False), (1, True), (3, False), (2, True), (4, False),
        ]  # fmt: skip
        assert sums.name == "sums"
        app.add("from Out select volume insert into More;")
        app["Trades"].send(("IBM", 1.0, 5))
        assert [event.volume for event in sums] == [3, 5]
    assert [*sums] == []


def test_a_query_yields_typed_rows():
    text = f"{TRADES} @info(name = 'sums') from Trades select sum(volume) as total return;"

    async def main():
        async with siddhi.App(text) as app, app.stream("sums", type=Sum, buffer=2) as sums:
            await app["Trades"].send_batch_async([("IBM", 1.0, n) for n in (1, 2, 3)])
            assert [await anext(sums) for _ in range(3)] == [Sum(1), Sum(3), Sum(6)]
            with pytest.raises(TypeError, match=r"query 'sums'.*total"):
                app.stream("sums", type=typing.NamedTuple("Other", [("volume", int)]))

    asyncio.run(main())


def test_a_query_has_no_batches_and_stays_while_it_is_read():
    with siddhi.App(SLIDING) as app:
        with pytest.raises(ValueError, match="query 'sums' has no batches"):
            app.stream("sums", batch=True)
        with app.stream("sums"), pytest.raises(CannotChangeAppError, match=r"iterator of stream\(\)"):
            app.remove("sums")
        app.remove("sums")


@pytest.mark.parametrize("kind", [None, Sum])
def test_a_temporal_query_yields_what_it_emits(kind):
    text = """@temporal(model = 'interval') define stream T (volume int);
    @info(name = 'sums') from T select volume as total insert into Out;"""
    with siddhi.App(text) as app, app.stream("sums", timeout=0, type=kind) as sums:
        app["T"].insert(1000, 2000, (5,))
        app["T"].cti(5000)
        assert next(sums).total == 5


def test_invalid_arguments_are_refused(app):
    with pytest.raises(DefinitionNotExistError, match="has no stream or query 'Outt'; did you mean 'Out'"):
        app.stream("Outt")
    with pytest.raises(ValueError, match="invalid policy 'block': expected one of 'wait', 'drop_oldest', 'raise'"):
        app.stream("Out", policy="block")
    for arguments in ({"buffer": 0}, {"timeout": -1}, {"timeout": float("nan")}):
        with pytest.raises(ValueError, match=r"invalid (buffer|timeout) .*: expected"):
            app.stream("Out", **arguments)
    for arguments in ({"buffer": 1.0}, {"buffer": True}, {"timeout": "1"}):
        with pytest.raises(TypeError, match=r"invalid (buffer|timeout) .*: expected a number of"):
            app.stream("Out", **arguments)
    assert app._attachments._attached == []


@pytest.mark.parametrize("batch", [False, True])
def test_batches_and_events_keep_null_and_objects_alive(app, batch):
    stream = app.stream("Out", batch=batch, timeout=0)
    for number in range(300):
        app["Trades"].send((f"name-{number}", 1.0, None if number % 2 else number))
    found = [batch_row for one in stream for batch_row in (one.to_dicts() if batch else [one.to_dict()])]
    assert found == [{"symbol": f"name-{i}", "volume": None if i % 2 else i} for i in range(300)]
