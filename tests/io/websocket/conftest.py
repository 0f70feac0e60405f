from __future__ import annotations

from collections.abc import Iterator

import pytest

from siddhi import SiddhiManager
from siddhi.runtime.connectors import retry
from tests.kit.event_loop import Loop, looping


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    """A manager whose connectors reconnect without long pauses."""
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        yield made


@pytest.fixture
def loop() -> Iterator[Loop]:
    with looping() as made:
        yield made
