"""The ``siddhi`` command and its subcommands."""

from __future__ import annotations

import click

from siddhi._version import __version__
from siddhi.cli.check import check
from siddhi.cli.explain import explain
from siddhi.cli.fmt import fmt
from siddhi.cli.functions import functions
from siddhi.cli.graph import graph
from siddhi.cli.query import query
from siddhi.cli.run import run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="siddhi")
def siddhi() -> None:
    """Streaming SQL over files and pipes: run, query, check, explain and format SiddhiQL apps."""


siddhi.add_command(run)
siddhi.add_command(query)
siddhi.add_command(check)
siddhi.add_command(explain)
siddhi.add_command(graph)
siddhi.add_command(fmt)
siddhi.add_command(functions)
