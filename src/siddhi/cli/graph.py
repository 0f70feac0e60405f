"""``siddhi graph``: print the streams, tables and queries of an app as a graph."""

from __future__ import annotations

import json
from pathlib import Path

import click

from siddhi.cli.app_text import parameter_option, read_bound_app
from siddhi.cli.failures import AppRefused
from siddhi.errors import SiddhiError
from siddhi.query_compiler.variables import ParameterText

_FORMATS = ("text", "mermaid", "svg", "json")


@click.command()
@click.argument("app")
@parameter_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    help="Format of the graph; default: by the suffix of --out (.txt, .mmd, .svg, .json), else text.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the graph into this file.")
def graph(app: str, parameters: dict[str, ParameterText], format_: str | None, out: Path | None) -> None:
    """Print the graph of APP (a file, or - for standard input): from which streams and tables its queries read, and where
    they insert. Mermaid shows in Markdown of many sites, SVG in browsers."""
    from siddhi.planner.app import plan
    from siddhi.planner.explain.graph import graph_of
    from siddhi.query_compiler import parse

    if format_ is None:
        suffixes = {".txt": "text", ".mmd": "mermaid", ".svg": "svg", ".json": "json"}
        if out is not None and out.suffix not in suffixes:
            raise click.UsageError(f"--out '{out}': name a --format, or use one of the suffixes {', '.join(suffixes)}")
        format_ = "text" if out is None else suffixes[out.suffix]
    text = read_bound_app(app, parameters)
    try:
        found = graph_of(plan(parse(text)))
    except SiddhiError as error:
        raise AppRefused(str(error)) from error
    if format_ == "json":
        shown = json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    else:
        shown = {"text": found.to_text, "mermaid": found.to_mermaid, "svg": found.to_svg}[format_]()
    if out is None:
        click.echo(shown, nl=False)
        return
    try:
        out.write_text(shown, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(out), error.strerror) from error
