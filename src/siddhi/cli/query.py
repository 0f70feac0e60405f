"""``siddhi query``: run an on-demand query over a table, window or aggregation of an app."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from siddhi.cli.endpoints import STANDARD, Endpoint, read_output_file
from siddhi.cli.failures import interruptible
from siddhi.cli.inputs.options import InputOptions, input_options
from siddhi.cli.inputs.timestamps import Until
from siddhi.cli.outputs.on_demand import OnDemandQuery
from siddhi.cli.session import Session, log_to_stderr
from siddhi.query_compiler.variables import ParameterText

_EPILOG = """\b
Example:
  siddhi query prices.siddhi "from Prices on price > 100.0 select symbol, price order by price desc" \\
    --input Trades=trades.csv

\b
Exit codes are those of siddhi run; 1 also for an error in the query, 5 if the query failed.
"""


@click.command(epilog=_EPILOG)
@click.argument("app")
@click.argument("query")
@input_options(required=False)
@click.option(
    "--output",
    default=STANDARD,
    callback=read_output_file,
    metavar="FILE",
    help="Write the rows to a .csv, .jsonl or .parquet file; '-' (the default) prints JSON lines.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print neither progress nor summary.")
@click.pass_context
def query(
    context: click.Context,
    app: str,
    query: str,
    parameters: dict[str, ParameterText],
    inputs: list[Endpoint],
    timestamp: str | None,
    playback: bool | None,
    until: Until,
    on_bad_line: str,
    output: Endpoint,
    quiet: bool,
) -> None:
    """Run the on-demand QUERY on APP (a file, or - for standard input) after sending the input files.

    Tables with a store can be queried and changed without any input.
    """
    options = InputOptions(app, inputs, timestamp, playback, until, on_bad_line, parameters=parameters)
    options.refuse_clashes()
    if not output.is_standard:
        read = [Path(end.path).resolve() for end in inputs if not end.is_standard]
        if Path(output.path).resolve() in read:
            raise click.UsageError(f"{output.path} is both input and output: name another file for --output")
    with ExitStack() as stack:
        stack.enter_context(interruptible())
        runtime = options.open_app(stack)
        sources, bad_lines = options.open_sources(stack, runtime)
        stack.enter_context(log_to_stderr(quiet=quiet))
        code = Session(
            runtime,
            sources,
            (),
            bad_lines=bad_lines,
            timed=timestamp is not None,
            until=until,
            quiet=quiet,
            query=OnDemandQuery(runtime, query, output),
        ).run()
    if code:
        context.exit(code)
