"""Brokers of MQTT for tests: amqtt in a process of its own, and mosquitto where it is installed."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

__all__ = ["Broker", "amqtt_broker", "mosquitto_broker"]

START_SECONDS = 30


class Broker:
    """A broker with its own folder and port, which can be stopped and started again.

    Args:
        command: the program and its arguments.
        folder: its folder, which is removed at the end.
        port: its port on 127.0.0.1.
    """

    def __init__(self, command: list[str], folder: Path, port: int) -> None:
        self.port = port
        self._command = command
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=Path(__file__).parents[3]
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self._process.poll() is None, (self._folder / "log").read_text(errors="replace")
            time.sleep(0.01)
        raise AssertionError("the broker does not answer")

    def stop(self) -> None:
        """End it: mosquitto saves its sessions."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def remove(self) -> None:
        """End it, and remove its folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def _running(command: list[str], folder: Path, port: int) -> Iterator[Broker]:
    broker = Broker(command, folder, port)
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


@contextmanager
def amqtt_broker() -> Iterator[Broker]:
    """Run amqtt, for MQTT 3.1.1; skip the test, with the reason, if it is not installed."""
    pytest.importorskip("amqtt")
    port = _free_port()
    command = [sys.executable, "-m", "tests.kit.servers.mqtt", str(port)]
    with _running(command, Path(tempfile.mkdtemp(prefix="siddhi-amqtt-")), port) as broker:
        yield broker


@contextmanager
def mosquitto_broker(*settings: str, user: tuple[str, str] | None = None) -> Iterator[Broker]:
    """Run mosquitto, which saves its sessions when it is stopped; skip the test, with the reason, if it is not installed.

    Args:
        settings: further lines of its configuration.
        user: name and password that clients need.
    """
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/sbin")
    if program is None:
        pytest.skip("no mosquitto is installed")
    folder, port = Path(tempfile.mkdtemp(prefix="siddhi-mosquitto-")), _free_port()
    lines = [
        f"listener {port} 127.0.0.1",
        "persistence true",
        f"persistence_location {folder}/",
        "max_queued_messages 0",
        "max_inflight_messages 1000",
        "user root",
        *settings,
    ]
    if user is None:
        lines.append("allow_anonymous true")
    else:
        passwords = folder / "passwords"
        passwords.write_text(f"{user[0]}:{user[1]}\n", encoding="utf-8")
        subprocess.run(["mosquitto_passwd", "-U", str(passwords)], check=True)
        lines += ["allow_anonymous false", f"password_file {passwords}"]
    (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with _running([program, "-c", str(folder / "mosquitto.conf")], folder, port) as broker:
        yield broker


async def _run_amqtt(port: int) -> None:
    from amqtt.broker import Broker as AmqttBroker

    broker = AmqttBroker(
        {
            "listeners": {"default": {"type": "tcp", "bind": f"127.0.0.1:{port}"}},
            "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
        }
    )
    await broker.start()
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    await broker.shutdown()


if __name__ == "__main__":
    asyncio.run(_run_amqtt(int(sys.argv[1])))
