"""``siddhi check``: report errors and warnings of apps."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from siddhi import SiddhiManager
from siddhi.cli.app_text import read_app, shown_name
from siddhi.cli.failures import AppRefused
from siddhi.errors import SiddhiAppError, SiddhiError
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.warnings import playback_advice


@click.command()
@click.argument("apps", nargs=-1, required=True, metavar="APP...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array with an object per app.")
@click.option("--strict", is_flag=True, help="Exit with code 1 if there are warnings, too.")
@click.pass_context
def check(context: click.Context, apps: tuple[str, ...], as_json: bool, strict: bool) -> None:
    """Check that the engine can run each APP (a file, or - for standard input).

    The apps are not started. Text without effect, such as a misspelt annotation or option, is a warning.
    Exit code 0 if all apps are valid, 1 if one has an error.
    """
    if apps.count("-") > 1:
        raise click.UsageError("standard input can only be read once")
    findings = [_check(app, read_app(app)) for app in apps]
    if as_json:
        click.echo(json.dumps([finding.as_data() for finding in findings], indent=2, ensure_ascii=False))
    else:
        for finding in findings:
            finding.show()
    if any(finding.error or (strict and finding.warnings) for finding in findings):
        context.exit(AppRefused.exit_code)


@dataclass(frozen=True, slots=True)
class _Finding:
    """Error and warnings of one app."""

    name: str
    error: SiddhiError | None
    warnings: tuple[AppWarning, ...]
    note: AppWarning | None = None

    def show(self) -> None:
        """Print error and warnings to standard error, or "OK" to standard output."""
        for warning in self.warnings:
            click.echo(f"{self.name}: warning: {warning}", err=True)
        if self.error is not None:
            click.echo(f"{self.name}: {self.error}", err=True)
        else:
            count = len(self.warnings)
            click.echo(f"{self.name}: OK" + (f", {count} warning{'' if count == 1 else 's'}" if count else ""))
        if self.note is not None:
            click.echo(f"{self.name}: note: {self.note}", err=True)

    def as_data(self) -> dict[str, Any]:
        """Return the finding as JSON data; line is 1-based, column 0-based, as in errors."""
        found: dict[str, Any] = {"app": self.name, "ok": self.error is None}
        error = self.error
        if isinstance(error, SiddhiAppError):
            found |= {
                "code": error.code,
                "message": error.message,
                "line": error.line,
                "column": error.column,
                "hint": error.hint,
            }
        elif error is not None:
            found["message"] = str(error)
        if self.warnings:
            found["warnings"] = [
                {
                    "message": warning.message,
                    "line": None if warning.span is None else warning.span.line,
                    "column": None if warning.span is None else warning.span.column,
                    "hint": warning.hint,
                }
                for warning in self.warnings
            ]
        if self.note is not None:
            found["note"] = str(self.note)
        return found


def _check(app: str, text: str) -> _Finding:
    with SiddhiManager() as manager, _quiet():
        try:
            runtime = manager.create_siddhi_app_runtime(text)  # not started: a trigger at 'start' would fire
        except SiddhiError as error:
            return _Finding(shown_name(app), error, ())
        return _Finding(shown_name(app), None, runtime.warnings, playback_advice(runtime.plan.app))


@contextmanager
def _quiet() -> Iterator[None]:
    """Disable the engine's log: its warnings are shown as findings."""
    logger = logging.getLogger("siddhi")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before
