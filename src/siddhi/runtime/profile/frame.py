"""Rows as a data frame of pandas or polars."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["frame_of"]


def frame_of(rows: list[dict[str, Any]], library: str | None) -> Any:
    """Return rows as a data frame.

    Args:
        rows: of equal keys.
        library: "pandas", "polars", or None for the first of them that is installed.

    Raises:
        ImportError: the library is not installed.
        ValueError: there is no such library.
    """
    if library not in (None, "pandas", "polars"):
        raise ValueError(f"invalid library {library!r}: expected 'pandas' or 'polars'")
    known = [name for name in ("pandas", "polars") if library in (None, name)]
    name = next((name for name in known if find_spec(name) is not None), None)
    if name is None:
        raise ImportError(
            f"a data frame requires {' or '.join(known)}: pip install {known[0]}, or use to_dicts(), which requires nothing"
        )
    return import_module(name).DataFrame(rows)
