"""``siddhi check`` tells whether the engine would take an app."""

from __future__ import annotations

import json
from typing import Any

import click

from siddhi import SiddhiManager
from siddhi.errors import SiddhiAppError, SiddhiError

from .app_text import read_app, shown_name
from .failures import AppRefused


@click.command()
@click.argument("apps", nargs=-1, required=True, metavar="APP...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array with an object per app.")
@click.pass_context
def check(context: click.Context, apps: tuple[str, ...], as_json: bool) -> None:
    """Check that each APP (a file, or - for standard input) is one the engine runs.

    Nothing is started and no event flows. Exit code 0 if all are well, 1 if one is refused.
    """
    if apps.count("-") > 1:
        raise click.UsageError("standard input can only be read once")
    manager = SiddhiManager()
    try:
        findings = [(app, _refusal(manager, read_app(app))) for app in apps]
    finally:
        manager.shutdown()
    if as_json:
        click.echo(json.dumps([_as_data(app, error) for app, error in findings], indent=2, ensure_ascii=False))
    else:
        for app, error in findings:
            if error is None:
                click.echo(f"{shown_name(app)}: OK")
            else:
                click.echo(f"{shown_name(app)}: {error}", err=True)
    if any(error for _, error in findings):
        context.exit(AppRefused.exit_code)


def _refusal(manager: SiddhiManager, text: str) -> SiddhiError | None:
    try:
        manager.create_siddhi_app_runtime(text)  # and never starts it: a trigger at 'start' would fire
    except SiddhiError as error:
        return error
    return None


def _as_data(app: str, error: SiddhiError | None) -> dict[str, Any]:
    """One app's finding; line is 1-based, column 0-based, as in the errors."""
    found: dict[str, Any] = {"app": shown_name(app), "ok": error is None}
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
    return found
