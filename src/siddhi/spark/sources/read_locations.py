"""Find the files and folders that a DataFrame reads, as far as Spark tells."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame

__all__ = ["locations_of"]


def locations_of(frame: DataFrame) -> list[str]:
    """Return the files, folders and patterns that a DataFrame reads; for catalog tables, the files they have now.

    Reads no data. Over Spark Connect, the folders of a streaming DataFrame are unknown.
    """
    found: list[str] = []
    plan = getattr(frame, "_jdf", None)
    leaves = [None] if plan is None else _items(plan.queryExecution().analyzed().collectLeaves())
    by_leaf = [None if leaf is None else _roots(leaf) for leaf in leaves]
    for locations in by_leaf:
        found += locations or []
    if any(locations is None for locations in by_leaf) and not frame.isStreaming:
        found += [unquote(uri) for uri in frame.inputFiles()]
    return list(dict.fromkeys(found))


def _roots(leaf: Any) -> list[str] | None:
    """Return what a leaf of a plan reads; None: its kind does not tell."""
    kind = leaf.getClass().getSimpleName()
    if kind == "LogicalRelation" and leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
        return [path.toString() for path in _items(leaf.relation().location().rootPaths())]
    if kind == "StreamingRelation":
        source = leaf.dataSource()
        path = source.options().get("path")
        return [*_items(source.paths()), *([path.get()] if path.isDefined() else [])]
    return None


def _items(sequence: Any) -> list[Any]:
    """Return the items of a Scala sequence."""
    return [sequence.apply(n) for n in range(sequence.size())]
