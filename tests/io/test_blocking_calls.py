"""Calls of blocking clients in threads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from siddhi.io import blocking_calls
from siddhi.io.event_loop import end_tasks


def test_a_call_is_ended_although_its_task_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking_calls, "_GRACE_S", 0.7)  # longer than until the next cancellation
    released = threading.Event()

    def work() -> None:
        released.wait(30)
        raise ConnectionResetError("the client was shut down")

    async def run() -> None:
        task = asyncio.ensure_future(blocking_calls.in_thread(work, "server", 30, released.set))
        await asyncio.sleep(0)
        await end_tasks((task,))
        assert task.cancelled()
        assert released.is_set()

    asyncio.run(run())
