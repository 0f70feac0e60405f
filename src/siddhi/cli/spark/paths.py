"""Refuse outputs of a command line where the app reads: they would overwrite the input, or be read again."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import click

from siddhi.cli.endpoints import Endpoint
from siddhi.cli.spark.binds import Bind
from siddhi.query_compiler import parse

__all__ = ["refuse_outputs_in_inputs"]


def refuse_outputs_in_inputs(
    text: str, *, inputs: Iterable[Endpoint], binds: Collection[Bind], outputs: Iterable[Endpoint]
) -> None:
    """Compare the locations of outputs and inputs, of the command line and of the app.

    Args:
        text: text of the app; its sinks are used without outputs, its sources for streams without bind.
        inputs: files of streams.
        binds: files of streams and tables.
        outputs: files, or folders of a stream.

    Raises:
        click.UsageError: an output is, contains or lies within an input.
    """
    from siddhi.spark.sources.annotations import connectors_of
    from siddhi.spark.sources.locations import relation

    files = [each for each in connectors_of(parse(text)) if each.type == "file"]
    given = [(end.stream, end.path) for end in inputs] + [(bind.stream, bind.path) for bind in binds]
    bound, read = {stream for stream, _ in given}, [path for _, path in given]
    read += [each.options["file.uri"] for each in files if each.direction == "source" and each.stream not in bound]
    written = [end.path for end in outputs if not end.is_standard]
    if not written:
        written = [each.options["file.uri"] for each in files if each.direction == "sink"]
    for folder in written:
        for location in read:
            lies = relation(folder, location)
            if lies == "is":
                raise click.UsageError(f"{folder} is both input and output: use another output")
            if lies is not None:
                raise click.UsageError(f"output {folder} {lies} input {location}: use an output apart from all inputs")
