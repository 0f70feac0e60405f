"""``siddhi explain``: print the plan of an app, or where its parts would run on Spark."""

from __future__ import annotations

import json

import click

from siddhi.cli.app_text import parameter_option, read_bound_app
from siddhi.cli.failures import AppRefused
from siddhi.cli.spark.sharding import require_shards, sharding_options
from siddhi.errors import SiddhiError, SparkLoweringError
from siddhi.query_compiler.variables import ParameterText

_OF_SPARK = ("streaming", "shards", "tasks", "strict", "format_")


@click.command()
@click.argument("app")
@parameter_option
@click.option(
    "--engine",
    type=click.Choice(["embedded", "spark"]),
    default="embedded",
    show_default=True,
    help="Print the plan of the embedded engine, or the Catalyst stages and engine fragments on Spark; neither starts it.",
)
@click.option("--streaming", is_flag=True, help="Spark: print the layout of a stream instead of that of a batch.")
@sharding_options
@click.option(
    "--strict", is_flag=True, help="Spark: refuse an app with warnings, such as that a part runs on one shard."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Spark: format of the layout.",
)
@click.pass_context
def explain(
    context: click.Context,
    app: str,
    parameters: dict[str, ParameterText],
    engine: str,
    streaming: bool,
    shards: int,
    tasks: int | None,
    strict: bool,
    format_: str,
) -> None:
    """Print the plan of APP (a file, or - for standard input): its operators, with the input of each below it. With --engine
    spark: which parts run where on Spark, by which key, and what is refused; exit code 1 if anything is."""
    if engine == "embedded":
        for name in _OF_SPARK:
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name.strip('_')} needs --engine spark")
    else:
        require_shards(tasks, shards)
    text = read_bound_app(app, parameters)
    try:
        if engine == "embedded":
            click.echo(_plan_text(text))
        else:
            _echo_layout(text, streaming=streaming, shards=shards, tasks=tasks, strict=strict, format_=format_)
    except SiddhiError as error:
        raise AppRefused(str(error)) from error


def _plan_text(text: str) -> str:
    from siddhi.planner.app import plan
    from siddhi.planner.explain.app import explain as plan_text
    from siddhi.query_compiler import parse

    return plan_text(plan(parse(text)))


def _echo_layout(text: str, *, streaming: bool, shards: int, tasks: int | None, strict: bool, format_: str) -> None:
    """Print where the parts of an app run on Spark.

    Raises:
        SparkLoweringError: Spark refuses the app; the layout has been printed.
    """
    from siddhi.spark.app_layout import app_layout

    found = app_layout(text, streaming=streaming, shards=shards, tasks=tasks, strict=strict)
    click.echo(found.to_text() if format_ == "text" else json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    if found.refused:
        raise SparkLoweringError(found.refused)
