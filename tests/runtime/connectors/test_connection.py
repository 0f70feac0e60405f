from __future__ import annotations

import threading
from collections.abc import Callable

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.connector import Connector
from siddhi.runtime.connectors.connection import Connection


class Unreachable(Connector):
    def connect(self) -> None:
        raise ConnectionUnavailableError("no route")


class Recorded:
    """Records the attempts that are scheduled."""

    def __init__(self) -> None:
        self.scheduled: list[Callable[[], None]] = []

    def after(self, seconds: float, attempt: Callable[[], None], jitter: float = 0.0) -> Callable[[], None]:
        self.scheduled.append(attempt)
        return lambda: None

    def wait(self, seconds: float, stopped: threading.Event) -> bool:
        return True


def test_a_failed_attempt_leaves_no_moment_for_a_second_one():
    retries = Recorded()
    connection = Connection(Unreachable(), "c", retries)
    failed = connection.failed

    def interleaved(error: BaseException, *, is_retried: bool = False) -> None:
        failed(error, is_retried=is_retried)
        connection.connect_later(ConnectionUnavailableError("another thread"))

    connection.failed = interleaved
    connection.connect_with_retry()
    for _ in range(3):
        (attempt,) = retries.scheduled
        retries.scheduled.clear()
        attempt()
    assert len(retries.scheduled) == 1
