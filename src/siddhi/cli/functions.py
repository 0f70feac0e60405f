"""``siddhi functions``: what apps can call and connect to."""

from __future__ import annotations

import difflib

import click

from siddhi.extension import ENTRY_POINT_GROUPS, shared_registry
from siddhi.extension.docgen import reference_lines, signature
from siddhi.extension.metadata import ExtensionMetadata


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def functions(names: tuple[str, ...]) -> None:
    """Describe functions, windows, connectors and other extensions by NAME; without one, list all.

    Extensions of installed packages are included.
    """
    found = [metadata for kind in ENTRY_POINT_GROUPS for metadata in shared_registry().all(kind)]
    if not names:
        for metadata in sorted(found, key=lambda one: (one.title, one.full_name.lower())):
            click.echo(f"{metadata.title:24} {_call(metadata)}")
        return
    for name in names:
        named = [metadata for metadata in found if metadata.full_name.lower() == name.lower()]
        if not named:
            known = [metadata.full_name for metadata in found]
            close = difflib.get_close_matches(name, known, n=1)
            raise click.UsageError(
                f"nothing is called '{name}'" + (f": did you mean '{close[0]}'?" if close else ""),
            )
        for metadata in named:
            click.echo("\n".join((f"{metadata.title} {metadata.full_name}", *reference_lines(metadata), "")))


def _call(metadata: ExtensionMetadata) -> str:
    if not metadata.overloads:
        return metadata.full_name
    return signature(metadata, metadata.overloads[0])
