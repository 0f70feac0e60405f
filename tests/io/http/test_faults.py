"""Faults: broken connections, servers that restart, killed processes; sent = received + reported."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.persistence import InMemoryErrorStore, InMemoryPersistenceStore
from tests.kit.http import connected, post, wait_for
from tests.kit.killed_consumer import ROUNDS, KilledConsumer
from tests.kit.proxy import FaultProxy

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]

COUNT = 300


def source(port: int, more: str = "") -> str:
    return (
        f"@source(type = 'http', receiver.url = 'http://127.0.0.1:{port}/s' {more}, @map(type = 'json')) "
        "define stream S (v long);"
    )


def sink(port: int, on_error: str) -> str:
    return (
        f"@app:name('Out') @sink(type = 'http', publisher.url = 'http://127.0.0.1:{port}/s', on.error = '{on_error}', "
        'retry.initial = \'10 ms\', @map(type = \'json\', @payload("""{"v": {{v}}}"""))) define stream T (v long);'
    )


def test_a_sink_that_waits_loses_nothing_while_connections_break(start: Start, port: int) -> None:
    _, rows = start("@app:name('In')" + source(port))
    with FaultProxy(port) as proxy:
        sending, _ = start(sink(proxy.port, "WAIT"), "T")
        for number in range(COUNT):
            sending.input_handler("T").send((number,))
            if number % 30 == 29:  # ten times
                (proxy.drop, proxy.half_close, lambda: proxy.drop_after(500))[number // 30 % 3]()
        wait_for(lambda: {row[0] for row in rows} == set(range(COUNT)))
        sending.shutdown()
    received = [row[0] for row in rows]
    # A request whose answer was lost is repeated, at its place.
    assert [number for at, number in enumerate(received) if number not in received[:at]] == list(range(COUNT))
    assert len(received) <= COUNT + 20


def test_a_server_that_restarts_gets_or_leaves_each_payload(manager: SiddhiManager, port: int) -> None:
    store = InMemoryErrorStore()
    manager.set_error_store(store)
    received: list[int] = []
    sending = manager.create_siddhi_app_runtime(sink(port, "STORE"))
    sending.start()
    for turn in range(10):
        runtime = manager.create_siddhi_app_runtime("@app:name('In')" + source(port))
        runtime.add_callback("S", lambda events: received.extend(event.data[0] for event in events))
        runtime.start()
        for number in range(turn * 30, turn * 30 + 30):
            sending.input_handler("T").send((number,))
        runtime.shutdown()  # in mid-stream
    sending.shutdown()
    stored = [event.data[0] for entry in store.load_error_entries("Out", limit=None) for event in entry.events]
    assert sorted(set(received) | set(stored)) == list(range(300))
    assert len(received) + len(stored) == 300


def test_malformed_payloads_do_not_hold_up_good_ones(start: Start, port: int) -> None:
    _, rows = start(source(port))
    with connected(port) as client:
        statuses = [
            client.request("POST", "/s", "{" if number % 3 else f'{{"v": {number}}}').status for number in range(99)
        ]
    assert statuses == [400 if number % 3 else 200 for number in range(99)]
    assert [row[0] for row in rows] == list(range(0, 99, 3))


def test_with_ack_checkpoint_a_request_is_answered_once_it_is_saved(manager: SiddhiManager, port: int) -> None:
    manager.set_persistence_store(InMemoryPersistenceStore())
    with manager.create_siddhi_app_runtime(source(port, ", ack = 'checkpoint'")) as runtime:
        rows: list[int] = []
        runtime.add_callback("S", lambda events: rows.extend(event.data[0] for event in events))
        with connected(port) as first, connected(port) as second:
            first.send("POST", "/s", '{"v": 1}')
            wait_for(lambda: rows == [1])
            assert second.request("POST", "/s", "{").status == 400
            [found] = runtime.sources["S"]
            wait_for(lambda: found._unsaved)
            runtime.persist()
            assert first.answer().status == 200
            second.send("POST", "/s", '{"v": 2}')
            wait_for(lambda: found._unsaved)
            runtime.shutdown()
            assert second.answer().status == 503


def test_what_was_answered_is_in_the_state_of_a_killed_process(tmp_path: Path, port: int) -> None:
    """Clients repeat what was not answered with 200, while the process is killed again and again."""
    app = (
        "@app:name('A') "
        + source(port, ", ack = 'checkpoint'").replace("define stream S", "define stream In")
        + "@primaryKey('v') define table Seen (v long); define stream S (v long);"
        f"@source(type = 'http', receiver.url = 'http://127.0.0.1:{port}/ask', @map(type = 'json')) define stream Ask (a int);"
        "from In select v insert into Seen; from Ask join Seen select Seen.v as v insert into S;"
    )
    consumer = KilledConsumer(app, tmp_path)
    accepted: list[int] = []
    lock, stop = threading.Lock(), threading.Event()

    def send(first: int) -> None:
        number = first
        while not stop.is_set():
            try:
                if post(port, "/s", f'{{"v": {number}}}').status == 200:
                    with lock:
                        accepted.append(number)
                    number += 1
            except (OSError, http.client.HTTPException):
                stop.wait(0.01)

    clients = [threading.Thread(target=send, args=(index * 1_000_000,)) for index in range(3)]
    try:
        consumer.start()
        for client in clients:
            client.start()
        for _ in range(ROUNDS):
            before = len(accepted)
            wait_for(lambda before=before: len(accepted) > before + 10)
            consumer.kill()
            consumer.start()
        stop.set()
        for client in clients:
            client.join(30)
        consumer.kill()
        consumer.start()
        assert post(port, "/ask", '{"a": 1}').status == 200
        assert set(accepted) <= {int(line) for line in consumer.lines}
    finally:
        stop.set()
        consumer.kill()
