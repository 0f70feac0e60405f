"""``http-call`` and ``http-call-response``: requests whose answers are payloads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.http.call import HttpCallResponseSource
from tests.kit.http import free_port, wait_for
from tests.kit.http_server import serving
from tests.kit.running import collect

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]

SINK = (
    "@sink(type = '{sink}', sink.id = 'r', publisher.url = 'http://127.0.0.1:{port}/{{{{k}}}}' {more}, @map(type = 'json')) "
    "define stream Ask (k string, n long);"
)
SOURCE = (
    "@source(type = '{source}', sink.id = 'r', http.status.code = '{status}' {more}, @map(type = 'text', fail.on.missing.attribute = 'false', regex.A = '(?s)(.*)', "
    "@attributes(body = 'A', k = 'trp:k', n = 'trp:n', code = 'trp:http.status.code', kind = 'trp:header.x-kind'))) "
    "define stream {stream} (body string, k string, n long, code int, kind string);"
)


def app(
    port: int,
    more: str = "",
    status: str = "2\\d+",
    *,
    source: str = "http-call-response",
    sink: str = "http-call",
    also: str = "",
) -> str:
    return SINK.format(port=port, more=more, sink=sink) + SOURCE.format(
        source=source, status=status, stream="Got", more=also
    )


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    status = {"/bad": 400, "/none": 204, "/down": 503}.get(request.path, 200)
    text = "" if status == 204 else f"{request.path}!"
    return web.Response(status=status, text=text, headers={"X-Kind": "é".encode().decode("utf-8")})


@pytest.mark.parametrize(("source", "sink"), [("http-call-response", "http-call"), ("http-response", "http-request")])
def test_an_answer_is_a_payload(start: Start, source: str, sink: str) -> None:
    with serving(echo) as port:
        runtime, rows = start(app(port, source=source, sink=sink), "Got")
        runtime.input_handler("Ask").send(("x", 7))
        wait_for(lambda: rows)
    assert rows == [("/x!", "x", 7, 200, "é")]


def test_an_empty_answer_is_a_payload(start: Start) -> None:
    with serving(echo) as port:
        runtime, rows = start(app(port), "Got")
        runtime.input_handler("Ask").send(("none", 1))
        wait_for(lambda: rows)
    assert rows == [("", "none", 1, 204, "é")]


def test_the_first_source_that_matches_gets_the_answer(start: Start) -> None:
    second = SOURCE.format(source="http-call-response", status="[245]0.", stream="Other", more="")
    with serving(echo) as port:
        runtime, rows = start(app(port) + second, "Got")
        others = collect(runtime, "Other")
        for kind in ("x", "bad", "down"):
            runtime.input_handler("Ask").send((kind, 1))
        wait_for(lambda: rows and len(others) == 2)
    assert [row[0] for row in rows] == ["/x!"]
    assert {row[0] for row in others} == {"/bad!", "/down!"}


def test_an_answer_without_a_source_is_logged(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    with serving(echo) as port:
        runtime, rows = start(app(port), "Got")
        runtime.input_handler("Ask").send(("bad", 1))
        wait_for(lambda: "for the status code 400" in caplog.text)
    assert rows == []


def test_a_server_that_is_down_is_a_failure_and_no_answer(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    runtime, rows = start(
        app(free_port()) + "@source(type = 'http-call-response', sink.id = 'r', http.status.code = '.*', "
        "@map(type = 'json')) define stream All (a int);",
        "Got",
    )
    runtime.input_handler("Ask").send(("x", 1))
    wait_for(lambda: "Cannot connect" in caplog.text)
    assert rows == []


def test_a_source_of_another_app_gets_the_answers(start: Start) -> None:
    with serving(echo) as port:
        asking, _ = start("@app:name('A')" + SINK.format(port=port, more="", sink="http-call"), "Ask")
        _, rows = start(
            "@app:name('B')" + SOURCE.format(source="http-call-response", status="200", stream="Got", more=""), "Got"
        )
        asking.input_handler("Ask").send(("x", 1))
        wait_for(lambda: rows)


def test_blocking_io_waits_for_each_answer(start: Start) -> None:
    running, most = 0, 0

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return web.Response(text=request.path)

    for more, expected in ((", blocking.io = 'true'", 1), ("", 10)):
        most = 0
        with serving(slow) as port:
            runtime, rows = start(app(port, more), "Got")
            for number in range(10):
                runtime.input_handler("Ask").send((str(number), 1))
            wait_for(lambda rows=rows: len(rows) == 10)
            runtime.shutdown()
        assert (most == 1) == (expected == 1)
        if expected == 1:
            assert [row[1] for row in rows] == [str(number) for number in range(10)]


def test_answers_can_be_written_to_files(start: Start, tmp_path: Path) -> None:
    more = f", downloading.enabled = 'true', download.path = '{tmp_path}/sub/{{{{k}}}}.txt'"
    with serving(echo) as port:
        runtime, rows = start(app(port, more, "\\d+"), "Got")
        for kind in ("x", "bad", "x/../../../y"):
            runtime.input_handler("Ask").send((kind, 1))
            wait_for(lambda kind=kind: len(rows) == {"x": 1, "bad": 2}.get(kind, 2))
        runtime.shutdown()
    assert [row[0] for row in rows] == [f"{tmp_path}/sub/x.txt", "/bad!"]
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")] == ["sub/x.txt"]
    assert (tmp_path / "sub" / "x.txt").read_text() == "/x!"


def test_each_part_of_an_answer_can_be_a_payload(start: Start) -> None:
    go = threading.Event()

    async def parts(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one")
        await asyncio.to_thread(go.wait, 30)
        await response.write(b"two")
        return response

    with serving(parts) as port:
        runtime, rows = start(app(port, also=", allow.streaming.responses = 'true'"), "Got")
        runtime.input_handler("Ask").send(("x", 1))
        wait_for(lambda: rows)
        assert [row[0] for row in rows] == ["one"]
        go.set()
        wait_for(lambda: len(rows) == 2)
    assert [row[0] for row in rows] == ["one", "two"]


def test_a_large_answer_fails(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    async def large(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"x" * 1001)

    with serving(large) as port:
        runtime, rows = start(app(port, ", max.body.bytes = '1000'"), "Got")
        runtime.input_handler("Ask").send(("x", 1))
        wait_for(lambda: "more than 1000 bytes" in caplog.text)
    assert rows == []


def test_a_slow_app_slows_the_requests_down(manager: SiddhiManager) -> None:
    asked = 0

    async def count(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal asked
        asked += 1
        return web.Response(text="x")

    go = threading.Event()
    with serving(count) as port:
        answers = "@app:name('B')" + SOURCE.format(
            source="http-call-response", status="200", stream="Got", more=", buffer.payloads = '2'"
        )
        taking = manager.create_siddhi_app_runtime(answers)
        taken: list[object] = []
        taking.add_callback("Got", lambda events: (go.wait(30), taken.extend(events)))
        taking.start()
        asking = manager.create_siddhi_app_runtime(
            "@app:name('A')" + SINK.format(port=port, more=", executor.service.threads = '3'", sink="http-call")
        )
        asking.start()
        for number in range(50):
            asking.input_handler("Ask").send(("x", number))
        wait_for(lambda: asked >= 5)
        assert asked <= 2 + 3 + 1
        go.set()
        wait_for(lambda: len(taken) == 50)
        asking.shutdown()
        taking.shutdown()


def test_an_app_starts_again(manager: SiddhiManager) -> None:
    before = set(threading.enumerate())
    with serving(echo) as port:
        for _ in range(3):
            runtime = manager.create_siddhi_app_runtime(app(port))
            rows = collect(runtime, "Got")
            runtime.start()
            runtime.input_handler("Ask").send(("x", 1))
            wait_for(lambda rows=rows: rows)
            runtime.shutdown()
    assert HttpCallResponseSource._by_id == {}
    assert set(threading.enumerate()) == before


def test_a_wrong_pattern_is_refused(manager: SiddhiManager) -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"invalid option 'http\.status\.code'"):
        manager.create_siddhi_app_runtime(app(1, status="2("))
