"""``siddhi check``: report all errors and warnings of apps."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from siddhi import SiddhiManager
from siddhi.cli.app_text import parameter_option, read_app, refuse_unused, require_values, shown_name, with_values
from siddhi.cli.failures import AppRefused
from siddhi.errors import SiddhiAppError, SiddhiError, SiddhiParserError
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.warnings import playback_advice
from siddhi.query_compiler.statements import Statement, without_statement
from siddhi.query_compiler.variables import ParameterText


@click.command()
@click.argument("apps", nargs=-1, required=True, metavar="APP...")
@parameter_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array with an object per app.")
@click.option("--strict", is_flag=True, help="Exit with code 1 if there are warnings, too.")
@click.pass_context
def check(
    context: click.Context, apps: tuple[str, ...], parameters: dict[str, ParameterText], as_json: bool, strict: bool
) -> None:
    """Check that the engine can run each APP (a file, or - for standard input).

    The apps are not started. Behind a statement with an error the others are checked, too, except those that need it.
    Text without effect, such as a misspelt annotation or option, is a warning, and so is what hardly is meant, such as a
    join without a condition. Exit code 0 if all apps are valid, 1 if one has an error.
    """
    if apps.count("-") > 1:
        raise click.UsageError("standard input can only be read once")
    texts = [read_app(app) for app in apps]
    refuse_unused(texts, parameters)
    findings = [_check(app, text, parameters) for app, text in zip(apps, texts, strict=True)]
    if as_json:
        click.echo(json.dumps([finding.as_data() for finding in findings], indent=2, ensure_ascii=False))
    else:
        for finding in findings:
            finding.show()
    if any(finding.errors or (strict and finding.warnings) for finding in findings):
        context.exit(AppRefused.exit_code)


@dataclass(frozen=True, slots=True)
class _Finding:
    """Errors and warnings of one app."""

    name: str
    errors: tuple[SiddhiError, ...]
    warnings: tuple[AppWarning, ...]
    note: AppWarning | None = None

    def show(self) -> None:
        """Print errors and warnings to standard error, or "OK" to standard output."""
        for warning in self.warnings:
            click.echo(f"{self.name}: warning: {warning}", err=True)
        for error in self.errors:
            click.echo(f"{self.name}: {error}", err=True)
        if not self.errors:
            count = len(self.warnings)
            click.echo(f"{self.name}: OK" + (f", {count} warning{'' if count == 1 else 's'}" if count else ""))
        if self.note is not None:
            click.echo(f"{self.name}: note: {self.note}", err=True)

    def as_data(self) -> dict[str, Any]:
        """Return the finding as JSON data; line is 1-based, column 0-based, as in errors."""
        found: dict[str, Any] = {"app": self.name, "ok": not self.errors}
        if self.errors:
            found["errors"] = [_error_as_data(error) for error in self.errors]
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


def _error_as_data(error: SiddhiError) -> dict[str, Any]:
    if not isinstance(error, SiddhiAppError):
        return {"message": str(error)}
    return {
        "code": error.code,
        "message": error.message,
        "line": error.line,
        "column": error.column,
        "hint": error.hint,
    }


_MOST_ERRORS = 100


def _check(app: str, text: str, parameters: dict[str, ParameterText]) -> _Finding:
    """Check an app; leave out each statement with an error, and check the rest."""
    errors: list[SiddhiError] = []
    lost: set[str] = set()  # what the statements that were left out define or fill
    try:
        text = with_values(text, parameters)
    except SiddhiError as error:
        return _Finding(shown_name(app), (error,), ())
    with SiddhiManager() as manager, _quiet():
        while len(errors) < _MOST_ERRORS:
            try:
                require_values(text)
                runtime = manager.create_siddhi_app_runtime(text)  # not started: a trigger at 'start' would fire
            except SiddhiAppError as error:
                rest = None
                if error.line is not None and error.column is not None and error.source is not None:
                    rest = without_statement(error.source, error.line, error.column)
                if not errors or (rest is not None and not _follows(error, rest[1], lost)):
                    errors.append(error)
                if rest is None:
                    break
                text = rest[0]
                lost |= rest[1].names
            except SiddhiError as error:
                errors.append(error)
                break
            else:
                errors.sort(key=_place)
                return _Finding(shown_name(app), tuple(errors), runtime.warnings, playback_advice(runtime.plan.app))
    return _Finding(shown_name(app), tuple(sorted(errors, key=_place)), ())


def _follows(error: SiddhiAppError, statement: Statement, lost: set[str]) -> bool:
    """Return whether an error may be due to what was left out: a name that is missing, a partition without queries."""
    if isinstance(error, SiddhiParserError):
        no_definitions = error.code == "E104" and not statement.is_definition
        return statement.is_end_of_partition or no_definitions
    return statement.reads(lost)


def _place(error: SiddhiError) -> tuple[int, int]:
    return (getattr(error, "line", None) or 0, getattr(error, "column", None) or 0)


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
