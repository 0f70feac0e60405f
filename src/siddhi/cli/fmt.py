"""``siddhi fmt``: lay out the text of apps."""

from __future__ import annotations

import difflib
import os
import tempfile
from pathlib import Path

import click

from siddhi.cli.app_text import read_app, shown_name
from siddhi.cli.endpoints import STANDARD
from siddhi.cli.failures import AppRefused, OutputFailed, reason
from siddhi.errors import SiddhiError


@click.command()
@click.argument("apps", nargs=-1, required=True, metavar="APP...")
@click.option("--check", "only_check", is_flag=True, help="Change nothing; exit with code 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Change nothing; print what would change.")
@click.pass_context
def fmt(context: click.Context, apps: tuple[str, ...], only_check: bool, diff: bool) -> None:
    """Lay out each APP (a file, or - for standard input to standard output): one clause per line, lines of 120 characters.

    The apps mean the same as before. Comments stay; a statement with a comment or a ${variable} inside keeps its layout.
    """
    from siddhi.query_compiler.print.layout import format_app

    is_different = False
    for app in apps:
        text = read_app(app)
        try:
            formatted = format_app(text)
        except SiddhiError as error:
            raise AppRefused(f"{shown_name(app)}: {error}") from error
        is_different |= formatted != text
        if diff:
            click.echo("".join(_difference(shown_name(app), text, formatted)), nl=False)
        elif only_check:
            if formatted != text:
                click.echo(f"would change {shown_name(app)}", err=True)
        elif app == STANDARD:
            click.echo(formatted, nl=False)
        elif formatted != text:
            _replace(Path(app), formatted)
            click.echo(f"changed {app}", err=True)
    if is_different and only_check:
        context.exit(AppRefused.exit_code)


def _difference(name: str, before: str, after: str) -> list[str]:
    return [
        line if line.endswith("\n") else f"{line}\n"
        for line in difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, name)
    ]


def _replace(path: Path, text: str) -> None:
    """Write a file at once: a reader sees the old or the new text, and a failure leaves the old one."""
    path = path.resolve()
    try:
        handle, written = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            Path(written).chmod(path.stat().st_mode)
            Path(written).replace(path)
        except BaseException:
            Path(written).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputFailed(f"cannot write {path}: {reason(error)}") from error
