"""The source ``kafka`` against librdkafka's mock cluster; see tests/kit/kafka.py for what that can't do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.kafka import reader
from siddhi.persistence import InMemoryPersistenceStore
from tests.kit.kafka import KafkaServer, kafka_proxy
from tests.kit.killed_consumer import ROUNDS, KilledConsumer
from tests.kit.running import collect
from tests.kit.waiting import wait_until

WAIT = 30
FAULTS = max(3, ROUNDS // 2)

ManagerMaker = Callable[[], SiddhiManager]


ALL = ", partition.no.list = '0,1,2,3'"
GROUP = ", optional.configuration = 'session.timeout.ms:2000,heartbeat.interval.ms:100,fetch.wait.max.ms:20'"
"""The mock cluster waits for the end of the session of a member that has left."""


def app(address: str, topic: str, options: str = ALL, *, name: str = "In", group: str = "g") -> str:
    if "optional.configuration" not in options:
        options += ", optional.configuration = 'fetch.wait.max.ms:20'"
    return f"""@app:name('{name}')
        @source(type = 'kafka', bootstrap.servers = '{address}', topic.list = '{topic}', group.id = '{group}-{topic}' {options},
            @map(type = 'text', regex.A = '(.*)', @attributes(v = 'A[1]', p = 'trp:partition', o = 'trp:offset')))
        define stream S (v string, p int, o long);"""


def started(manager: SiddhiManager, text: str) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def texts(count: int, start: int = 0) -> list[str]:
    return [str(number) for number in range(start, start + count)]


def test_messages_arrive_with_their_properties(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    kafka.produce(topic, ["a"], partition=2, key="k", headers={"Kind": "x"}, timestamp=1234)
    kafka.produce(topic, ["b"], partition=2)
    text = f"""@source(type = 'kafka', bootstrap.servers = '{kafka.address}', topic.list = '{topic}', group.id = 'p', partition.no.list = '2',
        @map(type = 'text', fail.on.missing.attribute = 'false', regex.A = '(.*)', @attributes(v = 'A[1]', t = 'trp:Topic', p = 'trp:partition', o = 'trp:offset',
        k = 'trp:key', at = 'trp:record.timestamp', sum = 'trp:check.sum', kind = 'trp:Kind')))
        define stream S (v string, t string, p int, o long, k string, at long, sum string, kind string);"""
    _, rows = started(manager, text)
    wait_until(lambda: len(rows) == 2)
    assert rows[0] == ("a", topic, 2, 0, "k", 1234, None, "x")
    assert rows[1][:5] == ("b", topic, 2, 1, None)
    assert rows[1][6:] == (None, None)


def test_each_partition_keeps_its_order(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    for partition in range(4):
        kafka.produce(topic, texts(500), partition)
    _, rows = started(manager, app(kafka.address, topic))
    wait_until(lambda: len(rows) == 2000)
    for partition in range(4):
        assert [(v, o) for v, p, o in rows if p == partition] == list(zip(texts(500), range(500)))


@pytest.mark.parametrize("threading_option", ["single.thread", "topic.wise", "partition.wise"])
def test_listed_partitions_are_read_with_each_threading_option(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, threading_option: str
) -> None:
    for partition in range(4):
        kafka.produce(topic, texts(3), partition)
    options = f", partition.no.list = '1,3', threading.option = '{threading_option}'"
    _, rows = started(manager, app(kafka.address, topic, options))
    wait_until(lambda: len(rows) == 6)
    assert sorted((p, o) for _, p, o in rows) == [(1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (3, 2)]


def test_a_consumer_for_each_topic_shares_the_group(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    kafka.create(other := topic + "b")
    kafka.produce(topic, ["a"])
    kafka.produce(other, ["b"])
    topics = f"{topic},{other}"
    runtime, rows = started(manager, app(kafka.address, topics, f"{GROUP}, threading.option = 'topic.wise'"))
    # The consumer that joins first may receive its message again when the other one joins: see tests/kit/kafka.py.
    wait_until(lambda: set(rows) == {("a", 0, 0), ("b", 0, 0)})
    for one in (topic, other):
        wait_until(lambda one=one: kafka.committed(f"g-{topics}", one) == {0: 1})
    source = runtime._assembly.connectors.sources["S"][0].source
    assert [set(reader._next) for reader in source._readers] == [
        {(one, partition) for partition in range(4)} for one in (topic, other)
    ]
    runtime.shutdown()


def test_messages_set_the_clock_of_a_playback(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    for number, time_ms in enumerate((1000, 1400, 2500)):
        kafka.produce(topic, [f'[{{"v": {number}}}, {{"v": {number}}}]'], timestamp=time_ms)
    text = app(kafka.address, topic, f"{ALL}, event.time = 'message'")
    text = text[: text.index("@map")] + "@map(type = 'json')) define stream S (v int);"
    runtime = manager.create_siddhi_app_runtime(
        f"@app:playback {text} from S#window.time(1 sec) select v, count() as n insert all events into Out;"
    )
    found: list[tuple[int, Any]] = []
    runtime.add_callback("Out", lambda events: found.extend((event.timestamp, event.data) for event in events))
    runtime.start()
    wait_until(lambda: len(found) == 4)
    assert found == [(1000, (0, 2)), (1400, (1, 4)), (2500, (1, 0)), (2500, (2, 2))]


def test_processed_messages_are_committed(kafka: KafkaServer, topic: str, new_manager: ManagerMaker) -> None:
    kafka.produce(topic, texts(10))
    runtime, rows = started(new_manager(), app(kafka.address, topic))
    wait_until(lambda: len(rows) == 10)
    wait_until(lambda: kafka.committed(f"g-{topic}", topic) == {0: 10})
    runtime.shutdown()
    kafka.produce(topic, texts(5, 10))
    _, later = started(new_manager(), app(kafka.address, topic))
    wait_until(lambda: len(later) == 5)
    assert [row[0] for row in rows + later] == texts(15)


def test_checkpoint_commits_what_a_saved_state_contains(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    manager.set_persistence_store(InMemoryPersistenceStore())
    kafka.produce(topic, texts(10))
    runtime, rows = started(manager, app(kafka.address, topic, f"{ALL}, ack = 'checkpoint'"))
    wait_until(lambda: len(rows) == 10)
    runtime.snapshot()
    assert kafka.committed(f"g-{topic}", topic) == {}
    runtime.persist()
    wait_until(lambda: kafka.committed(f"g-{topic}", topic) == {0: 10})
    kafka.produce(topic, texts(5, 10))
    wait_until(lambda: len(rows) == 15)
    runtime.shutdown()
    assert kafka.committed(f"g-{topic}", topic) == {0: 10}


def test_offsets_are_not_committed_if_the_option_says_so(
    kafka: KafkaServer, topic: str, manager: SiddhiManager
) -> None:
    kafka.produce(topic, texts(10))
    runtime, rows = started(manager, app(kafka.address, topic, f"{ALL}, enable.offsets.commit = 'false'"))
    wait_until(lambda: len(rows) == 10)
    runtime.shutdown()
    assert kafka.committed(f"g-{topic}", topic) == {}


def test_synchronous_commits_come_before_the_next_batch(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "BATCH_SIZE", 1)
    kafka.produce(topic, texts(5))
    runtime = manager.create_siddhi_app_runtime(app(kafka.address, topic, f"{ALL}, enable.async.commit = 'false'"))
    seen = []
    runtime.add_callback(
        "S", lambda events: seen.append((events[0].data[2], kafka.committed(f"g-{topic}", topic).get(0, 0)))
    )
    runtime.start()
    wait_until(lambda: len(seen) == 5)
    assert seen == [(number, number) for number in range(5)]


@pytest.mark.parametrize("partitions", [GROUP, ALL])
def test_a_restore_reads_every_partition_from_the_snapshot(
    kafka: KafkaServer, topic: str, new_manager: ManagerMaker, partitions: str
) -> None:
    text = app(kafka.address, topic, partitions)
    for partition in range(3):
        kafka.produce(topic, texts(10), partition)
    runtime, rows = started(new_manager(), text)
    wait_until(lambda: len(rows) == 30)
    state = runtime.snapshot()
    for partition in range(4):
        kafka.produce(topic, texts(5, 10), partition)
    wait_until(lambda: len(rows) == 50)
    runtime.shutdown()
    again = new_manager().create_siddhi_app_runtime(text)
    later = collect(again, "S")
    again.restore(state)
    again.start()
    wait_until(lambda: len(later) == 20)
    again.shutdown()
    # In partition 3, too, which was empty at the snapshot and whose offset the group has committed since.
    assert sorted(later) == sorted(rows[30:])


def test_a_restore_while_running_receives_again(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    kafka.produce(topic, texts(10))
    runtime, rows = started(manager, app(kafka.address, topic))
    wait_until(lambda: len(rows) == 10)
    state = runtime.snapshot()
    kafka.produce(topic, texts(5, 10))
    wait_until(lambda: len(rows) == 15)
    runtime.restore(state)
    wait_until(lambda: len(rows) == 20)
    assert [row[0] for row in rows] == texts(15) + texts(5, 10)


def test_persisting_under_load_repeats_nothing(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    manager.set_persistence_store(InMemoryPersistenceStore())
    runtime, rows = started(manager, app(kafka.address, topic, f"{ALL}, ack = 'checkpoint'"))
    producing = threading.Thread(
        target=lambda: [kafka.produce(topic, texts(100, start)) for start in range(0, 2000, 100)]
    )
    producing.start()
    while producing.is_alive():
        runtime.persist()
    wait_until(lambda: len(rows) == 2000)
    assert [row[2] for row in rows] == list(range(2000))
    producing.join()


def test_the_last_messages_are_read_on_request(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    kafka.produce(topic, texts(10))
    runtime, rows = started(
        manager, app(kafka.address, topic, ", auto.offset.reset = 'latest', partition.no.list = '0'")
    )
    source = runtime._assembly.connectors.sources["S"][0].source
    wait_until(lambda: source._positions.offsets() == {(topic, 0): 10})
    kafka.produce(topic, texts(5, 10))
    wait_until(lambda: len(rows) == 5)
    assert [row[0] for row in rows] == texts(5, 10)


def test_reading_starts_at_the_given_offsets(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    for partition in (0, 1):
        kafka.produce(topic, texts(10), partition)
    options = f"{ALL}, topic.offsets.map = '{topic}=7, {topic}/1=9'"
    _, rows = started(manager, app(kafka.address, topic, options))
    wait_until(lambda: len(rows) == 4)
    assert sorted((p, o) for _, p, o in rows) == [(0, 7), (0, 8), (0, 9), (1, 9)]


def test_messages_that_were_deleted_before_they_were_read_are_reported(
    kafka: KafkaServer, topic: str, new_manager: ManagerMaker, caplog: pytest.LogCaptureFixture
) -> None:
    kafka.produce(topic, texts(10))
    runtime, rows = started(new_manager(), app(kafka.address, topic))
    wait_until(lambda: len(rows) == 10)
    state = runtime.snapshot()
    runtime.shutdown()
    kafka.produce(topic, ["x" * 900_000] * 8)
    again = new_manager().create_siddhi_app_runtime(app(kafka.address, topic))
    later = collect(again, "S")
    again.restore(state)
    again.start()
    wait_until(lambda: len(later) >= 5)
    again.shutdown()
    assert f"messages 10 to {later[0][2] - 1} were deleted before they were read" in caplog.text


def test_numbered_messages_are_processed_once(kafka: KafkaServer, topic: str, new_manager: ManagerMaker) -> None:
    kafka.produce(topic, ["a:1~one", "a:2~two", "a:1~one", "b:1~uno", "none", "a:2~two", "a:3~three"])
    text = app(kafka.address, topic, f"{ALL}, seq.enabled = 'true'")
    runtime, rows = started(new_manager(), text)
    wait_until(lambda: len(rows) == 4)
    wait_until(lambda: kafka.committed(f"g-{topic}", topic) == {0: 7})
    state = runtime.snapshot()
    runtime.shutdown()
    kafka.produce(topic, ["a:3~three", "a:4~four"])
    again = new_manager().create_siddhi_app_runtime(text)
    later = collect(again, "S")
    again.restore(state)
    again.start()
    wait_until(lambda: later)
    assert [row[0] for row in rows + later] == ["one", "two", "uno", "three", "four"]


def test_a_message_without_content_and_a_malformed_one_are_passed_over(
    kafka: KafkaServer, topic: str, manager: SiddhiManager
) -> None:
    kafka.produce(topic, ["a", None, b"\xff\xfe", "b"])
    _, rows = started(manager, app(kafka.address, topic))
    wait_until(lambda: len(rows) == 2)
    assert [(row[0], row[2]) for row in rows] == [("a", 0), ("b", 3)]
    wait_until(lambda: kafka.committed(f"g-{topic}", topic) == {0: 4})


def test_a_slow_app_pauses_the_partitions(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(reader, "_POLL_SECONDS", 0.01)
    kafka.produce(topic, texts(3000))
    runtime = manager.create_siddhi_app_runtime(app(kafka.address, topic, f"{ALL}, buffer.payloads = '10'"))
    rows = collect(runtime, "S")
    goes_on = threading.Event()
    runtime.add_callback("S", lambda _: goes_on.wait(WAIT))
    runtime.start()
    source = runtime._assembly.connectors.sources["S"][0].source
    wait_until(lambda: source._readers[0]._is_paused)
    assert len(rows) <= 10
    assert len(source._waiting) <= 10
    kafka.produce(topic, texts(10, 3000))
    goes_on.set()
    wait_until(lambda: len(rows) == 3010)
    assert [row[2] for row in rows] == list(range(3010))


def test_partitions_move_between_members_without_a_loss(
    kafka: KafkaServer, topic: str, new_manager: ManagerMaker
) -> None:
    first, one = started(new_manager(), app(kafka.address, topic, GROUP, name="One"))
    done = threading.Event()

    def produce() -> None:
        number = 0
        while not done.wait(0.01):
            for partition in range(4):
                kafka.produce(topic, texts(5, number), partition)
            number += 5

    producing = threading.Thread(target=produce)
    producing.start()
    wait_until(lambda: len(one) > 20)
    second, two = started(new_manager(), app(kafka.address, topic, GROUP, name="Two"))
    wait_until(lambda: len(two) > 20)
    second.shutdown()
    count = len(one)
    wait_until(lambda: len({row[1] for row in one[count:]}) == 4)
    done.set()
    producing.join()
    sent = {(partition, offset) for partition, end in kafka.ends(topic).items() for offset in range(end)}
    # The mock cluster refuses commits while it waits for members, so that the new owner repeats some.
    wait_until(lambda: {(p, o) for _, p, o in one + two} == sent)
    first.shutdown()


def test_lost_connections_lose_and_repeat_nothing(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    with kafka_proxy(kafka) as proxy:
        address = f"127.0.0.1:{proxy.port}"
        options = f"{ALL}, optional.configuration = 'reconnect.backoff.ms:10,reconnect.backoff.max.ms:50,fetch.wait.max.ms:20,fetch.error.backoff.ms:20,retry.backoff.ms:20'"
        runtime, rows = started(manager, app(address, topic, options))
        for number in range(FAULTS):
            kafka.produce(topic, texts(50, 50 * number))
            wait_until(lambda number=number: len(rows) > 50 * number)
            proxy.refuse() if number % 2 else proxy.drop()
            proxy.accept()
        wait_until(lambda: len(rows) == 50 * FAULTS)
        runtime.shutdown()
    assert [row[2] for row in rows] == list(range(50 * FAULTS))
    assert proxy.connected > FAULTS


@pytest.mark.parametrize("mode", ["processed", "checkpoint"])
def test_a_killed_consumer_loses_nothing(kafka: KafkaServer, topic: str, tmp_path: Path, mode: str) -> None:
    consumer = KilledConsumer(app(kafka.address, topic, f"{ALL}, ack = '{mode}'", name="Killed"), tmp_path)
    sent = 0
    try:
        for _ in range(ROUNDS):
            consumer.start()
            seen = len(consumer.lines)
            for _ in range(5):
                kafka.produce(topic, texts(100, sent))
                sent += 100
            wait_until(lambda seen=seen: len(consumer.lines) > seen + 50)
            consumer.kill()
        consumer.start()
        wait_until(lambda: {line.split()[2] for line in consumer.lines} == set(texts(sent)))
    finally:
        consumer.kill()


def test_a_source_waits_for_brokers_that_start_later(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "TIMEOUT_SECONDS", 0.2)
    kafka.produce(topic, texts(3))
    with kafka_proxy(kafka) as proxy:
        proxy.refuse()
        runtime, rows = started(manager, app(f"127.0.0.1:{proxy.port}", topic))
        monkeypatch.setattr(reader, "TIMEOUT_SECONDS", 10)
        proxy.accept()
        wait_until(lambda: len(rows) == 3)
        runtime.shutdown()


def test_a_listed_partition_that_is_missing_is_waited_for(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, caplog: pytest.LogCaptureFixture
) -> None:
    started(manager, app(kafka.address, topic, ", partition.no.list = '7'"))
    assert f"the topic '{topic}' has no partition 7; reconnecting in" in caplog.text


def test_an_app_starts_and_stops_without_a_trace(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    threads = set(threading.enumerate())
    runtime = manager.create_siddhi_app_runtime(app(kafka.address, topic))
    rows = collect(runtime, "S")
    for number in range(3):
        runtime.start()
        kafka.produce(topic, texts(2))
        wait_until(lambda number=number: len(rows) == 2 * number + 2)
        runtime.shutdown()
    assert set(threading.enumerate()) <= threads
    assert [row[2] for row in rows] == list(range(6))


def test_the_lag_is_known(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    kafka.produce(topic, texts(100))
    runtime, rows = started(manager, app(kafka.address, topic))
    wait_until(lambda: len(rows) == 100)
    source = runtime._assembly.connectors.sources["S"][0].source
    wait_until(lambda: source.lag == 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (", threading.option = 'many'", "one of single.thread, topic.wise, partition.wise"),
        (", threading.option = 'partition.wise'", "'partition.no.list' beside partition.wise"),
        (", partition.no.list = '0,x'", "numbers of partitions"),
        (", topic.offsets.map = 'other=1'", "topic=offset or topic/partition=offset of the topics"),
        (", start.timestamp = 'yesterday'", "a time such as"),
        (", start.timestamp = '5', topic.offsets.map = 'T=1'", "no 'topic.offsets.map' beside it"),
        (", auto.offset.reset = 'none'", "one of earliest, latest"),
        (", ack = 'received'", "one of processed, checkpoint"),
        (", optional.configuration = 'no.such.setting:1'", 'No such configuration property: "no.such.setting"'),
        (", optional.configuration = 'session.timeout.ms:soon'", "session.timeout.ms"),
        (", optional.configuration = 'sasl.jaas.config:x'", "the option 'sasl.mechanism', 'sasl.username' and"),
        (", optional.configuration = 'plugin.library.paths:x'", "it loads code into the process"),
        (", optional.configuration = 'bootstrap.servers:x'", "the option 'bootstrap.servers' instead of"),
        (", sasl.mechanism = 'PLAIN', sasl.username = 'u'", "requires the option 'sasl.password'"),
        (", sasl.mechanism = 'PLAIN', security.protocol = 'ssl'", "sasl_plaintext or sasl_ssl"),
        (", tls.ca.file = '/nowhere.jks'", "a PEM file; convert a key store of Java"),
        (", tls.verify = 'false', security.protocol = 'plaintext'", "ssl or sasl_ssl beside the options 'tls.*'"),
    ],
)
def test_invalid_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError) as found:
        manager.create_siddhi_app_runtime(app("127.0.0.1:1", "T", options))
    assert message in str(found.value)


def test_settings_of_java_are_understood(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    options = (
        ", optional.configuration = 'enable.auto.commit:true,max.poll.records:7,key.deserializer:x,fetch.min.bytes:1'"
    )
    runtime = manager.create_siddhi_app_runtime(app(kafka.address, topic, options))
    source = runtime._assembly.connectors.sources["S"][0].source
    assert source.buffer_size == 7
    assert source._settings["enable.auto.commit"] is False
