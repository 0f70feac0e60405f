"""``--shards`` and ``--tasks``: over how many key ranges and tasks an app is distributed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["require_shards", "sharding_options"]

_F = TypeVar("_F", bound=Callable[..., Any])


def sharding_options(command: _F) -> _F:
    """Give a command ``--shards`` and ``--tasks``."""
    shards = click.option(
        "--shards",
        type=click.IntRange(min=1),
        default=64,
        show_default=True,
        help="Spark: number of key ranges over which keys are distributed.",
    )
    tasks = click.option(
        "--tasks",
        type=click.IntRange(min=1),
        help="Spark: number of tasks that run the key ranges. [default of a stream: one per 16 key ranges or per core]",
    )
    return shards(tasks(command))


def require_shards(tasks: int | None, shards: int) -> None:
    """Check that each task has a shard.

    Raises:
        click.UsageError: there are more tasks than shards.
    """
    if tasks is not None and tasks > shards:
        raise click.UsageError(f"--tasks must not exceed the number of --shards, {shards}")
