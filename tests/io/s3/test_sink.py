"""Objects that the sink writes: names, restores, failures, refused options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

pytest.importorskip("boto3", reason="the extra 'aws' is not installed")
pytest.importorskip("moto", reason="moto is not installed")

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from siddhi.testing.connectors import SinkSuite
from tests.io.test_tcp import wait_for
from tests.kit.proxy import FaultProxy
from tests.kit.servers.aws import BUCKET_OPTIONS, Bucket, endpoint


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made


def sink(bucket: str, more: str = "object.path = 'out'", url: str = "", before: str = "") -> str:
    return (
        f"@app:name('Out') {before} @sink(type = 's3', bucket.name = '{bucket}', {BUCKET_OPTIONS}, "
        f"endpoint.url = '{url or endpoint()}', {more}, @map(type = 'text', @payload('{{{{n}}}}'))) "
        "define stream S (n string, g string);"
    )


def started(manager: SiddhiManager, app: str) -> SiddhiAppRuntime:
    runtime = manager.create_siddhi_app_runtime(app)
    runtime.start()
    return runtime


def send(runtime: SiddhiAppRuntime, *texts: str, group: str = "") -> None:
    for text in texts:
        runtime.input_handler("S").send((text, group))


class TestSuite(SinkSuite):
    is_confirmed = True
    count: ClassVar[int] = 30

    @pytest.fixture(autouse=True)
    def _bucket(self) -> Iterator[None]:
        self.bucket = Bucket()
        with FaultProxy(int(endpoint().rpartition(":")[2])) as self.proxy:
            self.options = (
                f"type = 's3', bucket.name = '{self.bucket.name}', {BUCKET_OPTIONS}, object.path = 'out', "
                f"endpoint.url = 'http://127.0.0.1:{self.proxy.port}'"
            )
            yield

    def received(self) -> list[str | bytes]:
        return list(self.bucket.contents().values())

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()


def test_keys_are_numbered_in_the_order_of_the_payloads(manager: SiddhiManager) -> None:
    bucket = Bucket()
    more = "object.path = '{{g}}/', object.suffix = '.txt', node.id = 'n1', concurrency = '4'"
    runtime = started(manager, sink(bucket.name, more))
    send(runtime, *map(str, range(20)), group="a/b")
    send(runtime, "20", group="c")
    runtime.shutdown()
    found = bucket.contents()
    assert list(found.values()) == [str(number).encode() for number in range(21)]
    runs = {key.rpartition("/")[2].split("-")[1] for key in found}
    assert len(runs) == 1
    assert list(found) == [
        f"{'a/b' if number < 21 else 'c'}/n1-{next(iter(runs))}-{number:012d}.txt" for number in range(1, 22)
    ]


def test_what_is_sent_again_after_a_restore_overwrites(manager: SiddhiManager) -> None:
    bucket = Bucket()
    runtime = started(manager, sink(bucket.name))
    send(runtime, "1", "2")
    runtime.persist()
    send(runtime, "3", "4")
    runtime.shutdown()  # as a crash: without saving
    first = bucket.contents()
    again = manager.create_siddhi_app_runtime(sink(bucket.name))
    again.restore_last_revision()
    again.start()
    send(again, "3", "4", "5")
    again.shutdown()
    second = bucket.contents()
    assert list(second.values()) == [b"1", b"2", b"3", b"4", b"5"]
    assert list(second)[:4] == list(first)


def test_what_waits_in_a_snapshot_keeps_its_number(manager: SiddhiManager) -> None:
    bucket = Bucket()
    with FaultProxy(int(endpoint().rpartition(":")[2])) as proxy:
        app = sink(bucket.name, "object.path = 'a', on.error = 'WAIT'", f"http://127.0.0.1:{proxy.port}")
        runtime = started(manager, app)
        send(runtime, "1")
        wait_for(lambda: runtime.connectors()[0].payloads == 1)
        proxy.refuse()
        send(runtime, "2", "3")
        runtime.persist()
        send(runtime, "4")
        proxy.accept()
        runtime.shutdown()
        first = bucket.contents()
        assert list(first.values()) == [b"1", b"2", b"3", b"4"]
        again = manager.create_siddhi_app_runtime(app)
        again.restore_last_revision()
        again.start()
        send(again, "4", "5")
        again.shutdown()
    second = bucket.contents()
    assert list(second.values()) == [b"1", b"2", b"3", b"4", b"5"]
    assert list(second)[:4] == list(first)


def test_an_app_without_snapshot_overwrites_nothing(manager: SiddhiManager) -> None:
    bucket = Bucket()
    for text in "12":
        runtime = started(manager, sink(bucket.name))
        send(runtime, text)
        runtime.shutdown()
    assert list(bucket.contents().values()) == [b"1", b"2"]


def test_without_numbers_the_last_payload_stays(manager: SiddhiManager) -> None:
    bucket = Bucket()
    runtime = started(manager, sink(bucket.name, "object.path = 'last/{{g}}.txt', object.numbered = 'false'"))
    send(runtime, "1", "2", group="a")
    send(runtime, "3", group="b")
    runtime.shutdown()
    assert bucket.contents() == {"last/a.txt": b"2", "last/b.txt": b"3"}


def test_destinations_with_the_same_path_keep_all(manager: SiddhiManager) -> None:
    bucket = Bucket()
    distribution = (
        "@distribution(strategy = 'broadcast', @destination(object.path = 'a'), @destination(object.path = 'a'))"
    )
    app = sink(bucket.name, "content.type = 'text/plain'").replace("@map(", f"{distribution}, @map(")
    runtime = started(manager, app)
    send(runtime, "1", "2")
    runtime.shutdown()
    assert sorted(bucket.contents().values()) == [b"1", b"1", b"2", b"2"]


def test_type_class_and_versions_are_set(manager: SiddhiManager) -> None:
    bucket = Bucket()
    more = (
        "object.path = 'a', object.numbered = 'false', content.type = 'text/plain', storage.class = 'standard_ia', "
        "versioning.enabled = 'true'"
    )
    runtime = started(manager, sink(bucket.name, more))
    send(runtime, "1", "2")
    runtime.shutdown()
    found = bucket.client.get_object(Bucket=bucket.name, Key="a")
    assert (found["ContentType"], found["StorageClass"]) == ("text/plain", "STANDARD_IA")
    found["Body"].close()
    versions = bucket.client.list_object_versions(Bucket=bucket.name)["Versions"]
    assert len(versions) == 2


def test_failures_reach_on_error(manager: SiddhiManager) -> None:
    bucket = Bucket()
    with FaultProxy(int(endpoint().rpartition(":")[2])) as proxy:
        app = sink(
            bucket.name,
            "object.path = '{{g}}', on.error = 'STREAM'",
            f"http://127.0.0.1:{proxy.port}",
            "@OnError(action = 'STREAM')",
        )
        runtime = manager.create_siddhi_app_runtime(app)
        reported: list[Any] = []
        runtime.add_callback("!S", lambda events: reported.extend(event.data for event in events))
        runtime.start()
        send(runtime, "long", group="x" * 1100)
        wait_for(lambda: [row[0] for row in reported] == ["long"])
        proxy.refuse()
        send(runtime, "lost", group="a")
        wait_for(lambda: [row[0] for row in reported] == ["long", "lost"])
        proxy.accept()
        wait_for(lambda: runtime.connectors()[0].connected)
        send(runtime, "good", group="a")
        wait_for(lambda: list(bucket.contents().values()) == [b"good"])
        runtime.shutdown()


def test_a_bucket_that_does_not_exist_is_tried_again(manager: SiddhiManager, caplog: pytest.LogCaptureFixture) -> None:
    bucket = Bucket()
    bucket.client.delete_bucket(Bucket=bucket.name)
    runtime = started(manager, sink(bucket.name))
    wait_for(lambda: f"bucket '{bucket.name}'" in caplog.text)
    bucket.create()
    wait_for(lambda: runtime.connectors()[0].connected)
    send(runtime, "1")
    wait_for(lambda: list(bucket.contents().values()) == [b"1"])


def test_a_bucket_that_is_deleted_meanwhile_loses_nothing(manager: SiddhiManager) -> None:
    bucket = Bucket()
    runtime = started(manager, sink(bucket.name, "object.path = 'a', on.error = 'WAIT'"))
    bucket.client.delete_bucket(Bucket=bucket.name)
    send(runtime, "1", "2")
    wait_for(lambda: not runtime.connectors()[0].connected)
    bucket.create()
    wait_for(lambda: list(bucket.contents().values()) == [b"1", b"2"])


def test_threads_end_with_the_app(manager: SiddhiManager, thread_names: Callable[[], list[str]]) -> None:
    bucket, before = Bucket(), thread_names()
    for _ in range(3):
        started(manager, sink(bucket.name)).shutdown()
    assert thread_names() == before


@pytest.mark.parametrize(
    "more",
    [
        "content.type = 'text/plain'",
        "object.path = 'a', concurrency = '0'",
        "object.path = 'a', storage.class = 'wooden'",
        "object.path = 'a', bucket.acl = 'public-read'",
        "object.path = 'a', credential.provider.class = 'com.A'",
        "object.path = 'a', object.numbered = 'false', concurrency = '2'",
        "object.path = 'a', object.numbered = 'false', object.suffix = '.a'",
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, more: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(sink("b", more, "http://host"))
    assert caught.value.code == "E326"


def test_keys_belong_together_and_are_not_shown(manager: SiddhiManager) -> None:
    text = sink("b", url="http://host").replace("aws.access.key = 'test', ", "")
    with pytest.raises(SiddhiAppError, match=r"aws\.access\.key") as caught:
        manager.create_siddhi_app_runtime(text)
    assert "'test'" not in caught.value.message
