"""What tests of faults have in common: a sender that counts, and a consumer that is killed under load."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from siddhi import SiddhiManager
from tests.kit.killed_consumer import ROUNDS, KilledConsumer
from tests.kit.running import collect
from tests.kit.waiting import wait_until

__all__ = ["CountingSender", "kill_under_load"]


class CountingSender:
    """Sends 0, 1, 2, … to the stream ``O`` of an app, in a thread; a context manager that ends with the app shut down.

    Attributes:
        sent: how many numbers were sent.
        failed: the events of the fault stream of ``O``: what the app reports as not published.
    """

    def __init__(self, manager: SiddhiManager, app: str, pause: float = 0.0005) -> None:
        self.runtime = manager.create_siddhi_app_runtime(app)
        self.failed = collect(self.runtime, "!O")
        self.sent = 0
        self._pause = pause
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._send)

    @property
    def reported(self) -> set[int]:
        """The numbers that the app reports as not published."""
        return {row[0] for row in self.failed}

    def _send(self) -> None:
        handler = self.runtime.input_handler("O")
        while not self._stopped.wait(self._pause):
            handler.send((self.sent,))
            self.sent += 1

    def __enter__(self) -> CountingSender:
        self.runtime.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self.runtime.shutdown()


def kill_under_load(
    app: str,
    folder: Path,
    publish: Callable[[Iterable[int]], None],
    *,
    value: str = "v",
    batch: int = 200,
    counts_all: bool = False,
) -> tuple[list[int], int, int]:
    """Kill the process of an app with SIGKILL while it processes numbers; end when it has received all of them.

    Args:
        app: has a source that fills the stream ``In``.
        folder: where states and output are kept.
        publish: publishes numbers for the source; the source is subscribed.
        value: the attribute of ``In`` with the number.
        batch: how many numbers are published at once; five times as many for each process.
        counts_all: wait also until the events in the state are as many: a process that was killed may have received the last
            number, and its successor has to receive it again.

    Returns:
        The numbers that all processes have received, how many were published, and how many events are in the state.
    """
    name = "" if "@app:name" in app else "@app:name('Killed')"
    text = f"{name} {app} from In select {value} as v, count() as n insert into S;"
    consumer, total = KilledConsumer(text, folder), 0
    try:
        for _ in range(ROUNDS):
            enough = len(consumer.lines) + random.randrange(batch // 2, 9 * batch // 2)
            consumer.start()
            for _ in range(5):
                publish(range(total, total + batch))
                total += batch
            wait_until(lambda enough=enough: len(consumer.lines) >= enough)  # type: ignore[misc]
            consumer.kill()
        consumer.start()
        wait_until(lambda: len({line.split()[0] for line in consumer.lines}) == total)
        if counts_all:
            wait_until(lambda: int(consumer.lines[-1].split()[1]) >= total)
    finally:
        consumer.kill()
    lines = [line.split() for line in consumer.lines]
    return [int(line[0]) for line in lines], total, int(lines[-1][1])
