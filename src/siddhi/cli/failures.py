"""How the command can end other than well, and the exit code of each end.

0    done (also when the reader of standard output went away, as ``siddhi run ... | head`` does)
1    an app was refused (AppRefused)
2    the command line makes no sense (click.UsageError)
3    input could not be read as the stream's events (BadInput)
4    output could not be written (OutputFailed)
5    the app failed on some events; the outputs lack what they would have given (ProcessingFailed)
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
    """The app's text is wrong; the message shows where."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the error as it is: it starts with its own code and spans several lines."""
        click.echo(self.message, file=file, err=True)


class BadInput(click.ClickException):
    """A file, line or value that is not what the stream needs."""

    exit_code = 3


class OutputFailed(click.ClickException):
    """An output could not be opened or written."""

    exit_code = 4


class ProcessingFailed(click.ClickException):
    """The app raised errors while events flowed."""

    exit_code = 5


class Interrupted(click.ClickException):
    """Ctrl-C came where nothing was under way."""

    exit_code = INTERRUPTED

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the one word; nobody did anything wrong."""
        click.echo(self.message, file=file, err=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Make a Ctrl-C that nobody else hears the end that the exit codes promise."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None


def reason(error: OSError) -> str:
    """Say why the system refused, without the number and path that some libraries put around it."""
    return os.strerror(error.errno) if error.errno else str(error)
