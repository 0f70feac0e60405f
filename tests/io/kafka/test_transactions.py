"""Transactions of the sink ``kafka``.

The client and its protocol are real; librdkafka's mock cluster takes all requests of transactions, but has no isolation and keeps
no offsets that a transaction commits. So the client of these tests notes what the cluster would show to readers of committed
messages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import PersistenceStoreError, SiddhiAppCreationError
from siddhi.io.kafka import publisher as publisher_module
from siddhi.io.kafka import sink as sink_module
from siddhi.persistence import InMemoryPersistenceStore
from tests.kit.kafka import KafkaServer, kafka_proxy
from tests.kit.waiting import wait_until

WAIT = 30


class Committing(Producer):
    """A producer that notes what its transactions commit."""

    visible: ClassVar[list[bytes]] = []
    marks: ClassVar[dict[tuple[str, int], TopicPartition]] = {}
    calls: ClassVar[list[str]] = []
    fails: ClassVar[list[str]] = []
    goes_on: ClassVar[threading.Event] = threading.Event()

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.published: list[bytes] = []
        self.offsets: list[TopicPartition] = []

    def produce(self, topic: str, value: Any = None, **more: Any) -> None:
        super().produce(topic, value, **more)
        self.published.append(value)

    def init_transactions(self, *arguments: Any) -> None:
        self.calls.append("init")
        super().init_transactions(*arguments)

    def begin_transaction(self, *arguments: Any) -> None:
        self.published, self.offsets = [], []
        super().begin_transaction(*arguments)

    def abort_transaction(self, *arguments: Any) -> None:
        self.calls.append("abort")
        super().abort_transaction(*arguments)

    def send_offsets_to_transaction(self, offsets: Any, *more: Any) -> None:
        super().send_offsets_to_transaction(offsets, *more)
        self.offsets += offsets

    def commit_transaction(self, *arguments: Any) -> None:
        failure = self.fails.pop(0) if self.fails else ""
        if failure == "block":
            assert self.goes_on.wait(WAIT)
        if failure == "odd":
            raise RuntimeError("odd")
        if failure in ("before", "block"):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        super().commit_transaction(*arguments)
        self.calls.append("commit")
        self.visible.extend(self.published)
        self.marks.update({(one.topic, one.partition): one for one in self.offsets})
        if failure == "after":
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


class Marks(Consumer):
    """A consumer that finds the offsets that the transactions have committed."""

    def committed(self, partitions: list[TopicPartition], *_: Any) -> list[TopicPartition]:
        return [Committing.marks.get((one.topic, one.partition), one) for one in partitions]


@pytest.fixture(autouse=True)
def committing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(publisher_module, "Producer", Committing)
    monkeypatch.setattr(sink_module, "Consumer", Marks)
    for name, empty in (("visible", []), ("marks", {}), ("calls", []), ("fails", []), ("goes_on", threading.Event())):
        monkeypatch.setattr(Committing, name, empty)
    yield
    Committing.goes_on.set()


def app(address: str, topic: str, options: str = "") -> str:
    # The sum shows whether state and output belong together.
    return f"""@app:name('Exact')
        define stream S (v long);
        @sink(type = 'kafka', bootstrap.servers = '{address}', topic = '{topic}', partition.no = '0', transactional.id = 't-{topic.strip("{}")}'
            {options}, @map(type = 'text', @payload('{{{{total}}}}')))
        define stream O (k string, total long);
        from S select '{topic}' as k, sum(v) as total insert into O;"""


def totals(count: int) -> list[bytes]:
    return [str(number).encode() for number in range(1, count + 1)]


def send(runtime: SiddhiAppRuntime, count: int) -> None:
    for _ in range(count):
        runtime.input_handler("S").send((1,))


def sink_of(runtime: SiddhiAppRuntime) -> Any:
    return runtime._assembly.connectors.sinks["O"][0].sink


@pytest.fixture
def store(manager: SiddhiManager) -> InMemoryPersistenceStore:
    made = InMemoryPersistenceStore()
    manager.set_persistence_store(made)
    return made


def test_payloads_are_committed_with_the_state(
    kafka: KafkaServer,
    topic: str,
    manager: SiddhiManager,
    store: InMemoryPersistenceStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with manager.create_siddhi_app_runtime(app(kafka.address, topic)) as runtime:
        send(runtime, 3)
        kafka.values(topic, 3)
        runtime.snapshot()
        with monkeypatch.context() as full:
            full.setattr(store, "save", lambda *_, **__: (_ for _ in ()).throw(PersistenceStoreError("full")))
            with pytest.raises(PersistenceStoreError):
                runtime.persist()
        send(runtime, 2)
        kafka.values(topic, 5)
        assert Committing.visible == []
        runtime.persist()
        wait_until(lambda: Committing.visible == totals(5))
        send(runtime, 2)
        runtime.persist()
        wait_until(lambda: Committing.visible == totals(7))
        send(runtime, 1)
    assert Committing.calls == ["init", "commit", "commit", "abort"]


def test_payloads_after_a_state_wait_for_its_commit(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, store: InMemoryPersistenceStore
) -> None:
    with manager.create_siddhi_app_runtime(app(kafka.address, topic)) as runtime:
        sink = sink_of(runtime)
        send(runtime, 3)
        decide = sink.checkpoint()
        send(runtime, 3)
        wait_until(lambda: len(sink._kept) == 3)
        assert len(sink._sending) == 3
        decide(True)
        wait_until(lambda: Committing.visible == totals(3) and len(sink._kept) == 3)


@pytest.mark.parametrize("failure", ["before", "after", "odd"])
def test_a_failed_commit_is_repeated_once_committed(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, store: InMemoryPersistenceStore, failure: str
) -> None:
    with manager.create_siddhi_app_runtime(app(kafka.address, topic)) as runtime:
        send(runtime, 3)
        Committing.fails.append(failure)
        runtime.persist()
        send(runtime, 2)
        runtime.persist()
        wait_until(lambda: Committing.visible == totals(5))
        wait_until(lambda: sink_of(runtime)._cut is None)
    assert Committing.visible == totals(5)


@pytest.mark.parametrize("crash", ["before the state", "before the commit", "after the commit"])
def test_a_crash_neither_loses_nor_repeats_a_payload(
    kafka: KafkaServer, topic: str, new_manager: Callable[[], SiddhiManager], crash: str
) -> None:
    store = InMemoryPersistenceStore()

    def created() -> SiddhiAppRuntime:
        manager = new_manager()
        manager.set_persistence_store(store)
        return manager.create_siddhi_app_runtime(app(kafka.address, topic))

    runtime = created()
    runtime.start()
    send(runtime, 3)
    runtime.persist()
    wait_until(lambda: Committing.visible == totals(3))
    send(runtime, 2)
    done = 5
    if crash == "before the state":
        kafka.values(topic, 5)
        done = 3  # the source of the events repeats the others
    else:
        if crash == "before the commit":
            Committing.fails[:] = ["before"] * 1000
        runtime.persist()
        if crash == "after the commit":
            wait_until(lambda: Committing.visible == totals(5))
        else:
            wait_until(lambda: len(Committing.fails) < 1000)
    _crash(runtime)
    Committing.fails.clear()
    again = created()
    again.restore_last_revision()
    with again:
        send(again, 8 - done)
        again.persist()
        wait_until(lambda: len(Committing.visible) >= 8)
        again.persist()
        wait_until(lambda: sink_of(again)._cut is None)
    assert Committing.visible == totals(8)


def _crash(runtime: SiddhiAppRuntime) -> None:
    """End an app without the last steps of its sink."""
    sink = sink_of(runtime)
    sink.flush = lambda: None
    sink._queue.clear()
    runtime.shutdown()


def test_an_older_state_is_not_published_again(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, store: InMemoryPersistenceStore
) -> None:
    with manager.create_siddhi_app_runtime(app(kafka.address, topic)) as runtime:
        send(runtime, 3)
        first = runtime.persist()
        send(runtime, 2)
        runtime.persist()
        wait_until(lambda: Committing.visible == totals(5))
        runtime.restore_revision(first)
        send(runtime, 1)
        runtime.persist()
        wait_until(lambda: len(Committing.visible) == 6)
    assert Committing.visible == [*totals(5), b"4"]


def test_a_lost_connection_aborts_and_repeats_the_transaction(
    kafka: KafkaServer,
    topic: str,
    manager: SiddhiManager,
    store: InMemoryPersistenceStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sink_module, "TIMEOUT_SECONDS", 1.0)
    with kafka_proxy(kafka) as proxy:
        options = ", on.error = 'WAIT', retry.initial = '20 millisec', optional.configuration = 'message.timeout.ms:300,reconnect.backoff.ms:10,reconnect.backoff.max.ms:50,retry.backoff.ms:10'"
        with manager.create_siddhi_app_runtime(app(f"127.0.0.1:{proxy.port}", topic, options)) as runtime:
            send(runtime, 3)
            kafka.values(topic, 3)
            proxy.refuse()
            send(runtime, 2)
            wait_until(lambda: sink_of(runtime)._is_broken)
            proxy.accept()
            runtime.persist()
            wait_until(lambda: len(Committing.visible) >= 5)
    assert sorted(Committing.visible) == totals(5)


@pytest.mark.parametrize(
    "options",
    [
        ", is.synchronous = 'true'",
        ", optional.configuration = 'acks:1'",
        ", optional.configuration = 'enable.idempotence:false'",
    ],
)
def test_options_against_transactions_are_refused(manager: SiddhiManager, options: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"transactional\.id|idempotence"):
        manager.create_siddhi_app_runtime(app("127.0.0.1:1", "t", options))
