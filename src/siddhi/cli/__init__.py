"""The ``siddhi`` command: run, check and explain apps from a terminal. Needs the extra ``siddhi[cli]``."""

from __future__ import annotations

import sys

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
    from .command import siddhi

    siddhi(prog_name="siddhi")
