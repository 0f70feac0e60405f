"""A server for tests of HTTP clients, with aiohttp."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from aiohttp import web

from siddhi.io.listening import end_listening

__all__ = ["serving"]

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@contextmanager
def serving(handler: Handler, *, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Run a server whose requests all go to a handler, and return its port.

    Args:
        handler: answers a request.
        port: the port; 0: a free one.
        tls: TLS of the server.
    """
    loop = asyncio.new_event_loop()
    started: list[int] = []
    ready = threading.Event()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return await handler(request)

    async def begin() -> tuple[web.ServerRunner, asyncio.Server]:
        runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls, reuse_address=True)
        await site.start()
        started.append(site._server.sockets[0].getsockname()[1])
        return runner, site._server

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            runner, server = loop.run_until_complete(begin())
        finally:
            ready.set()
        loop.run_forever()
        loop.run_until_complete(end_listening(server))
        loop.run_until_complete(runner.cleanup())
        tasks = asyncio.all_tasks(loop)  # of clients that have left
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait(30)
    try:
        yield started[0]
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
