"""The ``siddhi`` command: run, query, check and explain apps from a terminal. Requires the extra ``siddhi[cli]``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["main"]

_EXTRA = frozenset({"click", "pyarrow", "rich"})


def main() -> None:
    """Run the console script ``siddhi`` and exit with a code of :mod:`siddhi.cli.failures`."""
    try:
        import click  # noqa: F401
        import pyarrow as pa  # noqa: F401
        import rich  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        sys.stderr.write(f"siddhi: package '{error.name}' is not installed; run: pip install 'siddhi[cli]'\n")
        sys.exit(2)
    from siddhi.cli.command import siddhi
    from siddhi.cli.failures import OutputFailed, reason

    _open_missing_streams()
    code: int | str | None = None
    try:
        siddhi(prog_name="siddhi")
    except OSError as error:  # of standard output; named files have errors of their own
        sys.stderr.write(f"Error: cannot write standard output: {reason(error)}\n")
        code = OutputFailed.exit_code
    except SystemExit as end:
        code = end.code
    _flush_stdout()
    sys.exit(code)


def _flush_stdout() -> None:
    """Flush standard output; discard it if that fails, so that the interpreter does not report the error again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


def _open_missing_streams() -> None:
    """Open the null device for standard streams that are closed (``>&-``)."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - open until the end
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
