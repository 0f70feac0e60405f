from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.runtime.connectors import retry
from tests.kit.http import free_port
from tests.kit.running import collect

pytest.importorskip("httptools")
pytest.importorskip("aiohttp")

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[object, ...]]]]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        yield made


@pytest.fixture
def start(manager: SiddhiManager) -> Start:
    """Start an app; return it, and the rows of one of its streams."""

    def begin(text: str, stream: str = "S") -> tuple[SiddhiAppRuntime, list[tuple[object, ...]]]:
        runtime = manager.create_siddhi_app_runtime(text)
        rows = collect(runtime, stream)
        runtime.start()
        return runtime, rows

    return begin
