"""Server-sent events: the format, the source ``sse`` and the sink ``sse-server``."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.http import connection
from siddhi.io.http.event_stream import EventReader, ServerEvent, event_text
from siddhi.persistence import InMemoryPersistenceStore
from tests.kit.http import connected, wait_for
from tests.kit.http_server import serving

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]

# --- the format


def read(data: bytes, *cuts: int, last_id: str | None = None) -> tuple[list[ServerEvent], EventReader]:
    reader = EventReader(1000, last_id)
    edges = [0, *sorted(cuts), len(data)]
    return [event for start, end in pairwise(edges) for event in reader.feed(data[start:end])], reader


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data: a\n\n", [ServerEvent("a")]),
        ("data:a\ndata: b\ndata\n\n", [ServerEvent("a\nb\n")]),
        (":comment\n\ndata: a\n\n", [ServerEvent("a")]),
        ("event: x\ndata: a\n\ndata: b\n\n", [ServerEvent("a", "x"), ServerEvent("b")]),
        (
            "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            [ServerEvent("a", id="1"), ServerEvent("b", id="1"), ServerEvent("c")],
        ),
        ("id: 1\0\ndata: a\n\n", [ServerEvent("a")]),
        ("id: 1\n\ndata: a\n\n", [ServerEvent("a", id="1")]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n", [ServerEvent("a"), ServerEvent("b")]),
        ("\ufeffdata: é\n\n", [ServerEvent("é")]),
        ("data:  two\nother: x\n\n", [ServerEvent(" two")]),
    ],
)
def test_events_are_read(text: str, expected: list[ServerEvent]) -> None:
    data = text.encode()
    assert read(data)[0] == expected
    assert read(data, *range(1, len(data)))[0] == expected


def test_the_server_sets_the_pause() -> None:
    assert read(b"retry: 1500\n\n")[1].retry == 1.5
    assert read(b"retry: -1\n\n")[1].retry is None


@pytest.mark.parametrize("data", [b"data: " + b"x" * 2000, b"data: x\n" * 600])
def test_a_large_event_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="more than 1000 characters"):
        read(data)


LINE = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20)


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), LINE.filter(bool), LINE.filter(bool)),
        max_size=4,
    ),
    st.lists(st.integers(0, 300)),
)
def test_events_are_read_as_they_were_written(events: list[tuple[str, str, str]], cuts: list[int]) -> None:
    content = "".join(event_text(data, kind, id_) for data, kind, id_ in events).encode()
    found = read(content, *[min(cut, len(content)) for cut in cuts])[0]
    lines = [data.replace("\r\n", "\n").replace("\r", "\n") for data, _, _ in events]
    assert found == [ServerEvent(data, kind, id_) for data, (_, kind, id_) in zip(lines, events)]


def test_line_ends_in_an_identifier_are_refused() -> None:
    with pytest.raises(ValueError, match="can't contain line ends"):
        event_text("a", id_="1\ndata: b")


# --- the source

SOURCE = (
    "@source(type = 'sse', receiver.url = 'http://127.0.0.1:{port}/e', reconnect.pause = '10' {more}, "
    "@map(type = 'json', fail.on.missing.attribute = 'false', @attributes(v = '$.v', id = 'trp:id', kind = 'trp:event'))) "
    "define stream S (v long, id string, kind string);"
)


class Stream:
    """Sends numbered events after the last one that a client has, some for each connection."""

    def __init__(self, count: int, each: int) -> None:
        self.count, self.each = count, each
        self.headers: list[dict[str, str]] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        last = int(request.headers.get("Last-Event-ID", "0"))
        if last >= self.count:
            return web.Response(status=204)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number in range(last + 1, min(last + self.each, self.count) + 1):
            await response.write(event_text(f'{{"v":\n{number}}}', "n", str(number)).encode())
        return response


def test_events_are_received_over_many_connections(start: Start) -> None:
    stream = Stream(20, 3)
    with serving(stream) as port:
        _, rows = start(SOURCE.format(port=port, more=", headers = \"'X-A:1'\", bearer.token = 't'"))
        wait_for(lambda: len(rows) == 20)
        wait_for(lambda: len(stream.headers) == 8)  # the last one is answered with 204
    assert rows == [(number, str(number), "n") for number in range(1, 21)]
    assert stream.headers[0]["accept"] == "text/event-stream"
    assert (stream.headers[0]["x-a"], stream.headers[0]["authorization"]) == ("1", "Bearer t")
    assert [found.get("last-event-id") for found in stream.headers[:3]] == [None, "3", "6"]


def test_a_restored_source_goes_on_after_the_last_event(manager: SiddhiManager) -> None:
    manager.set_persistence_store(InMemoryPersistenceStore())
    stream = Stream(3, 3)
    with serving(stream) as port:
        for expected in ([1, 2, 3], [4, 5]):
            runtime = manager.create_siddhi_app_runtime("@app:name('A')" + SOURCE.format(port=port, more=""))
            rows: list[int] = []
            runtime.add_callback("S", lambda events, rows=rows: rows.extend(event.data[0] for event in events))
            runtime.restore_last_revision()
            runtime.start()
            wait_for(lambda rows=rows, expected=expected: rows == expected)
            runtime.persist()
            runtime.shutdown()
            stream.count = 5


@pytest.mark.parametrize("answer", ["status", "type", "gone"])
def test_a_stream_that_fails_is_requested_again(start: Start, answer: str, caplog: pytest.LogCaptureFixture) -> None:
    stream, failures = Stream(2, 2), 2

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal failures
        if failures:
            failures -= 1
            if answer == "gone":
                request.transport.abort()
            return web.Response(status=500 if answer == "status" else 200, text="no")
        return await stream(request)

    with serving(handler) as port:
        _, rows = start(SOURCE.format(port=port, more=""))
        wait_for(lambda: len(rows) == 2)
    assert caplog.text.count("reconnecting") == (1 if answer == "gone" else 2)  # aiohttp repeats a GET by itself


def test_other_properties_are_refused(manager: SiddhiManager) -> None:
    with pytest.raises(SiddhiAppCreationError, match="no transport property 'x'"):
        manager.create_siddhi_app_runtime(SOURCE.format(port=1, more="").replace("trp:id", "trp:x"))


# --- the sink

SINK = (
    "@sink(type = 'sse-server', server.url = 'http://127.0.0.1:{port}/e' {more}, @map(type = 'json', @payload('{{{{v}}}}'))) "
    "define stream S (v long, kind string);"
)


class Listening:
    """A client that has requested the stream."""

    def __init__(self, port: int, **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.connection.request("GET", "/e", headers={name.replace("_", "-"): value for name, value in headers.items()})
        self.response = self.connection.getresponse()
        self.line()  # the comment at the beginning
        self.line()

    def line(self) -> str:
        return self.response.readline().decode()

    def lines(self, count: int) -> str:
        return "".join(self.line() for _ in range(count))

    def __enter__(self) -> Listening:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self.connection.close()


def test_payloads_are_pushed_to_all_clients(start: Start, port: int) -> None:
    runtime, _ = start(
        SINK.format(port=port, more=", event.type = '{{kind}}', event.id = '{{v}}', headers = \"'X-A:1'\"")
    )
    runtime.input_handler("S").send((0, "a"))  # nobody is there
    with Listening(port) as first, Listening(port) as second:
        runtime.input_handler("S").send((1, "a"))
        runtime.input_handler("S").send((2, "b"))
        for client in (first, second):
            assert client.lines(8) == "event: a\nid: 1\ndata: 1\n\nevent: b\nid: 2\ndata: 2\n\n"
        assert first.response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert first.response.headers["X-A"] == "1"
        runtime.shutdown()
        assert first.line() == ""  # the end


def test_a_client_gets_what_it_has_missed(start: Start, port: int) -> None:
    runtime, _ = start(SINK.format(port=port, more=", event.id = '{{v}}', replay.events = '3'"))
    for number in range(5):
        runtime.input_handler("S").send((number, "a"))
    [sink] = runtime.sinks["S"]
    wait_for(lambda: len(sink._kept) == 3 and sink._kept[-1][0] == "4")
    for last, expected in (("3", [4]), ("2", [3, 4]), ("0", [2, 3, 4]), ("4", [])):
        with Listening(port, Last_Event_ID=last) as client:
            wait_for(lambda: sink._clients)
            runtime.input_handler("S").send((9, "a"))
            numbers = [*expected, 9]
            assert client.lines(3 * len(numbers)) == "".join(f"id: {number}\ndata: {number}\n\n" for number in numbers)
        wait_for(lambda: not sink._clients)
        with sink._changed:
            sink._kept.pop()
            sink._kept.extendleft([("2", b"id: 2\ndata: 2\n\n")] if len(sink._kept) < 3 else [])


def test_a_client_that_does_not_read_is_disconnected(
    start: Start, port: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_STREAM_BYTES", 1000)
    runtime, _ = start(
        f"@sink(type = 'sse-server', server.url = 'http://127.0.0.1:{port}/e', @map(type = 'text')) define stream S (s string);"
    )
    with Listening(port):
        [sink] = runtime.sinks["S"]
        wait_for(lambda: sink._clients)
        for _ in range(100):
            runtime.input_handler("S").send(("x" * 100_000,))
        wait_for(lambda: not sink._clients)
    assert "does not read was disconnected" in caplog.text


def test_clients_need_credentials(start: Start, port: int) -> None:
    start(SINK.format(port=port, more=", bearer.token = 't'"))
    with connected(port) as client:
        assert client.request("GET", "/e").status == 401
        assert client.request("POST", "/e", "x").status == 405
    with Listening(port, Authorization="Bearer t") as client:
        assert client.response.status == 200


def test_events_travel_from_a_sink_to_a_source(start: Start, port: int) -> None:
    sending, _ = start("@app:name('A')" + SINK.format(port=port, more=", event.id = '{{v}}', replay.events = '1000'"))
    receiving = SOURCE.format(port=port, more="").replace("v = '$.v'", "v = '$'")
    _, rows = start("@app:name('B')" + receiving)
    [sink] = sending.sinks["S"]
    wait_for(lambda: sink._clients)
    for number in range(500):
        sending.input_handler("S").send((number, "a"))
    wait_for(lambda: len(rows) == 500)
    assert [row[0] for row in rows] == list(range(500))


def test_an_app_starts_again(manager: SiddhiManager, port: int) -> None:
    before = set(threading.enumerate())
    for _ in range(3):
        with manager.create_siddhi_app_runtime(SINK.format(port=port, more="")), Listening(port) as client:
            assert client.response.status == 200
    assert set(threading.enumerate()) == before
