from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kit.servers.prometheus import Gateway, Target


@pytest.fixture
def target() -> Iterator[Target]:
    made = Target()
    yield made
    made.server.shutdown()
    made.thread.join()
    made.server.server_close()


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway()
    yield made
    made.stop()
