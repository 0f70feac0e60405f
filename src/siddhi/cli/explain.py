"""``siddhi explain`` tells what will happen to an event."""

from __future__ import annotations

import click

from siddhi.cli.app_text import read_app
from siddhi.cli.failures import AppRefused
from siddhi.errors import SiddhiError


@click.command()
@click.argument("app")
def explain(app: str) -> None:
    """Print the plan of APP (a file, or - for standard input): its operators, in the order events meet them."""
    from siddhi.planner.app import plan
    from siddhi.planner.explain.app import explain as plan_text
    from siddhi.query_compiler import parse

    text = read_app(app)
    try:
        click.echo(plan_text(plan(parse(text))))
    except SiddhiError as error:
        raise AppRefused(str(error)) from error
