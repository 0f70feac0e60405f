"""Ctrl-C while Spark is at work.

Spark's own handler calls into the JVM from the midst of another call, which neither library stands. Here calls are made in
a thread of their own, and the main thread does nothing but wait: it hears Ctrl-C at once, and is free to call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

__all__ = ["run_cancellable"]

_AGAIN = 0.2


def run_cancellable(work: Callable[[], None], cancel: Callable[[], None]) -> None:
    """Do some work in another thread, and wait for it.

    Args:
        work: what is to be done.
        cancel: called after Ctrl-C, here, again and again until the work has ended; how it ended doesn't matter then.

    Raises:
        KeyboardInterrupt: Ctrl-C came, and the work has ended since; a second one does not wait for that.
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
            with suppress(Exception):  # what is to be cancelled may just have ended
                cancel()
            ended.wait(_AGAIN)
        raise
    if failed:
        raise failed[0]
