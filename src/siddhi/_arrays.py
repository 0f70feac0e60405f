"""Scalars and arrays of numpy, and of libraries with the same interface, as values of Python; numpy is not imported."""

from __future__ import annotations

from typing import Any

__all__ = ["means_null", "python_value"]


def python_value(value: Any) -> Any:
    """Return a scalar as the Python value of its type, None for a masked one, and an array as the list of its elements.

    Anything else is returned as it is.

    A number of less than 64 bits becomes the float with the fewest digits that identify it. The elements of an array are not
    converted. Times stay as they are: their text says more than a number.
    """
    if not (hasattr(type(value), "dtype") and hasattr(type(value), "ndim") and hasattr(type(value), "item")):
        return value
    if means_null(value):
        return None
    if value.ndim > 0:
        return list(value)
    kind = getattr(value.dtype, "kind", "")
    if kind in ("m", "M"):
        return value
    if kind == "f":
        return float(value) if value.dtype.itemsize >= 8 else float(str(value))
    return value.item()


def means_null(value: object) -> bool:
    """Return whether a value is NA or NaT of pandas, or ``masked`` of numpy; they are known by the names of their types."""
    return type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")
