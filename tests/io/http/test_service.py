"""``http-service`` and ``http-service-response``: requests that a stream answers."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from tests.kit.http import connected, post, wait_for

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]

APP = """
@source(type = '{source}', source.id = 'adder', receiver.url = 'http://127.0.0.1:{port}/add' {more},
    @map(type = 'json', @attributes(messageId = 'trp:messageId', v = '$.v')))
define stream In (messageId string, v long);

@sink(type = '{sink}', source.id = 'adder', message.id = '{{{{messageId}}}}', status.code = '{{{{status}}}}',
    headers = "'X-V:{{{{v}}}}'", @map(type = 'json', @payload('{{{{v}}}}')))
define stream Out (messageId string, v long, status int);

from In[v >= 0L] select messageId, v + 1L as v, 200 + convert(v, 'int') % 2 as status insert into Out;
"""


def app(port: int, more: str = "", source: str = "http-service", sink: str = "http-service-response") -> str:
    return APP.format(port=port, more=more, source=source, sink=sink)


@pytest.mark.parametrize(
    ("source", "sink"), [("http-service", "http-service-response"), ("http-request", "http-response")]
)
def test_a_request_is_answered_by_the_stream(start: Start, port: int, source: str, sink: str) -> None:
    start(app(port, source=source, sink=sink), "Out")
    with connected(port) as client:
        answers = [client.request("POST", "/add", f'{{"v": {number}}}') for number in range(4)]
    assert [(answer.status, answer.body) for answer in answers] == [(200, b"1"), (201, b"2"), (200, b"3"), (201, b"4")]
    assert answers[0].headers["content-type"] == "application/json"
    assert answers[0].headers["x-v"] == "1"


def test_each_request_gets_its_own_answer(start: Start, port: int) -> None:
    start(app(port), "Out")
    found: dict[int, bytes] = {}

    def ask(first: int) -> None:
        with connected(port) as client:
            for number in range(first, first + 50):
                found[number] = client.request("POST", "/add", f'{{"v": {number}}}').body

    threads = [threading.Thread(target=ask, args=(index * 100,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == {
        number: str(number + 1).encode() for index in range(6) for number in range(index * 100, index * 100 + 50)
    }


def test_without_an_answer_in_time_it_is_504(start: Start, port: int) -> None:
    start(app(port, ", connection.timeout = '50'"), "Out")
    with connected(port) as client:
        assert client.request("POST", "/add", '{"v": -1}').status == 504
        assert client.request("POST", "/add", '{"v": 2}').status == 200


def test_what_cannot_be_mapped_is_answered_at_once(start: Start, port: int) -> None:
    start(app(port), "Out")
    assert post(port, "/add", "nonsense").status == 400
    assert post(port, "/add", "").status == 400


def test_the_end_of_the_app_answers_who_waits(start: Start, port: int) -> None:
    runtime, _ = start(app(port), "Out")
    with connected(port) as client:
        client.send("POST", "/add", '{"v": -1}')
        [source] = runtime.sources["In"]
        wait_for(lambda: source._requests)
        runtime.shutdown()
        assert client.answer().status == 504


def test_a_client_that_left_is_forgotten(start: Start, port: int) -> None:
    runtime, _ = start(app(port), "Out")
    [source] = runtime.sources["In"]
    with connected(port) as client:
        client.send("POST", "/add", '{"v": -1}')
        wait_for(lambda: source._requests)
        # Without the reset its end looks like that of a client that still reads.
        client.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_for(lambda: not source._requests)
    assert not source._timers


def test_an_answer_to_an_unknown_request_is_logged(start: Start, port: int, caplog: pytest.LogCaptureFixture) -> None:
    runtime, _ = start(app(port), "Out")
    runtime.input_handler("Out").send(("nobody", 1, 200))
    assert "no request 'nobody' waits at source 'adder'" in caplog.text


def test_a_status_code_that_is_none_fails_the_event(start: Start, port: int, caplog: pytest.LogCaptureFixture) -> None:
    runtime, _ = start(app(port), "Out")
    runtime.input_handler("Out").send(("x", 1, 99))
    assert "invalid 'status.code': '99'" in caplog.text


def test_an_id_belongs_to_one_source(start: Start, manager: SiddhiManager, port: int) -> None:
    start("@app:name('A')" + app(port), "Out")
    second = manager.create_siddhi_app_runtime("@app:name('B')" + app(port).replace("/add", "/other"))
    with pytest.raises(SiddhiAppCreationError, match="belongs to another source 'http-service'"):
        second.start()
    assert post(port, "/add", '{"v": 2}').status == 200


def test_an_app_starts_again(manager: SiddhiManager, port: int) -> None:
    before = set(threading.enumerate())
    for _ in range(3):
        with manager.create_siddhi_app_runtime(app(port)):
            assert post(port, "/add", '{"v": 2}').body == b"3"
    assert set(threading.enumerate()) == before
