"""Temporal streams: the ends of the time axis, and the items that temporal callbacks get."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from siddhi._timeline import Drawing

__all__ = ["MAX", "MIN", "TemporalCallbackFunction", "TemporalEvent", "draw"]

MAX = (1 << 63) - 1
"""As an end: not known, or never. As a CTI: the end of the input."""

MIN = -(1 << 63)
"""Before everything: the CTI of a stream that has had none."""


class TemporalEvent(NamedTuple):
    """An item that a temporal stream shows. Times are milliseconds since 1970.

    Attributes:
        kind: ``insert`` (a row with its lifetime), ``point``, ``start``, ``end``, or ``cti``.
        start: the start of the lifetime; of a CTI: its time.
        end: the end of the lifetime, the first millisecond after it; None for ``start`` and ``cti``.
        data: the values of the row; None for ``cti``.
    """

    kind: str
    start: int
    end: int | None
    data: tuple[Any, ...] | None


TemporalCallbackFunction = Callable[[list[TemporalEvent]], object]
"""Gets the items that one CTI has released, in order, the CTI last."""


def draw(
    items: Iterable[TemporalEvent | tuple[Any, ...]] | Mapping[str, Iterable[TemporalEvent | tuple[Any, ...]]],
    *,
    width: int = 720,
) -> Drawing:
    """Draw lifetimes over a time axis: a bar per row, an arrow where the end is not known, a dashed line per CTI.

    START and END of the edge model become one bar; rows that were retracted are struck out.

    Args:
        items: items of a temporal callback, or tuples of the same four values; or such items by title, for several streams
            over the same axis.
        width: of the picture in pixels, at least 240.

    Returns:
        A drawing that Jupyter shows; its ``svg`` is text, and ``save(path)`` writes it.
    """
    from siddhi._timeline import render

    if width < 240:
        raise ValueError(f"a picture of lifetimes is at least 240 pixels wide, not {width}")
    return render(items if isinstance(items, Mapping) else {"": items}, width)
