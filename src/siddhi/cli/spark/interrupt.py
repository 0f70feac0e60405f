"""Ctrl-C while Spark works.

Spark's own handler calls the JVM in the middle of another call, which py4j does not support. Here a thread makes the calls, and
the main thread only waits: it handles Ctrl-C at once and is free to call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

__all__ = ["run_cancellable"]

_AGAIN = 0.2


def run_cancellable(work: Callable[[], None], cancel: Callable[[], None]) -> None:
    """Run a function in another thread, and wait for it.

    Args:
        work: the function.
        cancel: called here after Ctrl-C, repeatedly until the function has ended; its outcome is then ignored.

    Raises:
        KeyboardInterrupt: Ctrl-C came, and the function has ended since; a second one does not wait.
    """
    ended = threading.Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=run, name="siddhi-run", daemon=True)
    try:
        thread.start()
        while not ended.wait(_AGAIN):
            pass
    except KeyboardInterrupt:
        while thread.is_alive() and not ended.is_set():
            with suppress(Exception):  # the work may just have ended
                cancel()
            ended.wait(_AGAIN)
        raise
    if failed:
        raise failed[0]
