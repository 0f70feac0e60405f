"""Plots of streams: ``siddhi.notebook.plot(Alerts)``. Requires the extra ``siddhi[plot]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from siddhi import EventBatch
    from siddhi.runtime.query_rows import QueryRows

__all__ = ["plot"]

_NUMBERS = frozenset({"int", "long", "float", "double"})
_TIME = "time"


def plot(
    data: EventBatch | QueryRows,
    y: str | Sequence[str] | None = None,
    *,
    x: str | None = None,
    color: str | None = None,
    kind: Literal["line", "point", "bar", "area"] = "line",
) -> Any:
    """Return a chart of altair of the events of a stream.

    Args:
        data: a batch or the rows of an on-demand query.
        y: attribute or attributes that are shown; None: all numbers, without those of *x* and *color*.
        x: attribute on the horizontal axis; None: the time of the events.
        color: attribute whose values get a line and colour of their own, such as a symbol.
        kind: how events are drawn.

    Raises:
        ModuleNotFoundError: altair is not installed.
        ValueError: an attribute is missing, there is no number to show, or there are several and *color* is given, too.
    """
    try:
        import altair as alt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("plots need altair; run: pip install 'siddhi[plot]'", name=error.name) from error
    batch = data if hasattr(data, "timestamps") else data.to_batch()
    kinds = dict(zip(batch.names, batch.types, strict=True))
    wanted = [y] if isinstance(y, str) else list(y or ())
    for name in (*wanted, *(one for one in (x, color) if one is not None)):
        if name not in kinds:
            raise ValueError(f"no attribute '{name}': expected one of {', '.join(kinds)}")
    if not wanted:
        wanted = [name for name, type_ in kinds.items() if type_ in _NUMBERS and name not in (x, color)]
    if not wanted:
        raise ValueError("no attribute is a number: name the one to show, and kind='point'")
    if len(wanted) > 1 and color is not None:
        raise ValueError("several attributes have a colour each: name one attribute, or no color")
    axis = x or _TIME
    while x is None and axis in kinds:
        axis += "_"
    rows = batch.to_dicts()
    if x is None:
        rows = [{**row, axis: time} for row, time in zip(rows, batch.timestamps.tolist(), strict=True)]
    across = alt.X(axis, type="temporal" if x is None else "quantitative" if kinds[x] in _NUMBERS else "nominal")
    chart = getattr(alt.Chart(alt.Data(values=rows)), f"mark_{kind}")()
    if len(wanted) == 1:
        encoded = {"x": across, "y": alt.Y(wanted[0], type=_scale(kinds[wanted[0]]))}
        if color is not None:
            encoded["color"] = alt.Color(color, type="nominal")
        return chart.encode(**encoded)
    return chart.transform_fold(wanted, as_=["attribute", "value"]).encode(
        x=across, y=alt.Y("value", type="quantitative"), color=alt.Color("attribute", type="nominal")
    )


def _scale(type_: str) -> str:
    return "quantitative" if type_ in _NUMBERS else "nominal"
