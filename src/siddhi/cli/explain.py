"""``siddhi explain``: print the plan of an app."""

from __future__ import annotations

import click

from siddhi.cli.app_text import read_app
from siddhi.cli.failures import AppRefused
from siddhi.errors import SiddhiError


@click.command()
@click.argument("app")
def explain(app: str) -> None:
    """Print the plan of APP (a file, or - for standard input): its operators, with the input of each below it."""
    from siddhi.planner.app import plan
    from siddhi.planner.explain.app import explain as plan_text
    from siddhi.query_compiler import parse

    text = read_app(app)
    try:
        click.echo(plan_text(plan(parse(text))))
    except SiddhiError as error:
        raise AppRefused(str(error)) from error
