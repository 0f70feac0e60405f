"""Scrapes: samples of each type, filters, changes, restores, failures of the target, refused options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="the extra 'prometheus' is not installed")
pytest.importorskip("prometheus_summary", reason="the extra 'prometheus' is not installed")
pytest.importorskip("httpx2", reason="the extra 'prometheus' is not installed")

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from tests.io.test_tcp import wait_for
from tests.kit.running import collect
from tests.kit.servers.prometheus import CONTENT, Target


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made


def text(url: str, options: str, stream: str = "value double") -> str:
    return (
        f"@app:name('In') @source(type = 'prometheus', target.url = '{url}', scrape.interval = '10 ms', {options}, "
        f"@map(type = 'keyvalue')) define stream S ({stream});"
    )


def started(
    manager: SiddhiManager, app: str, *, restores: bool = False
) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(app)
    rows = collect(runtime, "S")
    if restores:
        runtime.restore_last_revision()
    runtime.start()
    return runtime, rows


LOAD = "metric.name = 'load', metric.type = 'gauge'"


@pytest.mark.parametrize(
    ("options", "stream", "expected"),
    [
        (LOAD, "cpu string, help string, value double", [("0", "the load", 1.5), ("1", "the load", 2.5)]),
        (f"{LOAD}, job = 'b'", "metric_name string, metric_type string, value double", [("load", "gauge", 2.5)]),
        (f"{LOAD}, grouping.key = 'cpu:0'", "subtype string, value double", [("null", 1.5)]),
        ("metric.name = 'calls', metric.type = 'counter'", "value double", [(7.0,)]),
        ("metric.name = 'calls_total', metric.type = 'counter'", "value double", [(7.0,)]),
        (
            "metric.name = 'time', metric.type = 'histogram'",
            "subtype string, value double",
            [("bucket", 1.0), ("bucket", 2.0), ("sum", 3.5), ("count", 2.0)],
        ),
        (
            "metric.name = 'size', metric.type = 'summary'",
            "subtype string, value double",
            [("null", 4.0), ("sum", 8.0), ("count", 2.0)],
        ),
    ],
)
def test_each_sample_of_the_metric_is_an_event(
    manager: SiddhiManager, target: Target, options: str, stream: str, expected: list[Any]
) -> None:
    _, rows = started(manager, text(target.url, options, stream))
    wait_for(lambda: len(rows) >= len(expected))
    assert rows == expected


def test_samples_are_delivered_when_the_answer_changes(manager: SiddhiManager, target: Target) -> None:
    _, rows = started(manager, text(target.url, f"{LOAD}, job = 'a'"))
    target.scraped()
    target.content = CONTENT.replace("1.5", "1.75")
    target.scraped()
    wait_for(lambda: len(rows) == 2)
    assert rows == [(1.5,), (1.75,)]


def test_a_restore_knows_the_last_answer(manager: SiddhiManager, target: Target) -> None:
    runtime, rows = started(manager, text(target.url, f"{LOAD}, job = 'a'"))
    wait_for(lambda: rows)
    runtime.persist()
    runtime.shutdown()
    runtime, rows = started(manager, text(target.url, f"{LOAD}, job = 'a'"), restores=True)
    target.scraped()
    assert rows == []
    target.content += "\n"
    wait_for(lambda: rows)


def test_a_target_that_fails_is_scraped_again(
    manager: SiddhiManager, target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    target.status = 500
    _, rows = started(manager, text(target.url, f"{LOAD}, job = 'a'"))
    wait_for(lambda: "status 500" in caplog.text)
    target.content, target.status = "# TYPE load gauge\nload{ 1", 200
    wait_for(lambda: "something else than metrics" in caplog.text)
    target.content = CONTENT
    wait_for(lambda: rows)


def test_a_metric_that_is_not_there_is_logged_once(
    manager: SiddhiManager, target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    _, rows = started(manager, text(target.url, "metric.name = 'load', metric.type = 'counter'"))
    for _ in range(3):
        target.scraped()
        target.content += "\n"
    assert caplog.text.count("has no counter 'load'") == 1
    assert rows == []


def test_a_paused_source_does_not_scrape(manager: SiddhiManager, target: Target) -> None:
    runtime, rows = started(manager, text(target.url, f"{LOAD}, job = 'a'"))
    wait_for(lambda: rows)
    (source,) = runtime.sources["S"]
    source.pause()
    target.content += "\n"
    assert len(rows) == 1
    source.resume()
    wait_for(lambda: len(rows) == 2)


def test_headers_and_credentials_are_sent(manager: SiddhiManager, target: Target) -> None:
    options = f"{LOAD}, headers = 'X-Scope:a', username = 'u', password = 'p'"
    started(manager, text(target.url, options))
    assert target.headers["X-Scope"] == "a"
    assert target.headers["Authorization"] == "Basic dTpw"


@pytest.mark.parametrize(
    "options",
    [
        "metric.type = 'timer'",
        f"{LOAD}, scheme = 'https'",
        f"{LOAD}, scrape.interval2 = 'a', scrape.timeout = 'soon'",
        f"{LOAD}, password = 'p'",
        f"{LOAD}, client.truststore.file = 'a.jks'",
        f"{LOAD}, tls.ca.file = 'nothing.pem'",
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, options: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(text("http://host/metrics", options))
    assert caught.value.code == "E326"
