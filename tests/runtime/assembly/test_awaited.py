"""Coroutine functions as stream functions: order, limits, errors, snapshots, changes, the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import siddhi
from siddhi import SiddhiManager, extension
from siddhi.errors import DeadlockError, ExtensionError, SiddhiAppCreationError
from siddhi.extension.registry import Registry
from siddhi.runtime.assembly import async_stream
from siddhi.types import AttributeType

TEXT = """
define stream S (i int);
@info(name = 'q') from S[i >= 0]#w:wait(i)[twice >= 0] select i, twice insert into Out;
"""
SECONDS = 30

Function = Callable[..., Awaitable[object]]


def declared(function: Function, **settings: Any) -> Function:
    """Declare a function of an int that appends an int, for no manager yet."""
    types = {"args": (AttributeType.INT,), "appends": {"twice": AttributeType.INT}}
    return extension.stream_function("w:wait", registry=Registry(), **types, **settings)(function)  # type: ignore[arg-type]


def app_with(function: Function, text: str = TEXT) -> siddhi.App:
    manager = SiddhiManager()
    manager.set_extension("w:wait", function)
    return siddhi.App(text, manager=manager)


class Door:
    """Calls wait in front of it; opened from any thread, by argument."""

    def __init__(self, **settings: Any) -> None:
        self.begun: list[int] = []
        self.running = 0
        self.most = 0
        self._open: set[int] = set()
        self._changed = threading.Condition()

        async def wait(i: int) -> int:
            return await self._wait(i)

        self._function = declared(wait, **settings)

    async def _wait(self, i: int) -> int:
        with self._changed:
            self.begun.append(i)
            self.running += 1
            self.most = max(self.most, self.running)
            self._changed.notify_all()
        try:
            while i not in self._open:  # noqa: ASYNC110 - set by other threads
                await asyncio.sleep(0.001)
        finally:
            with self._changed:
                self.running -= 1
                self._changed.notify_all()
        return 2 * i

    def open(self, *numbers: int) -> None:
        self._open.update(numbers)

    def await_begun(self, n: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.begun) >= n, SECONDS)

    def await_rest(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.running == 0, SECONDS)

    def app(self, text: str = TEXT) -> siddhi.App:
        return app_with(self._function, text)


class Output:
    """Rows of a stream; waits until there are so many."""

    def __init__(self, app: siddhi.App, stream: str = "Out") -> None:
        self.rows: list[tuple[Any, ...]] = []
        self._changed = threading.Condition()
        app.on(stream, self._add)

    def _add(self, events: list[siddhi.Event]) -> None:
        with self._changed:
            self.rows.extend(event.data for event in events)
            self._changed.notify_all()

    def first(self, n: int) -> list[tuple[Any, ...]]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.rows) >= n, SECONDS), self.rows
        return self.rows


@pytest.fixture
def door() -> Door:
    return Door(concurrency=3)


@given(
    delays=st.lists(st.sampled_from([-0.001, 0.0, 0.0, 0.001, 0.002]), max_size=30),
    concurrency=st.integers(1, 5),
)
def test_events_go_on_in_their_order(delays: list[float], concurrency: int) -> None:
    """Whatever the delays are, and without those whose call failed (negative delay)."""

    async def wait(i: int) -> int:
        await asyncio.sleep(abs(delays[i]))
        if delays[i] < 0:
            raise ValueError(i)
        return 2 * i

    failed: list[int] = []
    with app_with(declared(wait, concurrency=concurrency)) as app:
        output = Output(app)
        app.handle_exception_with(lambda error, _, __: failed.append(error.args[0]))
        for i in range(len(delays)):
            app["S"].send((i,))
    assert output.rows == [(i, 2 * i) for i, delay in enumerate(delays) if delay >= 0]
    assert failed == [i for i, delay in enumerate(delays) if delay < 0]


def test_no_more_calls_run_than_allowed(door: Door) -> None:
    with door.app() as app:
        output = Output(app)
        for i in range(10):
            app["S"].send((i,))
        door.await_begun(3)
        door.open(*range(10))
        output.first(10)
    assert (door.most, door.begun) == (3, list(range(10)))


def test_senders_wait_while_too_many_events_wait() -> None:
    door = Door(concurrency=1, buffer=4)
    with door.app() as app:
        output = Output(app)
        sent = threading.Semaphore(0)

        def send() -> None:
            for i in range(10):
                app["S"].send((i,))
                sent.release()

        thread = threading.Thread(target=send)
        thread.start()
        for _ in range(4):
            assert sent.acquire(timeout=SECONDS)
        assert not sent.acquire(timeout=0.05)
        door.open(*range(10))
        thread.join(SECONDS)
        assert len(output.first(10)) == 10


def test_a_call_that_takes_too_long_fails() -> None:
    door = Door(concurrency=2, timeout=0.02)
    door.open(2)
    text = TEXT.replace("define stream S", "@OnError(action = 'STREAM') define stream S")
    with door.app(text + "from !S select i, _error insert into Failed;") as app:
        output, failed = Output(app), Output(app, "Failed")
        app["S"].send_events([siddhi.Event(1, (1,)), siddhi.Event(1, (2,))])
        assert output.first(1) == [(2, 4)]
    (row,) = failed.rows
    assert row[0] == 1
    assert "the call of 'w:wait' took longer than 0.02 s" in str(row[1])


def test_a_wrong_result_goes_to_the_error_handling() -> None:
    async def wait(i: int) -> object:
        return (1, 2) if i == 1 else "no number" if i == 2 else i

    errors: list[tuple[str, Sequence[siddhi.Event]]] = []
    with app_with(declared(wait)) as app:
        output = Output(app)
        app.handle_exception_with(lambda error, _, events: errors.append((str(error), events)))
        for i in range(4):
            app["S"].send((i,))
    assert output.rows == [(0, 0), (3, 3)]
    assert [events[0].data for _, events in errors] == [(1,), (2,)]
    assert "appends 1 attributes, but returned 2 values" in errors[0][0]


@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError])
def test_a_call_that_ends_itself_fails_only_its_event(kind: type[BaseException]) -> None:
    async def wait(i: int) -> int:
        if i == 1:
            raise kind
        return i

    errors: list[str] = []
    with app_with(declared(wait)) as app:
        output = Output(app)
        app.handle_exception_with(lambda error, _, __: errors.append(str(error)))
        for i in range(3):
            app["S"].send((i,))
    assert output.rows == [(0, 0), (2, 2)]
    assert errors == [
        "the call of 'w:wait' raised SystemExit"
        if kind is SystemExit
        else "the call of 'w:wait' was cancelled: it cancelled itself"
    ]


@pytest.mark.parametrize("text", [TEXT, "@app:playback " + TEXT])
def test_a_call_may_send_into_its_app(text: str) -> None:
    """Also where the buffer is full; in playback the sender holds the app while it waits, so that the call is refused."""
    refused: list[BaseException] = []

    async def wait(i: int) -> int:
        if i < 3:
            try:
                await app["S"].send_async((i + 1,))
            except DeadlockError as error:
                refused.append(error)
        return i

    with app_with(declared(wait, concurrency=1, buffer=1), text) as app:
        output = Output(app)
        app["S"].send((0,), timestamp=1)
        rows = output.first(1 if app.plan.playback else 4)
    if app.plan.playback:
        assert (rows, len(refused)) == ([(0, 0)], 1)
    else:
        assert (rows, refused) == ([(i, i) for i in range(4)], [])


def test_playback_waits_for_each_result(door: Door) -> None:
    """So the output is there when send() returns, and the clock of the app has not moved on."""
    door.open(*range(4))
    with door.app("@app:playback " + TEXT) as app:
        output = Output(app)
        app["S"].send((0,), timestamp=1000)
        assert output.rows == [(0, 0)]
        app["S"].send_events([siddhi.Event(2000, (i,)) for i in (1, 2, 3)])
        assert output.rows == [(i, 2 * i) for i in range(4)]


def test_calls_are_repeated_after_a_restore(door: Door) -> None:
    """No event is lost or doubled: those that had gone on are in the state behind."""
    text = TEXT.replace("select i, twice", "select i, twice, count() as n")
    with door.app(text) as app:
        output = Output(app)
        for i in range(5):
            app["S"].send((i,))
        door.open(0)
        assert output.first(1) == [(0, 0, 1)]
        door.await_begun(4)
        snapshot = app.snapshot()
        door.open(*range(5))
        output.first(5)
    again = door.app(text)
    again.restore(snapshot)
    with again:
        assert Output(again).first(4) == [(i, 2 * i, i + 1) for i in range(1, 5)]


def test_a_restore_drops_the_calls_that_run(door: Door) -> None:
    with door.app() as app:
        output = Output(app)
        empty = app.snapshot()
        app["S"].send((1,))
        door.await_begun(1)
        app.restore(empty)
        door.await_rest()
        door.open(1, 2)
        app["S"].send((2,))
        assert output.first(1) == [(2, 4)]


def test_a_change_repeats_no_call(door: Door) -> None:
    with door.app() as app:
        output = Output(app)
        for i in range(5):
            app["S"].send((i,))
        door.await_begun(3)
        app.add("from Out select i insert into More;")
        app["S"].send((5,))
        door.open(*range(6))
        assert output.first(6) == [(i, 2 * i) for i in range(6)]
        assert door.begun == list(range(6))


def test_a_query_that_is_removed_hands_its_events_to_the_error_handling(door: Door) -> None:
    errors: list[tuple[str, Any]] = []
    with door.app(TEXT + "from S select i insert into Others;") as app:
        app.handle_exception_with(lambda error, _, events: errors.append((str(error), events[0].data)))
        app["S"].send((1,))
        door.await_begun(1)
        app.remove("q")
        door.await_rest()
    assert errors == [("the call of 'w:wait' was cancelled: its query was reset or removed", (1,))]


def test_a_shutdown_waits_for_the_calls(door: Door) -> None:
    with door.app() as app:
        output = Output(app)
        app["S"].send((1,))
        door.await_begun(1)
        threading.Timer(0.02, door.open, [1]).start()
    assert output.rows == [(1, 2)]


def test_a_shutdown_cancels_calls_that_take_too_long(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_stream, "DRAIN_SECONDS", 0.02)
    errors: list[tuple[str, Any]] = []
    with door.app() as app:
        app.handle_exception_with(lambda error, _, events: errors.append((str(error), events[0].data)))
        for i in range(5):
            app["S"].send((i,))
        door.await_begun(3)
    door.await_rest()
    assert errors == [("the call of 'w:wait' was cancelled: the app was shut down", (i,)) for i in range(5)]
    assert not [one for one in threading.enumerate() if one.name.startswith(f"siddhi-{app.name}")]


def test_an_app_starts_again(door: Door) -> None:
    door.open(1, 2)
    app = door.app()
    output = Output(app)
    for i in (1, 2):
        app.start()
        app["S"].send((i,))
        app.shutdown()
    assert output.rows == [(1, 2), (2, 4)]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("from S#window.length(2)#w:wait(i) select i insert into O", "behind a window"),
        ("from S#log()#w:wait(i) select i insert into O", "behind another stream function"),
        ("partition with (i of S) begin from S#w:wait(i) select i insert into O; end", "in a partition"),
        ("from S#w:wait(i)#window.length(1) join T on S.i == T.i select T.i insert into O", "in a join"),
        (
            "define aggregation A from S#w:wait(i) select i, sum(twice) as s group by i aggregate every sec",
            "in an aggregation",
        ),
    ],
)
def test_places_where_events_cannot_wait_are_refused(door: Door, query: str, place: str) -> None:
    with pytest.raises(SiddhiAppCreationError) as caught:
        door.app(f"define stream S (i int);\ndefine table T (i int);\n{query};")
    assert f"stream function 'w:wait' is asynchronous, which is not supported {place}" in str(caught.value)
    assert caught.value.line == 3
    assert caught.value.hint == "call it in a query of its own: from S#w:wait(...) select * insert into T"


def test_apps_that_correct_late_events_are_refused(door: Door) -> None:
    stream = "@temporal(model = 'point', policy = 'correct', bound = '1 sec') define stream S (i int);"
    with pytest.raises(SiddhiAppCreationError, match="asynchronous stream function 'w:wait'"):
        door.app(f"{stream} from S#w:wait(i) select i, twice insert into Out;")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"concurrency": 0}, "concurrency must be a number of at least 1, not 0"),
        ({"buffer": True}, "buffer must be a number of at least 1, not True"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0, not 0"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ExtensionError, match=message):
        Door(**settings)


def test_plain_functions_have_no_concurrency() -> None:
    with pytest.raises(ExtensionError, match="concurrency, timeout and buffer are for async def functions"):
        extension.stream_function("w:plain", concurrency=2, registry=Registry())(lambda: None)
