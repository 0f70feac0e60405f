"""Calls of blocking client libraries from coroutines: in a thread, for a limited time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from siddhi.errors import ConnectionUnavailableError

__all__ = ["in_thread", "shut"]

_T = TypeVar("_T")
_GRACE_S = 2.0


async def in_thread(work: Callable[[], _T], server: str, timeout: float, end: Callable[[], None]) -> _T:
    """Run a function of a blocking client in a thread, and return its result.

    Args:
        work: the function.
        server: what it waits for, for messages.
        timeout: seconds that it has.
        end: makes the function end early; called when the time is over, or the task was cancelled.

    Raises:
        ConnectionUnavailableError: the time is over.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        done, _ = await asyncio.wait([task], timeout=timeout)
    except asyncio.CancelledError:
        ending = asyncio.ensure_future(_end(task, end))
        while not ending.done():  # the caller that cancels may do so again meanwhile
            with suppress(asyncio.CancelledError):
                await asyncio.wait((ending,))
        raise
    if not done:
        await _end(task, end)
        raise ConnectionUnavailableError(f"{server} has not answered for {timeout:g} s")
    return task.result()


async def _end(task: asyncio.Task[Any], end: Callable[[], None]) -> None:
    done, _ = await asyncio.wait([task], timeout=_GRACE_S)
    if not done:
        end()
        await asyncio.wait([task], timeout=_GRACE_S)
    # It does not matter any more.
    task.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())


def shut(connection: Any) -> None:
    """Shut down the socket of a client's connection, which ends the call that waits for it."""
    # Clients without a socket, or with a closed one, have errors of their own.
    with suppress(Exception), socket.socket(fileno=socket.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
