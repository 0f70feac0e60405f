"""A process that runs an app, saves its state again and again, and can be killed in the midst of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

__all__ = ["ROUNDS", "KilledConsumer"]

ROUNDS = int(os.environ.get("SIDDHI_FAULT_ROUNDS", "2"))
"""How often a test kills its process."""

_ROOT = Path(__file__).parents[2]


class KilledConsumer:
    """Runs an app in processes, one after the other; each begins with the last state that was saved.

    Args:
        app: the app; the values of its stream ``S`` are written to a file, one line per event.
        folder: where states and output are kept.
    """

    def __init__(self, app: str, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        (folder / "app.siddhi").write_text(app, encoding="utf-8")

    def start(self) -> None:
        """Start a process, and wait until the app runs."""
        path = os.pathsep.join([str(_ROOT), *([os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else [])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kit.killed_consumer", str(self._folder)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "runs\n"

    def kill(self) -> None:
        """Kill the process at once (kill -9), if there is one."""
        if self._process is not None and self._process.stdout is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process.stdout.close()
        self._process = None

    @property
    def lines(self) -> list[str]:
        """What all processes have received."""
        path = self._folder / "output"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _run(folder: Path) -> None:
    from siddhi import SiddhiManager
    from siddhi.persistence import FileSystemPersistenceStore
    from siddhi.runtime.connectors import retry

    retry.PAUSES = (0.02,)
    manager = SiddhiManager()
    manager.set_persistence_store(FileSystemPersistenceStore(folder / "state"))
    runtime = manager.create_siddhi_app_runtime((folder / "app.siddhi").read_text(encoding="utf-8"))
    output = os.open(folder / "output", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(events: list) -> None:
        for event in events:
            os.write(output, (" ".join(str(value) for value in event.data) + "\n").encode())

    runtime.add_callback("S", write)
    runtime.restore_last_revision()
    runtime.start()
    print("runs", flush=True)
    never = threading.Event()
    while not never.wait(0.02):
        runtime.persist()


if __name__ == "__main__":
    _run(Path(sys.argv[1]))
