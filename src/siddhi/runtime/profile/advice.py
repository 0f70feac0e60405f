"""What would make a profiled app faster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from siddhi.runtime.profile.figures import Figure
from siddhi.runtime.profile.numbers import bytes_text, count_text, share_text, time_text

if TYPE_CHECKING:
    from siddhi.runtime.profile.profile import Profile

__all__ = ["advice"]

_LARGE = 0.25  # share from which something is worth a change
_MANY = 100_000  # partial matches or keys
_UNSELECTIVE = 0.9


def advice(profile: Profile) -> list[str]:
    """Return what would help, the largest share first."""
    total = profile.measured_seconds
    if total <= 0:
        return []
    found = [hint for figure in profile.figures for hint in _of(figure, total)]
    return [text for _, text in sorted(found, key=lambda hint: -hint[0])]


def _of(figure: Figure, total: float) -> Iterator[tuple[float, str]]:
    place = f"query '{figure.owner}'"
    for name, seconds in figure.python.items():
        if seconds / total >= _LARGE:
            each = time_text(seconds / max(1, figure.calls.get(name, 1)))
            yield (
                seconds / total,
                (
                    f"{share_text(seconds / total)} of the time in your function {name} ({figure.kind} of {place}, {each} a call): "
                    "vectorise it: compute its column with numpy, pandas or polars before send_batch, or write it with built-in "
                    "functions; a filter before it that drops events saves calls"
                ),
            )
    own = (figure.seconds - figure.python_seconds) / total
    if figure.kind == "callback" and own >= _LARGE:
        each = time_text(figure.seconds / max(1, figure.events_in or 1))
        yield (
            own,
            (
                f"{share_text(own)} of the time in callback {figure.text} ({each} per event): take columns with "
                "add_batch_callback(), or hand events over to another thread"
            ),
        )
    if figure.kind == "input" and own >= 2 * _LARGE:
        yield (
            own,
            (
                f"{share_text(own)} of the time goes into taking rows of '{figure.owner}' in: send them together with "
                "send_batch(), which reads columns"
            ),
        )
    if figure.kind == "join" and own >= _LARGE:
        yield (
            own,
            (
                f"{share_text(own)} of the time in the join of {place}: compare attributes with == in 'on' (explain shows whether "
                "rows are found by index or by a scan), give a table @primaryKey or @index, or shorten the windows"
            ),
        )
    if figure.kind == "pattern" and own >= _LARGE and (figure.partial_matches or 0) > _MANY:
        yield (
            own,
            (
                f"{share_text(own)} of the time in the pattern of {place}, which holds {count_text(figure.partial_matches)} partial "
                "matches: bound it with 'within', or compare attributes of its events with =="
            ),
        )
    if figure.kind in ("select", "window, select") and own >= _LARGE and (figure.keys or 0) > _MANY:
        yield (
            own,
            (
                f"{share_text(own)} of the time in the groups of {place}: {count_text(figure.keys)} keys take "
                f"{bytes_text(figure.state_bytes or 0)}; limit them with @limit, or group by less"
            ),
        )
    if figure.kind == "window" and own >= 2 * _LARGE and (figure.state_bytes or 0) > 0:
        yield (
            own,
            (
                f"{share_text(own)} of the time in the window of {place}, which holds {bytes_text(figure.state_bytes or 0)}: filter "
                "before it, and select fewer attributes after it"
            ),
        )
