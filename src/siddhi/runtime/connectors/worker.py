"""The thread of an app that runs the tasks of its asynchronous connectors, one after the other."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

__all__ = ["Worker"]

logger = logging.getLogger("siddhi")


class Worker:
    """Runs tasks in a thread of its own, which starts with the first task.

    Args:
        name: name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def submit(self, task: Callable[[], None]) -> None:
        """Run a task after those before it. After :meth:`stop` it is dropped."""
        with self._changed:
            if self._stopped:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._tasks.append(task)
            self._changed.notify()

    def stop(self) -> None:
        """End the thread after its current task; the other tasks are dropped."""
        with self._changed:
            self._stopped = True
            self._tasks.clear()
            self._changed.notify()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tasks or self._stopped)
                if self._stopped:
                    return
                task = self._tasks.popleft()
            try:
                task()
            except Exception:
                logger.exception("%s: a task failed", self._name)
