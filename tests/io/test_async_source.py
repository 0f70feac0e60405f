"""Asynchronous sources: order, back-pressure, pause, reconnect, positions in snapshots, shutdown."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import ConnectionUnavailableError, PersistenceStoreError
from siddhi.extension import source
from siddhi.io import AsyncSource, ReplayableSource, async_source
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from tests.kit.running import collect

WAIT = 30  # seconds until a test that hangs fails

APP = """@app:name('Async') @app:playback
@source(type = 'numbers', @map(type = 'passThrough')) define stream S (v int);
from S select v insert into O;"""


class Numbers(ReplayableSource):
    """Delivers the numbers of a list from the position on; fails where the test says."""

    numbers: ClassVar[list[int]] = []
    fails_at: ClassVar[set[int]] = set()
    opened: ClassVar[list[str]] = []
    last: ClassVar[Numbers]
    buffer_size = 4

    def init(self, *arguments: Any) -> None:
        super().init(*arguments)
        Numbers.last = self

    async def open(self) -> None:
        if "refuse" in self.opened:
            self.opened.remove("refuse")
            raise OSError("no route")
        self.opened.append("open")

    async def close(self) -> None:
        self.opened.append("close")

    async def receive(self) -> None:
        start = 0 if self.position is None else int(str(self.position)) + 1
        for number in range(start, len(self.numbers)):
            if number in self.fails_at:
                self.fails_at.remove(number)
                raise EOFError("hung up")
            await self.put((self.numbers[number],), position=number)
        await asyncio.Event().wait()


class ManyNumbers(Numbers):
    """Delivers the numbers in batches of seven."""

    async def receive(self) -> None:
        start = 0 if self.position is None else int(str(self.position)) + 1
        for first in range(start, len(self.numbers), 7):
            numbers = list(enumerate(self.numbers))[first : first + 7]
            await self.put_many([((value,), None, number) for number, value in numbers])
        await asyncio.Event().wait()


class Asked(AsyncSource):
    """Delivers what the test asks it to."""

    last: ClassVar[Asked]

    def init(self, *arguments: Any) -> None:
        super().init(*arguments)
        Asked.last = self

    def ask(self, payload: Any) -> bool:
        assert self._connection is not None
        return self._connection.use.run(self.deliver(payload))

    def submit_all(self, payloads: list[Any]) -> list[bool]:
        """Submit payloads one after the other, without waiting; return which were processed."""

        async def submit() -> list[bool]:
            return await asyncio.gather(*[await self.submit(payload) for payload in payloads])

        assert self._connection is not None
        return self._connection.use.run(submit())


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0,))
    monkeypatch.setattr(Numbers, "numbers", list(range(20)))
    monkeypatch.setattr(Numbers, "fails_at", set())
    monkeypatch.setattr(Numbers, "opened", [])
    with SiddhiManager() as made:
        made.set_extension("numbers", source("numbers")(Numbers))
        made.set_extension("asked", source("asked")(Asked))
        yield made


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def started(manager: SiddhiManager, text: str = APP) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "O")
    runtime.start()
    return runtime, rows


def loop_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("siddhi-")]


def test_payloads_arrive_in_their_order(manager: SiddhiManager) -> None:
    runtime, rows = started(manager)
    wait_for(lambda: len(rows) == 20)
    runtime.shutdown()
    assert rows == [(number,) for number in range(20)]
    assert Numbers.opened == ["open", "close"]


def test_threads_end_with_the_last_connector(manager: SiddhiManager) -> None:
    before = loop_threads()
    first, second = started(manager)[0], started(manager, APP.replace("'Async'", "'Other'"))[0]
    assert "siddhi-connectors" in loop_threads()
    first.shutdown()
    assert "siddhi-connectors" in loop_threads()
    second.shutdown()
    assert [name for name in loop_threads() if name not in before] == []


def test_an_app_without_asynchronous_connectors_starts_no_thread(manager: SiddhiManager) -> None:
    before = loop_threads()
    runtime = manager.create_siddhi_app_runtime(
        "@source(type = 'inMemory', topic = 't', @map(type = 'json')) define stream S (v int);"
    )
    runtime.start()
    assert [name for name in loop_threads() if "connectors" in name] == [
        name for name in before if "connectors" in name
    ]


def test_batches_arrive_in_their_order_and_wait_for_room(manager: SiddhiManager) -> None:
    manager.set_extension("many", source("many")(ManyNumbers))
    runtime, rows = started(manager, APP.replace("numbers", "many"))
    wait_for(lambda: len(rows) == 20)
    assert rows == [(number,) for number in range(20)]
    assert Numbers.last.position == 19
    runtime.shutdown()


def test_a_slow_app_stops_the_source_from_reading(manager: SiddhiManager) -> None:
    runtime = manager.create_siddhi_app_runtime(APP)
    go, taken = threading.Event(), []

    def slow(events: list[Any]) -> None:
        taken.extend(events)
        go.wait(WAIT)

    runtime.add_callback("O", slow)
    runtime.start()
    wait_for(lambda: taken and len(Numbers.last._waiting) == Numbers.buffer_size - 1)
    assert Numbers.last._connection is not None
    assert Numbers.last._connection._free == 0
    go.set()
    wait_for(lambda: len(taken) == 20)


def test_a_lost_connection_is_made_again(manager: SiddhiManager, caplog: pytest.LogCaptureFixture) -> None:
    Numbers.fails_at |= {7, 12}
    Numbers.opened.append("refuse")
    runtime, rows = started(manager)
    wait_for(lambda: len(rows) == 20)
    runtime.shutdown()
    assert rows == [(number,) for number in range(20)]
    assert Numbers.opened == ["close", "open", "close", "open", "close", "open", "close"]
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert "no route" in messages[0]
    # A connection can be lost before the app counts it as made.
    lost = ("EOFError: hung up; reconnecting", "the connection was lost at once")
    assert sum(text in message for message in messages for text in lost) == 2


def test_a_connection_is_made_again_after_any_error(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Numbers.fails_at.add(7)
    opened = Numbers.open
    errors: list[Exception | None] = [None, ValueError("odd answer"), ValueError("odd answer")]

    async def open_at_last(self: Numbers) -> None:
        if errors and (error := errors.pop(0)) is not None:
            raise error
        await opened(self)

    monkeypatch.setattr(Numbers, "open", open_at_last)
    runtime, rows = started(manager)
    wait_for(lambda: len(rows) == 20)
    runtime.shutdown()
    assert rows == [(number,) for number in range(20)]
    assert "odd answer" in caplog.text


def test_a_paused_source_processes_nothing(manager: SiddhiManager) -> None:
    runtime, rows = started(manager)
    wait_for(lambda: len(rows) == 20)
    (running,) = runtime.sources["S"]
    running.pause()
    Numbers.numbers.extend(range(20, 23))
    assert Numbers.last._connection is not None
    Numbers.last._connection.use.loop.call_soon_threadsafe(
        lambda: asyncio.ensure_future(Numbers.last.put((99,), position=99))
    )
    wait_for(lambda: len(Numbers.last._waiting) == 1)
    assert len(rows) == 20
    running.resume()
    wait_for(lambda: rows[20:] == [(99,)])


def test_a_snapshot_holds_the_position_of_the_last_processed_payload(manager: SiddhiManager) -> None:
    text = APP.replace("select v", "select sum(v) as total")
    runtime, rows = started(manager, text)
    states = {runtime.snapshot()}
    while len(rows) < 20:
        states.add(runtime.snapshot())
    runtime.shutdown()
    assert rows[-1] == (190,)
    for state in states:
        again = manager.create_siddhi_app_runtime(text)
        later = collect(again, "O")
        again.restore(state)
        start = 0 if Numbers.last.position is None else int(str(Numbers.last.position)) + 1
        again.start()
        wait_for(lambda later=later, start=start: len(later) == 20 - start)
        again.shutdown()
        assert later == rows[start:]


def test_a_restore_while_connected_receives_again(manager: SiddhiManager) -> None:
    state = manager.create_siddhi_app_runtime(APP.replace("'Async'", "'Before'")).snapshot()
    runtime, rows = started(manager)
    wait_for(lambda: len(rows) == 20)
    runtime.restore(state)
    wait_for(lambda: len(rows) == 40)
    assert rows[20:] == rows[:20]


def test_a_source_learns_whether_a_payload_was_processed(manager: SiddhiManager) -> None:
    runtime, rows = started(manager, APP.replace("numbers", "asked"))
    assert Asked.last.ask((1,)) is True
    assert Asked.last.ask("no row") is False
    assert Asked.last.ask((2,)) is True
    runtime.shutdown()
    assert rows == [(1,), (2,)]


def test_a_source_learns_later_which_payloads_were_processed(manager: SiddhiManager) -> None:
    runtime, rows = started(manager, APP.replace("numbers", "asked"))
    assert Asked.last.submit_all([(1,), "no row", (2,)]) == [True, False, True]
    runtime.shutdown()
    assert rows == [(1,), (2,)]


def test_a_shutdown_processes_what_was_accepted(manager: SiddhiManager) -> None:
    for _ in range(10):
        runtime, rows = started(manager)
        wait_for(lambda rows=rows: rows)
        runtime.shutdown()
        assert rows == [(number,) for number in range(len(rows))]
        assert len(rows) == int(str(Numbers.last.position)) + 1


def test_a_callback_may_shut_the_app_down(manager: SiddhiManager) -> None:
    runtime = manager.create_siddhi_app_runtime(APP)
    ended = threading.Event()

    def end(_: object) -> None:
        runtime.shutdown()
        ended.set()

    runtime.add_callback("O", end)
    runtime.start()
    assert ended.wait(WAIT)


def test_an_error_other_than_a_lost_connection_ends_the_start(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: object) -> None:
        raise ValueError("wrong option")

    monkeypatch.setattr(Numbers, "open", fail)
    runtime = manager.create_siddhi_app_runtime(APP)
    with pytest.raises(ValueError, match="wrong option"):
        runtime.start()


class Acknowledged(Numbers):
    """Acknowledges as its option says."""

    acknowledged: ClassVar[list[Any]] = []
    breaks_at: ClassVar[set[Any]] = set()

    async def acknowledge(self, position: object) -> None:
        if position in self.breaks_at:
            self.breaks_at.remove(position)
            raise EOFError("hung up")
        self.acknowledged.append(position)


@pytest.fixture
def acknowledging(manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch) -> SiddhiManager:
    monkeypatch.setattr(Acknowledged, "acknowledged", [])
    monkeypatch.setattr(Acknowledged, "breaks_at", set())
    manager.set_extension("acknowledged", source("acknowledged")(Acknowledged))
    return manager


def test_processed_payloads_are_acknowledged(acknowledging: SiddhiManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Acknowledged, "ack_modes", ("processed",))
    runtime, rows = started(acknowledging, APP.replace("numbers", "acknowledged"))
    wait_for(lambda: len(rows) == 20)
    runtime.shutdown()
    assert Acknowledged.acknowledged == sorted(Acknowledged.acknowledged)
    assert Acknowledged.acknowledged[-1] == 19


def test_payloads_are_acknowledged_once_a_saved_state_contains_them(
    acknowledging: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Acknowledged, "ack_modes", ("checkpoint",))
    store = InMemoryPersistenceStore()
    acknowledging.set_persistence_store(store)
    runtime, rows = started(acknowledging, APP.replace("numbers", "acknowledged"))
    wait_for(lambda: len(rows) == 20)
    assert Acknowledged.acknowledged == []
    with monkeypatch.context() as full:
        full.setattr(store, "save", lambda *_, **__: (_ for _ in ()).throw(PersistenceStoreError("full")))
        with pytest.raises(PersistenceStoreError):
            runtime.persist()
    runtime.snapshot()
    assert Acknowledged.acknowledged == []
    runtime.persist()
    wait_for(lambda: Acknowledged.acknowledged == [19])
    runtime.shutdown()
    assert Acknowledged.acknowledged == [19]


def test_a_failed_acknowledgement_is_a_lost_connection(
    acknowledging: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Acknowledged, "ack_modes", ("processed",))
    Acknowledged.breaks_at.add(19)
    runtime, rows = started(acknowledging, APP.replace("numbers", "acknowledged"))
    wait_for(lambda: Numbers.opened.count("open") == 2)
    runtime.shutdown()
    assert rows == [(number,) for number in range(20)]


@pytest.mark.parametrize("mode", ["processed", "checkpoint"])
def test_payloads_of_a_lost_connection_are_acknowledged_by_the_next_one(
    acknowledging: SiddhiManager, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(Acknowledged, "ack_modes", (mode,))
    acknowledging.set_persistence_store(InMemoryPersistenceStore())
    Acknowledged.breaks_at.update(range(20))  # none succeeds before all are processed
    runtime, rows = started(acknowledging, APP.replace("numbers", "acknowledged"))
    wait_for(lambda: len(rows) == 20)
    Acknowledged.breaks_at.clear()
    Numbers.last.callback.on_error(ConnectionUnavailableError("hung up"))
    runtime.persist()
    wait_for(lambda: Acknowledged.acknowledged[-1:] == [19])
    runtime.shutdown()
    assert rows == [(number,) for number in range(20)]


def test_an_acknowledgement_that_does_not_end_does_not_hold_up_a_shutdown(
    acknowledging: SiddhiManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun: list[object] = []

    async def hang(_: object, position: object) -> None:
        begun.append(position)
        await asyncio.Event().wait()

    monkeypatch.setattr(Acknowledged, "ack_modes", ("processed",))
    monkeypatch.setattr(Acknowledged, "acknowledge", hang)
    monkeypatch.setattr(async_source, "DRAIN_SECONDS", 0.05)
    runtime, _ = started(acknowledging, APP.replace("numbers", "acknowledged"))
    wait_for(lambda: begun)
    stopping = threading.Thread(target=runtime.shutdown, daemon=True)
    stopping.start()
    stopping.join(WAIT)
    assert not stopping.is_alive()
    assert "an acknowledgement did not end within 0.05 s" in caplog.text


def test_a_restore_drops_acknowledgements_of_later_payloads(
    acknowledging: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Acknowledged, "ack_modes", ("checkpoint",))
    acknowledging.set_persistence_store(InMemoryPersistenceStore())
    runtime, rows = started(acknowledging, APP.replace("numbers", "acknowledged"))
    wait_for(lambda: len(rows) == 20)
    state = runtime.snapshot()
    runtime.restore(state)
    runtime.persist()
    runtime.shutdown()
    assert Acknowledged.acknowledged == []


def test_a_shutdown_during_an_attempt_that_fails_ends_the_source(
    manager: SiddhiManager, caplog: pytest.LogCaptureFixture
) -> None:
    entered, go = threading.Event(), threading.Event()
    attempts: list[int] = []

    class Slow(AsyncSource):
        async def open(self) -> None:
            attempts.append(1)
            if len(attempts) == 2:
                entered.set()
                await asyncio.to_thread(go.wait, 30)
            raise ConnectionRefusedError("not today")

    manager.set_extension("slow", source("slow")(Slow))
    runtime = manager.create_siddhi_app_runtime("@source(type = 'slow') define stream S (n int);")
    before = set(threading.enumerate())
    runtime.start()
    assert entered.wait(30)
    ending = threading.Thread(target=runtime.shutdown)
    ending.start()
    go.set()
    ending.join(30)
    assert not ending.is_alive()
    wait_for(lambda: not [one for one in set(threading.enumerate()) - before if one.name.startswith("siddhi")])
    assert len(attempts) == 2
    assert "Traceback" not in caplog.text
