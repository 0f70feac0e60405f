"""``failing.c``, compiled, loaded into a new process, and armed from Python."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FAULTS", "Calls", "Fault", "failing", "failing_memory", "restart_under_shim", "unavailable"]

SOURCE = Path(__file__).with_name("failing.c")
_LOADED = "SIDDHI_FAILING_LIBRARY"
READS, WRITES = 1, 2
ONCE, ALWAYS, SHORT = range(3)


@dataclass(frozen=True)
class Fault:
    """How a call fails."""

    name: str
    kinds: int
    error: int
    mode: int


FAULTS = [
    Fault("ENOSPC", WRITES, errno.ENOSPC, ONCE),
    Fault("ENOSPC from then on", WRITES, errno.ENOSPC, ALWAYS),
    Fault("EIO", READS | WRITES, errno.EIO, ONCE),
    Fault("EIO from then on", READS | WRITES, errno.EIO, ALWAYS),
    Fault("EACCES", READS | WRITES, errno.EACCES, ONCE),
    Fault("EACCES from then on", READS | WRITES, errno.EACCES, ALWAYS),
    Fault("a short write", WRITES, 0, SHORT),
]


@dataclass
class Calls:
    """What was called while a call was to fail.

    Attributes:
        count: number of calls.
        failed: name of the call that failed last; empty: none did.
        unsynced: a file was renamed before its data were synced to the disk, or its folder was not synced afterwards.
    """

    count: int = 0
    failed: str = ""
    unsynced: bool = False


def unavailable() -> str | None:
    """Why calls can't be made to fail here; None: they can."""
    if not sys.platform.startswith("linux"):
        return "calls of the C library are replaced with LD_PRELOAD, on Linux"
    if shutil.which(_compiler()) is None:
        return f"needs a C compiler, and there is no '{_compiler()}'"
    return None


def _compiler() -> str:
    return os.environ.get("CC", "cc").split()[-1]


def restart_under_shim() -> None:
    """Start this program again with the library loaded; returns where it is."""
    if _LOADED in os.environ:
        return
    if why := unavailable():
        sys.exit(f"python -m tests.faults: {why}")
    library = Path(tempfile.mkdtemp(prefix="siddhi-faults-")) / "failing.so"
    subprocess.run([_compiler(), "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    loaded = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), str(library)]))
    environment = {"PYTHONHASHSEED": "0", **os.environ, "LD_PRELOAD": loaded, _LOADED: str(library)}
    os.execve(sys.executable, sys.orig_argv, environment)


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ[_LOADED])
    library.fail_calls.restype = ctypes.c_long
    library.fail_name.restype = ctypes.c_char_p
    return library


@contextmanager
def failing(folder: Path, fault: Fault, nth: int) -> Iterator[Calls]:
    """The ``nth`` call that concerns a file under a folder fails (0: none does)."""
    library = _library()
    calls = Calls()
    library.fail_files(os.fsencode(folder), fault.kinds, ctypes.c_long(nth), fault.error, fault.mode)
    try:
        yield calls
    finally:
        calls.count = library.fail_calls()
        calls.failed = library.fail_name().decode()
        calls.unsynced = bool(library.fail_unsynced())
        library.fail_files(b"", 0, ctypes.c_long(0), 0, 0)


@contextmanager
def failing_memory(nth: int) -> Iterator[Calls]:
    """The ``nth`` time that the engine asks the C library for memory there is none."""
    library = _library()
    calls = Calls()
    library.fail_memory(ctypes.c_long(nth))
    try:
        yield calls
    finally:
        calls.count = library.fail_calls()  # at least nth, or 0 where the nth did not come
        if calls.count < nth:
            calls.count = 0
        library.fail_memory(ctypes.c_long(0))
