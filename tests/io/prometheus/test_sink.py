"""Metrics of events: what they do to each type, the shared server, its access, pushes to a gateway and their failures."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="the extra 'prometheus' is not installed")
pytest.importorskip("prometheus_summary", reason="the extra 'prometheus' is not installed")
pytest.importorskip("httpx2", reason="the extra 'prometheus' is not installed")

from siddhi import SandboxPolicy, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.io.prometheus.exposition import Exposition
from siddhi.runtime.connectors import retry
from tests.io.test_tcp import wait_for
from tests.kit.certificates import Certificates
from tests.kit.proxy import FaultProxy
from tests.kit.servers.prometheus import Gateway


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    monkeypatch.setattr(Exposition, "_all", {})
    with SiddhiManager() as made:
        yield made


def text(options: str, *, app: str = "A", stream: str = "symbol string, value double", mapper: str = "keyvalue") -> str:
    options = f"metric.name = 'm', {options}"
    if "push.url" not in options and "server.url" not in options:
        options += ", server.url = 'http://127.0.0.1:0'"
    return (
        f"@app:name('{app}') @sink(type = 'prometheus', {options}, @map(type = '{mapper}')) define stream S ({stream});"
    )


def started(manager: SiddhiManager, app: str) -> SiddhiAppRuntime:
    runtime = manager.create_siddhi_app_runtime(app)
    runtime.start()
    return runtime


def send(runtime: SiddhiAppRuntime, *rows: tuple[Any, ...]) -> None:
    for row in rows:
        runtime.input_handler("S").send(row)


def port_of(runtime: SiddhiAppRuntime) -> int:
    (sink,) = runtime.sinks["S"]
    return sink.port  # type: ignore[attr-defined]


def scrape(runtime: SiddhiAppRuntime) -> list[str]:
    """The samples that are exposed, without comments."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port_of(runtime)}/metrics", timeout=10) as answer:
        return [line for line in answer.read().decode().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("metric.type = 'counter'", ['m_total{symbol="a"} 4.0', 'm_total{symbol="b"} 2.0']),
        ("metric.type = 'gauge'", ['m{symbol="a"} 3.0', 'm{symbol="b"} 2.0']),
        ("metric.type = 'summary'", ['m_count{symbol="a"} 2.0', 'm_sum{symbol="a"} 4.0']),
        ("metric.type = 'summary', quantiles = '0.5'", ['m{quantile="0.5",symbol="b"} 2.0']),
        (
            "metric.type = 'histogram', buckets = '1,2'",
            ['m_bucket{le="1.0",symbol="a"} 1.0', 'm_bucket{le="+Inf",symbol="a"} 2.0'],
        ),
    ],
)
def test_events_change_a_metric_by_its_type(manager: SiddhiManager, options: str, expected: list[str]) -> None:
    runtime = started(manager, text(options))
    send(runtime, ("a", 1.0), ("b", 2.0), ("a", 3.0))
    found = scrape(runtime)
    assert set(expected) <= set(found)
    assert not any("created" in line for line in found)


def test_metrics_have_types_and_help(manager: SiddhiManager) -> None:
    runtime = started(
        manager,
        text("metric.type = 'gauge', metric.help = 'what it is', value.attribute = 'price'", stream="price int"),
    )
    send(runtime, (7,))
    with urllib.request.urlopen(f"http://127.0.0.1:{port_of(runtime)}/", timeout=10) as answer:
        content = answer.read().decode()
    assert content == "# HELP m what it is\n# TYPE m gauge\nm 7.0\n"


def test_null_labels_are_empty_and_null_values_are_errors(
    manager: SiddhiManager, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = started(manager, text("metric.type = 'counter'"))
    send(runtime, (None, 1.0), ("a", None), ("a", -1.0), ("a", 2.0))
    assert scrape(runtime) == ['m_total{symbol=""} 1.0', 'm_total{symbol="a"} 2.0']
    assert "'value' is not a number: None" in caplog.text
    assert "can't be increased by -1.0" in caplog.text


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_sinks_share_servers_and_equal_metrics(manager: SiddhiManager) -> None:
    url = f", server.url = 'http://127.0.0.1:{free_port()}'"
    first = started(manager, text("metric.type = 'counter'" + url))
    second = started(manager, text("metric.type = 'counter'" + url, app="B"))
    send(first, ("a", 1.0))
    send(second, ("a", 2.0))
    assert scrape(first) == ['m_total{symbol="a"} 3.0']
    with pytest.raises(SiddhiAppError, match="defined in different ways"):
        started(manager, text("metric.type = 'gauge'" + url, app="C"))
    with pytest.raises(SiddhiAppError, match="different certificates or credentials"):
        started(manager, text("metric.type = 'counter', username = 'u', password = 'p'" + url, app="D"))
    first.shutdown()
    assert scrape(second) == ['m_total{symbol="a"} 3.0']


def test_a_metric_keeps_its_values_when_its_app_is_restarted(
    manager: SiddhiManager, thread_names: Callable[[], list[str]]
) -> None:
    before = thread_names()
    app = text(f"metric.type = 'counter', server.url = 'http://127.0.0.1:{free_port()}'")
    for number in range(1, 4):
        runtime = started(manager, app)
        send(runtime, ("a", 1.0))
        assert scrape(runtime) == [f'm_total{{symbol="a"}} {number}.0']
        runtime.shutdown()
    assert thread_names() == before


def test_an_address_in_use_is_tried_again(manager: SiddhiManager) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        runtime = started(manager, text(f"metric.type = 'gauge', server.url = 'http://127.0.0.1:{port}'"))
        assert port_of(runtime) is None
    wait_for(lambda: port_of(runtime) == port)


def test_metrics_are_exposed_with_tls_and_credentials(manager: SiddhiManager, certificates: Certificates) -> None:
    options = (
        f"metric.type = 'gauge', server.url = 'https://127.0.0.1:0', tls.certificate.file = '{certificates.server}', "
        f"tls.ca.file = '{certificates.authority}', username = 'reader', password = 'secret'"
    )
    runtime = started(manager, text(options))
    send(runtime, ("a", 1.0))
    url = f"https://localhost:{port_of(runtime)}/metrics"
    context = ssl.create_default_context(cafile=str(certificates.authority))
    context.load_cert_chain(certificates.client)
    request = urllib.request.Request(url, headers={"Authorization": "Basic cmVhZGVyOnNlY3JldA=="})
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:
        assert b'm{symbol="a"} 1.0' in answer.read()
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(url, timeout=10, context=context)
    assert caught.value.code == 401
    caught.value.close()
    stranger = ssl.create_default_context(cafile=str(certificates.authority))
    with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
        urllib.request.urlopen(request, timeout=10, context=stranger)


@pytest.mark.parametrize(
    ("options", "stream", "mapper"),
    [
        ("metric.type = 'timer'", "value int", "keyvalue"),
        ("metric.type = 'gauge'", "value int", "json"),
        ("metric.type = 'gauge'", "price int", "keyvalue"),
        ("metric.type = 'gauge'", "value string", "keyvalue"),
        ("metric.type = 'gauge'", "__a int, value int", "keyvalue"),
        ("metric.type = 'histogram'", "le int, value int", "keyvalue"),
        ("metric.type = 'gauge', buckets = '1,2'", "value int", "keyvalue"),
        ("metric.type = 'histogram', buckets = '2,1'", "value int", "keyvalue"),
        ("metric.type = 'summary', quantiles = '1.5'", "value int", "keyvalue"),
        ("metric.type = 'gauge', server.url = 'ftp://host'", "value int", "keyvalue"),
        ("metric.type = 'gauge', server.url = 'https://127.0.0.1:0'", "value int", "keyvalue"),
        ("metric.type = 'gauge', push.url = 'http://host:1'", "value int", "keyvalue"),
        ("metric.type = 'gauge', username = 'u'", "value int", "keyvalue"),
        ("metric.type = 'gauge', publish.mode = 'pushgateway', push.url = 'host:1'", "value int", "keyvalue"),
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, options: str, stream: str, mapper: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(text(options, stream=stream, mapper=mapper))
    assert caught.value.code == "E326"


# --- gateway


def pushing(url: str, more: str = "metric.type = 'counter'") -> str:
    return text(f"publish.mode = 'pushgateway', push.url = '{url}', {more}", stream="value int")


def test_each_event_is_pushed_to_its_group(manager: SiddhiManager, gateway: Gateway) -> None:
    more = "metric.type = 'counter', job = 'a/b', grouping.key = \"'env':'test'\"".replace(
        "\"'env':'test'\"", "'env:test'"
    )
    runtime = started(manager, pushing(gateway.url, f"{more}, username = 'u', password = 'p'"))
    send(runtime, (1,), (2,))
    wait_for(lambda: len(gateway.pushed) == 2)
    assert [method for method, _, _ in gateway.pushed] == ["POST", "POST"]
    assert gateway.pushed[0][1] == "/metrics/job@base64/YS9i/env/test"
    assert [content.splitlines()[-1] for _, _, content in gateway.pushed] == ["m_total 1.0", "m_total 3.0"]
    assert gateway.authorization == "Basic dTpw"
    runtime.shutdown()


def test_a_push_replaces_the_group(manager: SiddhiManager, gateway: Gateway) -> None:
    runtime = started(manager, pushing(gateway.url, "metric.type = 'gauge', push.operation = 'push'"))
    send(runtime, (1,))
    wait_for(lambda: gateway.pushed)
    assert gateway.pushed[0][:2] == ("PUT", "/metrics/job/siddhiJob")


def test_an_event_that_is_pushed_again_counts_once(manager: SiddhiManager, gateway: Gateway) -> None:
    runtime = started(
        manager, pushing(gateway.url, "metric.type = 'counter', on.error = 'WAIT', retry.initial = '10 ms'")
    )
    gateway.statuses = [503, 500, 503]
    send(runtime, (1,), (2,))
    wait_for(lambda: len(gateway.pushed) == 2)
    assert [content.splitlines()[-1] for _, _, content in gateway.pushed] == ["m_total 1.0", "m_total 3.0"]


def test_failures_of_pushes_reach_on_error(
    manager: SiddhiManager, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    with FaultProxy(gateway.server.server_port) as proxy:
        runtime = started(manager, pushing(f"http://127.0.0.1:{proxy.port}"))
        gateway.statuses = [400]
        send(runtime, (1,))
        wait_for(lambda: "rejects the metric" in caplog.text)
        proxy.refuse()
        send(runtime, (1,))
        wait_for(lambda: "can't be reached" in caplog.text)
        proxy.accept()
        wait_for(lambda: gateway.pushed or send(runtime, (1,)))
        runtime.shutdown()


@contextmanager
def real_gateway(folder: Path) -> Iterator[str]:
    program = shutil.which("prometheus-pushgateway") or shutil.which("pushgateway")
    if program is None:
        pytest.skip("no pushgateway is installed (Debian: prometheus-pushgateway)")
    port = free_port()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:

        def is_ready() -> bool:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=10).close()
            except OSError:
                return False
            return True

        wait_for(is_ready)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def test_a_real_gateway_exposes_what_is_pushed(manager: SiddhiManager, tmp_path: Path) -> None:
    with real_gateway(tmp_path) as url:
        runtime = started(manager, pushing(url))
        send(runtime, (1,), (2,))
        runtime.shutdown()
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
            assert 'm_total{instance="",job="siddhiJob"} 3' in answer.read().decode()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("publish.mode = 'pushgateway', server.url = 'http://ok:1'", "invalid option 'server.url'"),
        ("push.url = 'http://ok:1'", "invalid option 'push.url'"),
        ("publish.mode = 'pushgateway', push.url = 'http://no:1'", "the location in 'push.url'"),
        ("server.url = 'http://no:1'", "the location in 'server.url'"),
        ("publish.mode = 'pushgateway'", "without 'server.url' is not allowed"),
    ],
)
def test_a_policy_holds_in_both_modes(options: str, message: str):
    """The URL of the other mode does not replace that of the mode, whose default is not allowed."""
    app = f"@sink(type = 'prometheus', metric.type = 'gauge', {options}, @map(type = 'keyvalue')) define stream S (value int);"
    policy = SandboxPolicy(sinks={"prometheus": ("http://ok:1",)})
    with pytest.raises(SiddhiAppError, match=message):
        SiddhiManager().create_siddhi_app_runtime(app, policy=policy)
