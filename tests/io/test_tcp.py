"""The TCP protocol: frames, sources and sinks over real connections, back-pressure, reconnecting, hostile bytes."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.config import InMemoryConfigManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.tcp.frames import LARGEST_FRAME, FrameBuffer, frame
from siddhi.runtime.connectors import retry
from tests.kit.certificates import Certificates
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect

WAIT = 30

SOURCE = (
    "@app:name('In') @source(type = 'tcp', context = 'c', @map(type = '{map}')) define stream S (s string, v long);"
)
SINK = "@app:name('Out') @sink(type = 'tcp', url = 'tcp://127.0.0.1:{port}/c', on.error = '{on_error}', @map(type = 'binary')) define stream S (s string, v long);"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def manager(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_config_manager(
            InMemoryConfigManager(extensions={"source.tcp.host": "127.0.0.1", "source.tcp.port": str(port)})
        )
        yield made


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def started(manager: SiddhiManager, text: str) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def test_events_travel_from_a_sink_to_a_source(manager: SiddhiManager, port: int) -> None:
    _, received = started(manager, SOURCE.format(map="binary"))
    sender, sent = started(manager, SINK.format(port=port, on_error="LOG"))
    for number in range(1000):
        sender.input_handler("S").send((f"é{number}", number), timestamp=1000 + number)
    sender.shutdown()
    wait_for(lambda: len(received) == 1000)
    assert received == sent


def test_a_frame_is_as_siddhi_writes_it() -> None:
    assert frame("ab", "c", b"xyz").hex() == "02" + "00000012" + "000000026162" + "0000000163" + "0000000378797a"


def test_a_sink_waits_for_a_source_that_starts_later(manager: SiddhiManager, port: int) -> None:
    sender, sent = started(manager, SINK.format(port=port, on_error="WAIT"))
    done = threading.Thread(target=lambda: sender.input_handler("S").send(("a", 1), timestamp=1))
    done.start()
    _, received = started(manager, SOURCE.format(map="binary"))
    done.join(WAIT)
    wait_for(lambda: received)
    assert received == sent == [("a", 1)]


def test_a_source_that_restarts_gets_the_later_events(manager: SiddhiManager, port: int) -> None:
    receiver, _ = started(manager, SOURCE.format(map="binary"))
    sender, _ = started(manager, SINK.format(port=port, on_error="WAIT"))
    sender.input_handler("S").send(("before", 1), timestamp=1)
    receiver.shutdown()
    _, received = started(manager, SOURCE.format(map="binary"))

    def arrives() -> bool:
        sender.input_handler("S").send(("after", 2), timestamp=2)
        return bool(received)

    wait_for(arrives)
    assert set(received) == {("after", 2)}


def test_sources_of_several_apps_share_the_server(manager: SiddhiManager, port: int) -> None:
    _, first = started(manager, SOURCE.format(map="json"))
    other, second = started(manager, SOURCE.format(map="json").replace("'In'", "'In2'").replace("'c'", "'d'"))
    with socket.create_connection(("127.0.0.1", port)) as client:
        for channel, name in (("c", "a"), ("d", "b"), ("none", "x"), ("c", "c")):
            client.sendall(frame("", channel, f'{{"s": "{name}", "v": 1}}'.encode()))
        wait_for(lambda: len(first) == 2 and len(second) == 1)
        other.shutdown()
        client.sendall(frame("", "c", b'{"s": "d", "v": 1}'))
        wait_for(lambda: len(first) == 3)
    assert (first, second) == ([("a", 1), ("c", 1), ("d", 1)], [("b", 1)])


def test_a_channel_belongs_to_one_source(manager: SiddhiManager) -> None:
    started(manager, SOURCE.format(map="json"))
    second = manager.create_siddhi_app_runtime(SOURCE.format(map="json").replace("'In'", "'In2'"))
    with pytest.raises(SiddhiAppCreationError, match=r"channel 'c' of tcp://127.0.0.1:\d+ belongs to another source"):
        second.start()


def test_a_slow_app_stops_the_sender(manager: SiddhiManager, port: int) -> None:
    runtime = manager.create_siddhi_app_runtime(SOURCE.format(map="json"))
    go, taken = threading.Event(), []

    def slow(events: list[Any]) -> None:
        go.wait(WAIT)
        taken.extend(events)

    runtime.add_callback("S", slow)
    runtime.start()
    message = frame("", "c", b'{"s": "' + b"x" * 10_000 + b'", "v": 1}')
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(0.2)
        sent = 0
        with suppress(TimeoutError):
            while sent < 5000:  # more than the buffers of the source and of the operating system
                client.sendall(message)
                sent += 1
        assert sent < 5000
        go.set()
        wait_for(lambda: len(taken) == sent)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">Bi", 2, LARGEST_FRAME + 1),
        struct.pack(">Bi", 2, -1),
        struct.pack(">Bii", 2, 4, 100),
        struct.pack(">Biiii", 2, 12, 0, 0, -1),
        frame("", "c", b"x")[:-1],
        struct.pack(">Bi", 2, 13) + struct.pack(">iii", 0, 0, 0) + b"y",
    ],
)
def test_hostile_bytes_close_their_connection_only(
    manager: SiddhiManager, port: int, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    _, rows = started(manager, SOURCE.format(map="json"))
    with socket.create_connection(("127.0.0.1", port)) as good, socket.create_connection(("127.0.0.1", port)) as bad:
        bad.sendall(sent)
        bad.shutdown(socket.SHUT_WR)
        bad.settimeout(WAIT)
        assert bad.recv(1) == b""
        good.sendall(frame("", "c", b'{"s": "a", "v": 1}'))
        wait_for(lambda: rows)
    assert any("closed: " in record.getMessage() for record in caplog.records)


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9), st.binary(max_size=99)), max_size=4), st.data())
def test_frames_are_read_as_they_were_written(frames: list[tuple[str, str, bytes]], data: st.DataObject) -> None:
    frames = [(a, b, c) for a, b, c in frames if all(text.isprintable() for text in (a, b))]
    content = b"".join(frame(*one) for one in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), min_size=1, max_size=5)))
    buffer = FrameBuffer()
    found: list[tuple[str, bytes]] = []
    for start, end in zip([0, *cuts], cuts):
        more, error = buffer.feed(content[start:end])
        assert error is None
        found += more
    ends = [0]
    for one in frames:
        ends.append(ends[-1] + len(frame(*one)))
    complete = sum(end <= cuts[-1] for end in ends[1:])
    assert found == [(channel, payload) for _, channel, payload in frames[:complete]]
    assert (buffer.end() is None) == (cuts[-1] in ends)


def test_frames_before_a_wrong_one_are_read() -> None:
    found, error = FrameBuffer().feed(frame("", "c", b"1") + frame("", "c", b"2") + b"GET")
    assert found == [("c", b"1"), ("c", b"2")]
    assert "expected protocol 2" in str(error)


@pytest.mark.parametrize("fault", ["drop", "half_close", "refuse"])
def test_a_sink_reports_or_delivers_all_while_connections_break(manager: SiddhiManager, port: int, fault: str) -> None:
    """Ten faults in mid-stream: nothing is lost but what was on its way, and the order is kept."""
    _, received = started(manager, SOURCE.format(map="binary"))
    with FaultProxy(port) as proxy:
        sender, _ = started(manager, SINK.format(port=proxy.port, on_error="WAIT"))
        for number in range(10):
            sender.input_handler("S").send(("a", 2 * number), timestamp=1)
            wait_for(lambda number=number: ("a", 2 * number) in received)
            getattr(proxy, fault)()
            if fault == "refuse":
                proxy.accept()
            before = len(received)

            def arrives(
                number: int = number, before: int = before
            ) -> bool:  # the first may go into the lost connection
                sender.input_handler("S").send(("a", 2 * number + 1), timestamp=1)
                return len(received) > before

            wait_for(arrives)
        sender.shutdown()
    assert [row[1] for row in received] == sorted(row[1] for row in received)
    assert {row[1] for row in received} == set(range(20))


def test_tls_with_certificates_of_both_sides(manager: SiddhiManager, port: int, certificates: Certificates) -> None:
    server = f"tls.certificate.file = '{certificates.server}', tls.ca.file = '{certificates.authority}'"
    client = f"tls.ca.file = '{certificates.authority}', tls.certificate.file = '{certificates.client}'"
    _, received = started(manager, SOURCE.format(map="binary").replace("context", f"{server}, context"))
    text = SINK.format(port=port, on_error="WAIT").replace("127.0.0.1", "localhost")
    sender, sent = started(manager, text.replace("on.error", f"{client}, on.error"))
    for number in range(100):
        sender.input_handler("S").send(("é", number), timestamp=1)
    wait_for(lambda: len(received) == 100)
    assert received == sent


def test_a_client_without_certificate_is_not_let_in(
    manager: SiddhiManager, port: int, certificates: Certificates
) -> None:
    server = f"tls.certificate.file = '{certificates.server}', tls.ca.file = '{certificates.authority}'"
    _, received = started(manager, SOURCE.format(map="binary").replace("context", f"{server}, context"))
    with socket.create_connection(("127.0.0.1", port)) as plain:
        plain.sendall(frame("", "c", b"x"))
        plain.settimeout(WAIT)
        with suppress(ConnectionError):
            assert plain.recv(100) == b"" or plain.recv(1) == b""
    assert received == []


def test_options_set_the_address_and_the_socket(manager: SiddhiManager) -> None:
    own = free_port()
    text = SOURCE.format(map="json").replace(
        "context", f"host = '127.0.0.1', port = '{own}', keep.alive = 'false', context"
    )
    _, received = started(manager, text)
    options = f"tcp.no.delay = 'false', keep.alive = 'true', worker.threads = '3', sync = '{{{{b}}}}', url = 'tcp://127.0.0.1:{own}/c'"
    payload = '@payload("""{"s": "a", "v": 1}""")'
    sender = manager.create_siddhi_app_runtime(
        f"@sink(type = 'tcp', {options}, @map(type = 'text', {payload})) define stream T (b string);"
    )
    with sender:
        sender.input_handler("T").send(("true",))
        sender.input_handler("T").send(("perhaps",))
        sender.input_handler("T").send(("false",))
        wait_for(lambda: len(received) == 2)


def test_sources_of_one_address_need_the_same_options(manager: SiddhiManager) -> None:
    started(manager, SOURCE.format(map="json"))
    text = (
        SOURCE.format(map="json")
        .replace("'In'", "'In2'")
        .replace("context = 'c'", "context = 'd', keep.alive = 'false'")
    )
    with pytest.raises(SiddhiAppCreationError, match="runs with other options"):
        manager.create_siddhi_app_runtime(text).start()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("tls.enabled = 'false', tls.verify = 'true'", r"invalid option 'tls.verify'"),
        ("sync = 'perhaps'", r"invalid option 'sync'"),
        ("keystore.path = 'a.jks'", r"invalid option 'keystore.path'"),
        ("keep.alive = '1'", r"invalid option 'keep.alive'"),
    ],
)
def test_invalid_options_of_the_sink_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        manager.create_siddhi_app_runtime(
            f"@sink(type = 'tcp', url = 'tcp://h:1/c', {options}, @map(type = 'json')) define stream S (v int);"
        )


@pytest.mark.parametrize("url", ["tcp://h/c", "tcp://h:1", "http://h:1/c", "tcp://h:x/c", "tcp://:1/c"])
def test_an_invalid_url_is_refused(manager: SiddhiManager, url: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid option 'url' of sink 'tcp'"):
        manager.create_siddhi_app_runtime(f"@sink(type = 'tcp', url = '{url}') define stream S (v int);")


def test_transport_properties_are_refused(manager: SiddhiManager) -> None:
    text = "@source(type = 'tcp', @map(type = 'json', @attributes(v = 'trp:a'))) define stream S (v int);"
    with pytest.raises(SiddhiAppCreationError, match="no transport properties"):
        manager.create_siddhi_app_runtime(text)
