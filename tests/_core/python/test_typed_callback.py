"""Callbacks with typed rows: ``app.on(name, function, type=...)`` and ``app.stream(name, type=...)``."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

import siddhi
from siddhi.errors import SiddhiTemporalError
from tests.kit.running import TRADES

APP = f"{TRADES} @info(name = 'all') from Trades select symbol, volume insert into Out;"
ROW = ("IBM", 1.0, 7)


@dataclasses.dataclass
class Out:
    volume: int
    symbol: str


class Struct(msgspec.Struct):
    symbol: str
    volume: int


class Wrong(NamedTuple):
    symbol: str
    size: int


@dataclasses.dataclass
class Failing:
    symbol: str
    volume: int

    def __post_init__(self) -> None:
        raise LookupError("not this one")


@pytest.fixture
def app() -> Iterator[siddhi.App]:
    with siddhi.App(APP) as running:
        yield running


def test_a_callback_gets_objects_by_chunk(app: siddhi.App) -> None:
    seen: list[list[Out]] = []
    app.on("Out", seen.append, type=Out)
    app["Trades"].send(ROW)
    app["Trades"].send_events([siddhi.Event(1, ROW), siddhi.Event(2, ("B", None, 8))])
    assert seen == [[Out(7, "IBM")], [Out(7, "IBM"), Out(8, "B")]]


def test_the_decorator_takes_a_type(app: siddhi.App) -> None:
    seen: list[Struct] = []

    @app.on("Out", type=Struct)
    def add(rows: list[Struct]) -> None:
        seen.extend(rows)

    app["Trades"].send(ROW)
    app.remove_callback(add)
    app["Trades"].send(ROW)
    assert seen == [Struct("IBM", 7)]


def test_a_query_gives_objects(app: siddhi.App) -> None:
    seen: list[Any] = []
    attachment = app.on("all", lambda time, current, expired: seen.append((time, current, expired)), type=Out)
    app["Trades"].send(ROW, 5)
    attachment.detach()
    app["Trades"].send(ROW, 5)
    assert seen == [(5, [Out(7, "IBM")], None)]


def test_a_stream_yields_objects(app: siddhi.App) -> None:
    with app.stream("Out", type=Struct, timeout=0) as stream:
        app["Trades"].send(ROW)
        assert list(stream) == [Struct("IBM", 7)]


def test_an_asynchronous_callback_gets_objects(app: siddhi.App) -> None:
    async def work() -> list[Out]:
        seen: list[Out] = []
        done = asyncio.Event()

        async def add(rows: list[Out]) -> None:
            seen.extend(rows)
            done.set()

        with app.on("Out", add, type=Out):
            await app["Trades"].send_async(ROW)
            await asyncio.wait_for(done.wait(), 10)
        return seen

    assert asyncio.run(work()) == [Out(7, "IBM")]


def test_rows_of_batches_and_queries_become_objects() -> None:
    text = f"{TRADES} define table T (symbol string, volume int); from Trades select symbol, volume insert into T;"
    with siddhi.App(text) as app:
        app.collect("Trades", timestamp=None, chunk=None)
        app["Trades"].send(ROW)
        app["Trades"].send(("B", None, None))
        assert app.query("from T select symbol, volume").to_type(Out) == [Out(7, "IBM"), Out(None, "B")]  # type: ignore[arg-type]
        batch = app.drain()["Trades"]
        assert batch.to_type(dict) == batch.to_dicts()
        with pytest.raises(TypeError, match="a batch can't give Wrong: it has no field for attribute 'price'"):
            batch.to_type(Wrong)


@pytest.mark.parametrize("name", ["Out", "all"])
def test_a_type_that_does_not_fit_is_refused_when_it_is_attached(app: siddhi.App, name: str) -> None:
    calls: list[Any] = []
    message = f"'{name}' can't give Wrong: it has no field for attribute 'volume'.*no attribute for its field 'size'"
    with pytest.raises(TypeError, match=message):
        app.on(name, lambda *arguments: calls.append(arguments), type=Wrong)
    with pytest.raises(TypeError, match=message):
        app.on(name, type=Wrong)
    app["Trades"].send(ROW)
    assert calls == []


def test_a_stream_of_a_type_that_does_not_fit_is_refused(app: siddhi.App) -> None:
    with pytest.raises(TypeError, match="stream 'Out' can't give Wrong"):
        app.stream("Out", type=Wrong)


def test_batches_have_no_type(app: siddhi.App) -> None:
    with pytest.raises(ValueError, match="'Out': a batch has columns"):
        app.on("Out", print, batch=True, type=Out)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="'Out': a batch has columns"):
        app.stream("Out", batch=True, type=Out)  # type: ignore[call-overload]


def test_apps_that_correct_late_events_give_no_types() -> None:
    with (
        siddhi.App("@app:playback @temporal(model = 'point', policy = 'correct', bound = '1 sec') " + APP) as app,
        pytest.raises(SiddhiTemporalError, match="type"),
    ):
        app.on("Out", print, type=Out)


@pytest.mark.parametrize("failing", ["constructor", "callback"])
def test_errors_go_to_the_exception_handler_with_the_events(app: siddhi.App, failing: str) -> None:
    errors: list[Any] = []
    app.handle_exception_with(
        lambda error, origin, events: errors.append((type(error), origin, [event.data for event in events]))
    )

    def fail(rows: list[Any]) -> None:
        raise LookupError(rows)

    app.on("Out", fail, type=Failing if failing == "constructor" else Out)
    app["Trades"].send(ROW)
    assert errors == [(LookupError, "callback of 'Out'", [("IBM", 7)])]


def test_typed_callbacks_stay_when_the_app_starts_again(app: siddhi.App) -> None:
    seen: list[Any] = []
    app.on("Out", seen.extend, type=Out)
    app.on("all", lambda _, current, __: seen.extend(current or []), type=Struct)
    app.shutdown()
    app.start()
    app["Trades"].send(ROW)
    assert sorted(map(repr, seen)) == [repr(Out(7, "IBM")), repr(Struct("IBM", 7))]


def test_a_change_of_the_app_is_refused_if_a_type_would_not_fit(app: siddhi.App) -> None:
    app.on("Out", lambda rows: None, type=Out)
    changed = f"{TRADES} @info(name = 'all') from Trades select symbol insert into Out;"
    with pytest.raises(Exception, match=r"'Out'.*can't give Out"):
        app.replace(changed, reset=("all",))
    app.replace(APP + "from Trades select price insert into Prices;")
    seen: list[Any] = []
    app.on("Prices", seen.extend, type=dict)
    app["Trades"].send(ROW)
    assert seen == [{"price": 1.0}]


def test_profiles_count_typed_callbacks(app: siddhi.App) -> None:
    seen: list[Out] = []
    app.on("Out", seen.extend, type=Out)
    with app.profile(every=1) as profile:
        for _ in range(50):
            app["Trades"].send(ROW)
    assert len(seen) == 50
    assert [(found.kind, found.events_in) for found in profile.figures if found.kind == "callback"] == [
        ("callback", 50)
    ]
