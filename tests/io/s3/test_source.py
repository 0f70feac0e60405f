"""Objects that the source reads: order, new and replaced ones, positions, actions, refused options."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("boto3", reason="the extra 'aws' is not installed")
pytest.importorskip("moto", reason="moto is not installed")

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.io.s3 import source as s3_source
from siddhi.io.s3.finished import Finished, Listed
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from siddhi.testing.connectors import SourceSuite
from tests.io.test_tcp import wait_for
from tests.kit.faults import kill_under_load
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.aws import BUCKET_OPTIONS, Bucket, endpoint

POLL = "polling.interval = '10 millisec'"


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


def source(bucket: str, more: str = "", attributes: str = "", stream: str = "s string") -> str:
    options = f"type = 's3', bucket.name = '{bucket}', {BUCKET_OPTIONS}, endpoint.url = '{endpoint()}', {POLL}"
    return (
        f"@app:name('In') @source({options}{more and ', '}{more}, @map(type = 'text', fail.on.missing.attribute = 'false', "
        f"regex.A = '(?s)(.*)', @attributes(s = 'A[1]'{attributes}))) define stream S ({stream});"
    )


def started(manager: SiddhiManager, app: str) -> tuple[SiddhiAppRuntime, list[Any]]:
    runtime = manager.create_siddhi_app_runtime(app)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def texts(rows: list[Any]) -> list[str]:
    return [row[0] for row in rows]


class TestSuite(SourceSuite):
    delivery = "at least once"
    is_durable = True
    count: ClassVar[int] = 20

    @pytest.fixture(autouse=True)
    def _bucket(self, bucket: Bucket) -> Iterator[None]:
        self.bucket, self.number = bucket, 0
        with FaultProxy(int(endpoint().rpartition(":")[2])) as self.proxy:
            self.options = (
                f"type = 's3', bucket.name = '{bucket.name}', {BUCKET_OPTIONS}, {POLL}, "
                f"endpoint.url = 'http://127.0.0.1:{self.proxy.port}'"
            )
            yield

    def send(self, payloads: Sequence[str | bytes]) -> None:
        lines = [payload if isinstance(payload, str) else payload.decode() for payload in payloads]
        for at in range(0, len(lines), 5):
            self.number += 1
            self.bucket.put(f"in/{self.number:06d}", "\n".join(lines[at : at + 5]))

    def break_connection(self) -> None:
        self.proxy.refuse()
        self.proxy.accept()


@pytest.mark.parametrize(
    ("options", "content", "expected"),
    [
        ("", "1\r\n\n2\nlast", [("1", "false"), ("2", "false"), ("last", "true")]),
        ("header.present = 'true'", "name\n1\n", [("1", "true")]),
        ("mode = 'regex', begin.regex = '<'", "x<1\n<2\n", [("<1\n", "false"), ("<2\n", "true")]),
        ("mode = 'text.full'", "1\n2\n", [("1\n2\n", "true")]),
    ],
)
def test_modes_cut_an_object_into_payloads(
    manager: SiddhiManager, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, options: str, content: str, expected: Any
) -> None:
    monkeypatch.setattr(s3_source, "_BLOCK", 2)
    bucket.put("in/a", content)
    more = f"object.prefix = 'in/'{options and ', '}{options}"
    names = ", e = 'trp:eof', k = 'trp:object.key'"
    _, rows = started(manager, source(bucket.name, more, names, "s string, e string, k string"))
    wait_for(lambda: len(rows) == len(expected))
    assert rows == [(*row, "in/a") for row in expected]


def test_new_keys_in_any_order_and_replaced_objects_are_read(manager: SiddhiManager, bucket: Bucket) -> None:
    for key in ("in/b.txt", "in/c.txt", "in/c.tmp", "other"):
        bucket.put(key, key)
    bucket.put("in/empty.txt", "")
    _, rows = started(manager, source(bucket.name, "object.prefix = 'in/', object.suffix = '.txt'"))
    wait_for(lambda: len(rows) == 2)
    bucket.put("in/a.txt", "below")
    wait_for(lambda: len(rows) == 3)
    bucket.put("in/b.txt", "replaced")
    wait_for(lambda: len(rows) == 4)
    assert texts(rows) == ["in/b.txt", "in/c.txt", "below", "replaced"]


def test_a_restore_goes_on_in_the_middle_of_an_object(
    manager: SiddhiManager, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_source, "_BLOCK", 7)
    bucket.put("b", "".join(f"{number}\n" for number in range(100)))
    bucket.put("c", "100\n101\n")
    app = source(bucket.name, "buffer.payloads = '3'")
    runtime = manager.create_siddhi_app_runtime(app)
    first: list[str] = []
    reached, goes = threading.Event(), threading.Event()

    def take(events: Any) -> None:
        first.extend(event.data[0] for event in events)
        if len(first) == 42:
            reached.set()
            goes.wait(10)

    runtime.add_callback("S", take)
    runtime.start()
    assert reached.wait(10)
    (one,) = runtime.sources["S"]
    one.is_paused = True  # after the payload that is being processed
    goes.set()
    runtime.persist()
    runtime.shutdown()
    assert len(first) == 42
    bucket.put("a", "new below\n")
    again = manager.create_siddhi_app_runtime(app)
    rows = collect(again, "S")
    again.restore_last_revision()
    again.start()
    wait_for(lambda: len(rows) == 61)
    assert first + texts(rows) == [*map(str, range(100)), "new below", "100", "101"]


def test_an_object_that_was_replaced_is_read_from_its_beginning(
    manager: SiddhiManager, bucket: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    bucket.put("a", "1\n2\n")
    app = source(bucket.name)
    runtime, rows = started(manager, app)
    wait_for(lambda: len(rows) == 2)
    (one,) = runtime.sources["S"]
    key, etag, _, _, number = one.position
    runtime.shutdown()
    bucket.put("a", "3\n4\n")
    again = manager.create_siddhi_app_runtime(app)
    more = collect(again, "S")
    again.sources["S"][0].restore({"position": [key, etag, 2, False, number], "mark": "", "objects": {}})
    again.start()
    wait_for(lambda: len(more) == 2)
    assert texts(more) == ["3", "4"]
    assert "'a' was replaced or removed before its end was read" in caplog.text


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ("action.after.process = 'delete'", {}),
        ("action.after.process = 'move', move.after.process = 'in/done/'", {"in/done/a": b"1", "in/done/b": b"2"}),
    ],
)
def test_processed_objects_are_deleted_or_moved(
    manager: SiddhiManager, bucket: Bucket, options: str, left: dict[str, bytes]
) -> None:
    bucket.put("in/a", "1")
    bucket.put("in/b", "2")
    _, rows = started(manager, source(bucket.name, f"object.prefix = 'in/', {options}"))
    wait_for(lambda: bucket.keys() == list(left))
    assert bucket.contents() == left
    bucket.put("in/a", "1")  # the same content once more
    wait_for(lambda: len(rows) == 3)
    assert texts(rows) == ["1", "2", "1"]


def test_a_checkpoint_comes_before_the_action(manager: SiddhiManager, bucket: Bucket) -> None:
    bucket.put("a", "1")
    app = source(bucket.name, "action.after.process = 'delete', ack = 'checkpoint'")
    runtime, rows = started(manager, app)
    wait_for(lambda: len(rows) == 1)
    bucket.put("b", "2")
    wait_for(lambda: len(rows) == 2)  # the next listing was done
    assert bucket.keys() == ["a", "b"]
    runtime.persist()
    wait_for(lambda: bucket.keys() == [])
    bucket.put("c", "3")
    wait_for(lambda: len(rows) == 3)
    runtime.persist()
    runtime.shutdown()


def test_an_action_that_a_crash_prevented_is_made_up_for(manager: SiddhiManager, bucket: Bucket) -> None:
    bucket.put("a", "1")
    runtime, rows = started(manager, source(bucket.name, "action.after.process = 'delete', ack = 'checkpoint'"))
    wait_for(lambda: len(rows) == 1)
    state = runtime.sources["S"][0].snapshot()
    runtime.shutdown()
    again = manager.create_siddhi_app_runtime(source(bucket.name, "action.after.process = 'delete'"))
    more = collect(again, "S")
    again.sources["S"][0].restore(state)
    again.start()
    wait_for(lambda: bucket.keys() == [])
    assert more == []


def test_a_killed_consumer_loses_nothing(bucket: Bucket, tmp_path: Path) -> None:
    def publish(numbers: Iterable[int]) -> None:
        lines = [f"{number}\n" for number in numbers]
        bucket.put(f"in/{int(lines[0]):09d}", "".join(lines))

    more = "buffer.payloads = '20', action.after.process = 'delete', ack = 'checkpoint'"
    app = source(bucket.name, more, "", "v string")
    app = app.replace("@app:name('In')", "").replace("stream S", "stream In").replace("(s = ", "(v = ")
    received, published, counted = kill_under_load(app, tmp_path, publish, value="convert(v, 'long')", counts_all=True)
    assert set(received) == set(range(published))
    assert counted == published  # the state has each of them once
    assert len(bucket.keys()) < published // 200  # the processes have deleted some


def test_an_object_whose_only_payload_can_not_be_mapped_is_kept(manager: SiddhiManager, bucket: Bucket) -> None:
    options = f"type = 's3', bucket.name = '{bucket.name}', {BUCKET_OPTIONS}, endpoint.url = '{endpoint()}', {POLL}"
    runtime = manager.create_siddhi_app_runtime(
        f"@source({options}, mode = 'text.full', action.after.process = 'delete', @map(type = 'json')) "
        "define stream S (n int);"
    )
    bucket.put("a", "no JSON")
    bucket.put("b", '{"event": {"n": 1}}')
    rows = collect(runtime, "S")
    runtime.start()
    wait_for(lambda: bucket.keys() == ["a"])
    assert rows == [(1,)]
    assert runtime.connectors()[0].failures == 1


def test_keys_up_to_the_mark_count_as_read() -> None:
    finished = Finished(2)
    for key in ("b", "d", "c"):
        finished.add(Listed(key, "1", 1), acts=False)
    assert finished.mark == "b"
    assert all(finished.has(Listed(key, "1", 1)) for key in "abcd")
    assert not finished.has(Listed("c", "2", 1))
    assert not finished.has(Listed("bb", "1", 1))
    again = Finished(2)
    again.load(finished.state())
    again.keep({"d"})
    assert again.state() == {"mark": "b", "objects": {"d": ["1", False]}}
    again.add(Listed("bb", "1", 1), acts=True)
    again.add(Listed("e", "1", 1), acts=False)
    assert (again.mark, again.needs_action(Listed("bb", "1", 1))) == ("bb", False)


@pytest.mark.parametrize(
    ("options", "attributes"),
    [
        ("mode = 'binary.chunked'", ""),
        ("begin.regex = 'x'", ""),
        ("action.after.process = 'move'", ""),
        ("move.after.process = 'x'", ""),
        ("object.prefix = 'in/', action.after.process = 'move', move.after.process = 'i'", ""),
        ("remembered.objects = '0'", ""),
        ("", ", k = 'trp:key'"),
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, options: str, attributes: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(
            source("bucket", options, attributes, "s string, k string" if attributes else "s string")
        )
    assert caught.value.code == "E326"
