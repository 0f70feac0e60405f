"""Reads the text of an app from a file or standard input."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from siddhi.cli.endpoints import STANDARD
from siddhi.cli.failures import reason


def read_app(path: str) -> str:
    """Return the text of an app; ``-`` is standard input.

    Raises:
        click.UsageError: there is no such file, or it is not UTF-8 text.
    """
    try:
        data = sys.stdin.buffer.read() if path == STANDARD else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"cannot read the app {path}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"cannot read the app {path}: not UTF-8 text (byte {error.start})") from error


def shown_name(path: str) -> str:
    """Return the name of an app's file for messages."""
    return "standard input" if path == STANDARD else path
