"""A connection that is closed in an awkward moment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from siddhi.io.websocket.link import Link
from siddhi.io.websocket.options import SessionOptions


class Connection:
    """Answers pings when the test wants it."""

    def __init__(self) -> None:
        self.pinged = asyncio.Event()
        self.answer = asyncio.Event()
        self.heard_at = 0.0

    async def ping(self) -> None:
        self.pinged.set()
        await self.answer.wait()

    async def recv(self) -> Any:
        await asyncio.Event().wait()

    async def close(self, code: int, reason: str) -> None:
        """Nothing waits for it."""


@pytest.mark.parametrize("steps", range(4))
def test_a_ping_that_ends_as_the_connection_is_closed_holds_nothing_up(steps: int) -> None:
    async def run() -> None:
        options = SessionOptions((), False, 100, ping_interval=0.01, ping_timeout=60.0, idle_timeout=None)
        connection = Connection()
        link = Link(connection, options, "peer")  # type: ignore[arg-type]
        await connection.pinged.wait()
        connection.answer.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        await asyncio.wait_for(link.close(), 10)

    asyncio.run(run())
