"""The ``siddhi`` command: run, query, check and explain apps from a terminal. Needs the extra ``siddhi[cli]``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["main"]

_EXTRA = frozenset({"click", "pyarrow", "rich"})


def main() -> None:
    """Entry point of the console script ``siddhi``; leaves through ``sys.exit`` (codes: :mod:`siddhi.cli.failures`)."""
    try:
        import click  # noqa: F401
        import pyarrow as pa  # noqa: F401
        import rich  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        sys.stderr.write(f"siddhi: the command line needs '{error.name}'; install it with: pip install 'siddhi[cli]'\n")
        sys.exit(2)
    from siddhi.cli.command import siddhi
    from siddhi.cli.failures import OutputFailed, reason

    _open_missing_streams()
    code: int | str | None = None
    try:
        siddhi(prog_name="siddhi")
    except OSError as error:  # what is read and written by name has errors of its own: this is standard output
        sys.stderr.write(f"Error: cannot write standard output: {reason(error)}\n")
        code = OutputFailed.exit_code
    except SystemExit as end:
        code = end.code
    _let_go_of_stdout()
    sys.exit(code)


def _let_go_of_stdout() -> None:
    """Write what is left; where that fails, it has been told, and the interpreter should not complain at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


def _open_missing_streams() -> None:
    """Give Python the standard streams it was started without (``>&-``): nothing to read, nobody who reads."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - open until the end
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
