"""A RabbitMQ server for tests, where it is installed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

__all__ = ["RabbitServer", "rabbit_server"]

START_SECONDS = 120
_PLACES = "/usr/lib/rabbitmq/bin:/opt/homebrew/opt/rabbitmq/sbin:/usr/local/sbin:/usr/sbin"


class RabbitServer:
    """Server with its own folder, ports and name, which can be killed and started again."""

    def __init__(self, program: str, configuration: str = "") -> None:
        self._program = program
        self._folder = Path(tempfile.mkdtemp(prefix="siddhi-rabbitmq-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port, distribution, names, self.tls_port = _free_ports(4)
        (self._folder / "plugins").write_text("[].\n", encoding="ascii")
        (self._folder / "rabbitmq.conf").write_text(
            configuration.replace("TLS_PORT", str(self.tls_port)), encoding="utf-8"
        )
        self._environment = {
            **os.environ,
            "HOME": str(self._folder),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(names),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq.conf"),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "plugins"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "mnesia"),
            "RABBITMQ_NODENAME": f"siddhi{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_PID_FILE": str(self._folder / "pid"),
        }
        # Erlang's name server, which the node would start otherwise, and which would run on.
        self._names = subprocess.Popen(
            ["epmd", "-port", str(names), "-address", "127.0.0.1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )

    @property
    def url(self) -> str:
        return f"amqp://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [self._program],
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env=self._environment,
                cwd=self._folder,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as client:
                client.settimeout(5)
                client.sendall(b"AMQP\0\0\x09\x01")
                if client.recv(1):
                    return
            assert self._process.poll() is None, (self._folder / "output").read_text(errors="replace")
            time.sleep(0.05)
        raise AssertionError("RabbitMQ does not answer")

    def kill(self) -> None:
        """Kill it and its processes with SIGKILL."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def remove(self) -> None:
        """Kill it, and remove its folder."""
        self.kill()
        self._names.kill()
        self._names.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def rabbit_server(configuration: str = "") -> Iterator[RabbitServer]:
    """Run a server; skip the test, with the reason, if it is not installed.

    Args:
        configuration: lines of its configuration; TLS_PORT stands for :attr:`RabbitServer.tls_port`.
    """
    program = shutil.which("rabbitmq-server", path=_PLACES)
    if program is None or shutil.which("epmd") is None:
        pytest.skip("no RabbitMQ is installed (rabbitmq-server)")
    server = RabbitServer(program, configuration)
    try:
        server.start()
        yield server
    finally:
        server.remove()
