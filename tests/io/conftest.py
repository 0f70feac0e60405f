from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from siddhi import SiddhiManager
from siddhi.runtime.connectors import retry
from tests.kit.certificates import Certificates, make_certificates


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates of an authority, a server ``localhost`` and a client."""
    pytest.importorskip("trustme")
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def thread_names() -> Callable[[], list[str]]:
    """The function returns the names of the running threads, without those of the tests themselves."""
    import threading

    return lambda: sorted(
        thread.name for thread in threading.enumerate() if thread.name.startswith(("siddhi", "asyncio"))
    )


@pytest.fixture
def new_manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], SiddhiManager]]:
    """Makes managers, whose apps are shut down at the end."""
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    made: list[SiddhiManager] = []

    def make() -> SiddhiManager:
        made.append(SiddhiManager())
        return made[-1]

    yield make
    for manager in made:
        manager.shutdown()


@pytest.fixture
def manager(new_manager: Callable[[], SiddhiManager]) -> SiddhiManager:
    return new_manager()
