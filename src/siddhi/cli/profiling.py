"""``siddhi run --profile``: print or write the profile of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from siddhi.runtime.app import SiddhiAppRuntime

__all__ = ["Profiling"]

_SUFFIXES = (".html", ".json")


@dataclass(frozen=True)
class Profiling:
    """What to do with a profile. ``file``: written as HTML, or as JSON for speedscope; None: it is printed only."""

    file: Path | None

    @classmethod
    def of(cls, wanted: bool, file: Path | None) -> Profiling | None:
        """Return what the options of the command ask for; None: no profile.

        Raises:
            UsageError: the file has another suffix.
        """
        if file is not None and file.suffix not in _SUFFIXES:
            raise click.UsageError(
                f"--profile-file '{file}': expected a file name that ends with {' or '.join(_SUFFIXES)}"
            )
        return cls(file) if wanted or file is not None else None

    @contextmanager
    def of_app(self, app: SiddhiAppRuntime) -> Iterator[None]:
        """Profile an app until the block ends, then print and write the profile.

        Raises:
            FileError: the file can't be written.
        """
        profile = app.profile()
        try:
            with profile:
                yield
        finally:
            click.echo(profile.text(color=True), err=True)  # click removes colours where no terminal shows them
            if self.file is not None:
                try:
                    if self.file.suffix == ".html":
                        profile.to_html(self.file)
                    else:
                        profile.to_speedscope(self.file)
                except OSError as error:
                    raise click.FileError(str(self.file), error.strerror) from error
