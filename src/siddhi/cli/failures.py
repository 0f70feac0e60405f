"""Exit codes of the command, and the exceptions for them.

0    success (also when the reader of standard output has closed it, as in ``siddhi run ... | head``)
1    an app has an error (AppRefused)
2    usage error (click.UsageError)
3    an input could not be read as events of its stream (BadInput)
4    an output could not be written (OutputFailed)
5    the app failed on some events, whose results are missing in the outputs (ProcessingFailed)
130  interrupted with Ctrl-C
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

INTERRUPTED = 130


class AppRefused(click.ClickException):
    """The app's text has an error; the message shows its position."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the error without a prefix: it starts with its code and spans several lines."""
        click.echo(self.message, file=file, err=True)


class BadInput(click.ClickException):
    """A file, line or value does not match its stream."""

    exit_code = 3


class OutputFailed(click.ClickException):
    """An output could not be opened or written."""

    exit_code = 4


class ProcessingFailed(click.ClickException):
    """The app raised errors while events flowed."""

    exit_code = 5


class Interrupted(click.ClickException):
    """Ctrl-C was pressed before or after processing."""

    exit_code = INTERRUPTED

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message without a prefix: it is not an error."""
        click.echo(self.message, file=file, err=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Exit with the code of an interruption if Ctrl-C is not handled inside."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None


def reason(error: OSError) -> str:
    """Return the system's message of an error, without number and path."""
    return os.strerror(error.errno) if error.errno else str(error)
