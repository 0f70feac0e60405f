"""Queues of SQS: order, deletion, visibility, FIFO, failures, refused options."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("boto3", reason="the extra 'aws' is not installed")
pytest.importorskip("moto", reason="moto is not installed")

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from tests.io.test_tcp import wait_for
from tests.kit.faults import kill_under_load
from tests.kit.killed_consumer import ROUNDS
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.aws import OPTIONS, Queue, client, endpoint


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made


def source(queue: Queue, more: str = "", url: str = "") -> str:
    return (
        f"@app:name('In') @source(type = 'sqs', queue = '{queue.name}', {OPTIONS}, endpoint.url = '{url or endpoint()}', "
        f"wait.time = '0', polling.interval = '10' {more}, @map(type = 'text', regex.A = 'number ([0-9]+)', "
        "@attributes(n = 'A[1]', id = 'trp:MESSAGE_ID'))) define stream S (n string, id string);"
    )


def sink(queue: Queue, more: str = "", url: str = "") -> str:
    return (
        f"@app:name('Out') @sink(type = 'sqs', queue = '{queue.name}', {OPTIONS}, endpoint.url = '{url or endpoint()}' "
        f"{more}, @map(type = 'text', @payload('{{{{n}}}}'))) define stream S (n string, g string);"
    )


def started(manager: SiddhiManager, app: str) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(app)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def send(runtime: SiddhiAppRuntime, *rows: tuple[Any, ...]) -> None:
    for row in rows:
        runtime.input_handler("S").send(row)


def test_messages_are_received_and_deleted(manager: SiddhiManager) -> None:
    queue = Queue()
    queue.send("number 1", "nonsense", "number 2")
    sent_until = time.time() * 1000
    runtime = manager.create_siddhi_app_runtime(source(queue, ", event.time = 'message'"))
    rows = collect(runtime, "S")
    times: list[int] = []
    runtime.add_callback("S", lambda events: times.extend(event.timestamp for event in events))
    runtime.start()
    wait_for(lambda: queue.counts == (0, 0))
    assert sorted(row[0] for row in rows) == ["1", "2"]
    assert len(times) == 2
    assert max(times) <= sent_until
    assert all(len(row[1]) == 36 for row in rows)


def test_messages_that_can_not_be_mapped_can_be_kept(manager: SiddhiManager) -> None:
    queue = Queue()
    queue.send("number 1", "nonsense")
    _, rows = started(manager, source(queue, ", failed.messages = 'keep'"))
    wait_for(lambda: rows and queue.counts == (0, 1))


def test_messages_are_deleted_after_a_checkpoint(manager: SiddhiManager) -> None:
    queue = Queue()
    queue.send("number 1")
    runtime, rows = started(manager, source(queue, ", ack = 'checkpoint'"))
    wait_for(lambda: rows)
    assert queue.counts == (0, 1)
    runtime.persist()
    wait_for(lambda: queue.counts == (0, 0))


def test_messages_stay_in_the_queue_when_too_many_are_not_deleted(manager: SiddhiManager) -> None:
    queue = Queue()
    queue.send(*(f"number {number}" for number in range(6)))
    more = ", ack = 'checkpoint', buffer.unacknowledged = '2', max.number.of.messages = '1'"
    runtime, rows = started(manager, source(queue, more))
    for count in (2, 4, 6):
        wait_for(lambda count=count: len(rows) == count and queue.counts == (6 - count, 2))
        runtime.persist()
    wait_for(lambda: queue.counts == (0, 0))


def test_visibility_is_extended_while_messages_wait(manager: SiddhiManager) -> None:
    queue = Queue()
    queue.send("number 1")
    runtime, rows = started(manager, source(queue, ", ack = 'checkpoint', visibility.timeout = '1'"))
    wait_for(lambda: rows)
    (one,) = runtime.sources["S"]
    extended: list[int] = []
    call = one._queue.call  # type: ignore[attr-defined]

    async def note(name: str, **arguments: Any) -> dict[str, Any]:
        if name == "change_message_visibility_batch":
            extended.append(len(arguments["Entries"]))
        answer: dict[str, Any] = await call(name, **arguments)
        return answer

    one._queue.call = note  # type: ignore[attr-defined]
    wait_for(lambda: len(extended) >= 4)  # 4/3 s: longer than the timeout
    assert len(rows) == 1
    assert queue.counts == (0, 1)


def test_lost_connections_lose_no_message(manager: SiddhiManager) -> None:
    queue = Queue()
    with FaultProxy(int(endpoint().rpartition(":")[2])) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        runtime, rows = started(manager, source(queue, ", visibility.timeout = '1'", url))
        for number in range(min(10, ROUNDS + 1)):
            queue.send(f"number {number}")
            proxy.drop()
            wait_for(lambda: len({row[0] for row in rows}) == number + 1)  # noqa: B023 - called at once
        wait_for(lambda: queue.counts == (0, 0))
        runtime.shutdown()


@pytest.mark.parametrize("ack", ["checkpoint", "processed"][: 1 if ROUNDS < 10 else 2])  # some seconds each
def test_a_killed_process_loses_nothing(tmp_path: Path, ack: str) -> None:
    queue = Queue()
    app = (
        f"@source(type = 'sqs', queue = '{queue.name}', {OPTIONS}, endpoint.url = '{endpoint()}', wait.time = '0', "
        f"polling.interval = '5', visibility.timeout = '1', ack = '{ack}', @map(type = 'csv')) define stream In (v long);"
    )
    received, sent, counted = kill_under_load(
        app, tmp_path, lambda numbers: queue.send(*map(str, numbers)), batch=10, counts_all=ack != "processed"
    )
    assert set(received) == set(range(sent))
    assert ack == "processed" or counted >= sent  # in the state


def test_payloads_are_sent(manager: SiddhiManager) -> None:
    queue = Queue()
    runtime, _ = started(manager, sink(queue, ", concurrency = '4'"))
    send(runtime, *((f"{number}", "") for number in range(20)))
    runtime.shutdown()
    assert sorted(int(message["Body"]) for message in queue.take()) == list(range(20))


def test_fifo_queues_keep_the_order_and_drop_doubles(manager: SiddhiManager) -> None:
    queue = Queue(".fifo", FifoQueue="true")
    runtime, _ = started(manager, sink(queue, ", message.group.id = '{{g}}', deduplication.id = '{{n}}'"))
    send(runtime, *((f"{number}", "a") for number in (1, 2, 3, 2, 4)))
    runtime.shutdown()
    found = queue.take()
    assert [message["Body"] for message in found] == ["1", "2", "3", "4"]
    assert {message["Attributes"]["MessageGroupId"] for message in found} == {"a"}


def test_failures_reach_on_error(manager: SiddhiManager, caplog: pytest.LogCaptureFixture) -> None:
    queue = Queue()
    with FaultProxy(int(endpoint().rpartition(":")[2])) as proxy:
        runtime, _ = started(manager, sink(queue, "", f"http://127.0.0.1:{proxy.port}"))
        send(runtime, ("x" * 2_000_000, ""))  # the limit is 1 MiB
        wait_for(lambda: "refuses the message" in caplog.text)
        proxy.refuse()
        send(runtime, ("1", ""))
        wait_for(lambda: "can't be reached" in caplog.text)
        proxy.accept()
        wait_for(lambda: queue.counts[0] or send(runtime, ("2", "")))
        runtime.shutdown()


def test_a_queue_that_does_not_exist_is_tried_again(manager: SiddhiManager, caplog: pytest.LogCaptureFixture) -> None:
    queue = Queue()
    client("sqs").delete_queue(QueueUrl=queue.url)
    _, rows = started(manager, source(queue))
    wait_for(lambda: "NonExistentQueue" in caplog.text)
    client("sqs").create_queue(QueueName=queue.name)
    queue.send("number 1")
    wait_for(lambda: rows)


def test_threads_end_with_the_app(manager: SiddhiManager, thread_names: Callable[[], list[str]]) -> None:
    queue, before = Queue(), thread_names()
    for _ in range(3):
        started(manager, source(queue))[0].shutdown()
    assert thread_names() == before


@pytest.mark.parametrize(
    "app",
    [
        "source, wait.time = '30'",
        "source, max.number.of.messages = '11'",
        "source, failed.messages = 'burn'",
        "sink, message.group.id = 'a'",
        "sink, deduplication.id = 'a'",
        "sink, delay.interval = '901'",
        "sink, concurrency = '0'",
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, app: str) -> None:
    class Named:
        name = "q"

    kind, _, more = app.partition(", ")
    text = (source if kind == "source" else sink)(Named(), f", {more}", "http://host")  # type: ignore[arg-type]
    if "wait.time = '30'" in more:
        text = text.replace("wait.time = '0', ", "")
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(text)
    assert caught.value.code == "E326"


def test_keys_belong_together_and_are_not_shown(manager: SiddhiManager) -> None:
    class Named:
        name = "q"

    text = sink(Named(), "", "http://host").replace("access.key = 'test', ", "")  # type: ignore[arg-type]
    with pytest.raises(SiddhiAppError, match=r"access\.key") as caught:
        manager.create_siddhi_app_runtime(text)
    assert "'test'" not in caught.value.message
