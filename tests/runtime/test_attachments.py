"""``app.on``: callbacks of streams and queries by one name, and handles that detach them."""

from __future__ import annotations

import pytest

import siddhi
from siddhi.errors import DefinitionNotExistError
from tests.kit.running import TRADES

APP = f"{TRADES} @info(name = 'all') from Trades select symbol, volume insert into Out;"
ROW = ("IBM", 1.0, 7)


@pytest.fixture
def app():
    with siddhi.App(APP) as running:
        yield running


def test_a_function_is_called_with_the_events_of_a_stream(app):
    seen = []
    attachment = app.on("Out", seen.append)
    app["Trades"].send(ROW, 5)
    assert [[event.data for event in events] for events in seen] == [[("IBM", 7)]]
    assert (attachment.name, attachment.function, attachment.is_attached) == ("Out", seen.append, True)


def test_a_function_is_called_with_the_batches_of_a_stream(app):
    seen = []
    app.on("Out", seen.append, batch=True)
    app["Trades"].send_batch({"symbol": ["A", "B"], "price": [1.0, 2.0], "volume": [1, 2]})
    assert [batch["volume"].tolist() for batch in seen] == [[1, 2]]


def test_a_function_is_called_with_what_a_query_emits(app):
    seen = []
    app.on("all", lambda timestamp, current, expired: seen.append((timestamp, current[0].data, expired)))
    app["Trades"].send(ROW, 5)
    assert seen == [(5, ("IBM", 7), None)]


def test_a_decorator_attaches_and_returns_the_function(app):
    seen = []

    @app.on("Out")
    def note(events):
        seen.extend(events)

    @app.on("Out", batch=True)
    def note_batch(batch):
        seen.append(len(batch))

    app["Trades"].send(ROW)
    assert len(seen) == 2
    app.remove_callback(note)
    app.remove_callback(note_batch)
    note([1, 2])
    app["Trades"].send(ROW)
    assert len(seen) == 4


@pytest.mark.parametrize("name", ["Out", "all"])
def test_a_handle_detaches_its_own_attachment_only(app, name):
    calls = []

    def note(*arguments):
        calls.append(arguments)

    first, second = app.on(name, note), app.on(name, note)
    app["Trades"].send(ROW)
    assert len(calls) == 2
    first.detach()
    first.detach()
    assert (first.is_attached, second.is_attached) == (False, True)
    app["Trades"].send(ROW)
    assert len(calls) == 3
    with second:
        app["Trades"].send(ROW)
    app["Trades"].send(ROW)
    assert len(calls) == 4
    assert repr(second) == f"<Attachment of {note!r} to '{name}' (detached)>"


def test_an_attachment_survives_a_restart(app):
    seen = []
    attachment = app.on("all", lambda timestamp, current, expired: seen.append(timestamp))
    app.shutdown()
    with app:
        app["Trades"].send(ROW, 5)
        attachment.detach()
        app["Trades"].send(ROW, 6)
    assert seen == [5]


def test_an_unknown_name_is_refused_with_the_nearest_stream_or_query(app):
    for attach in (lambda: app.on("Outt", print), lambda: app.on("Outt")):
        with pytest.raises(DefinitionNotExistError, match="has no stream or query 'Outt'; did you mean 'Out'"):
            attach()
    with pytest.raises(DefinitionNotExistError, match="did you mean 'all'"):
        app.on("al", print)


def test_a_query_has_no_batches(app):
    for attach in (lambda: app.on("all", print, batch=True), lambda: app.on("all", batch=True)):
        with pytest.raises(
            ValueError, match="query 'all' has no batches: take those of the stream into which it inserts"
        ):
            attach()


def test_a_function_with_other_arguments_is_refused_when_it_is_attached(app):
    with pytest.raises(TypeError, match=r"a query callback is called with \(timestamp, current, expired\), but"):
        app.on("all", lambda events: None)
    with pytest.raises(TypeError, match=r"a stream callback is called with \(events\), but"):
        app.on("Out")(lambda: None)
    with pytest.raises(TypeError, match=r"must be a function that takes \(batch\), not 'print'"):
        app.on("Out", "print", batch=True)
    app["Trades"].send(ROW)


def test_on_needs_a_name():
    with (
        siddhi.App(APP) as runtime,
        pytest.raises(TypeError, match=r"on\(\) takes the name of a stream or query first"),
    ):
        runtime.on(print)
