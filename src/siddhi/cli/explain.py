"""``siddhi explain`` tells what will happen to an event."""

from __future__ import annotations

import click

from siddhi.errors import SiddhiError

from .app_text import read_app
from .failures import AppRefused


@click.command()
@click.argument("app")
def explain(app: str) -> None:
    """Print the plan of APP (a file, or - for standard input): its operators, in the order events meet them."""
    from siddhi.planner import explain as plan_text
    from siddhi.planner import plan
    from siddhi.query_compiler import parse

    text = read_app(app)
    try:
        click.echo(plan_text(plan(parse(text))))
    except SiddhiError as error:
        raise AppRefused(str(error)) from error
