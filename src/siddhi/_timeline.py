"""Pictures of lifetimes: SVG of temporal streams over one time axis. The same items give the same text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from html import escape
from pathlib import Path
from typing import Any

from siddhi.temporal import MAX, MIN, TemporalEvent

__all__ = ["Drawing", "render"]

_MARGIN = 16
_LANE = 26
_BAR = 20
_CHARACTER = 7.0
"""Width that a character of a label needs, at most on average."""
_HEAD = 24
"""Height of the title of a stream."""
_AXIS = 44
_COLORS = ("#dbe9f6", "#3b6ea5")
_GONE = ("#f3f3f3", "#999999")
_CTI = "#b3412e"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_CLOCK_FROM = 10_000_000_000
"""Larger times (April 1970) are shown as dates and times of day, in UTC."""
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_STEPS = [
    *(factor * 10**power for power in range(3) for factor in (1, 2, 5)),
    *(factor * _SECOND for factor in (1, 2, 5, 10, 15, 30)),
    *(factor * _MINUTE for factor in (1, 2, 5, 10, 15, 30)),
    *(factor * _HOUR for factor in (1, 2, 3, 6, 12)),
    _DAY,
]


class Drawing:
    """A picture of lifetimes. Jupyter shows it.

    Attributes:
        svg: the picture as SVG.
    """

    __slots__ = ("svg",)

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing: {len(self.svg)} characters of SVG>"

    def save(self, path: str | Path) -> None:
        """Write the picture to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")


class _Bar:
    """A lifetime to draw. An end of MAX is open."""

    __slots__ = ("end", "is_gone", "is_point", "label", "lane", "start")

    def __init__(self, start: int, end: int, label: str, *, is_point: bool) -> None:
        self.start = start
        self.end = end
        self.label = label
        self.is_point = is_point
        self.is_gone = False
        self.lane = 0


class _Panel:
    """The bars and CTIs of one stream."""

    def __init__(self, title: str, items: Iterable[Sequence[Any]]) -> None:
        self.title = title
        self.bars: list[_Bar] = []
        self.ctis: list[int] = []
        known: dict[tuple[int, str], list[_Bar]] = {}
        for kind, start, end, data in items:
            if kind == "cti":
                self.ctis.append(start)
                continue
            label = _label(data)
            same = known.setdefault((start, label), [])
            if kind == "end":
                for bar in same:
                    if bar.end == MAX and not bar.is_gone:
                        bar.end = end
                        break
            elif kind == "retract":
                for bar in reversed(same):
                    if not bar.is_gone:
                        bar.is_gone = True
                        break
            else:
                is_point = kind == "point"
                last = start + 1 if is_point else MAX if end is None else end
                bar = _Bar(start, last, label, is_point=is_point)
                same.append(bar)
                self.bars.append(bar)
        self.n_lanes = 1

    def times(self) -> Iterable[int]:
        for bar in self.bars:
            yield bar.start
            yield bar.end
        yield from self.ctis


class _Scale:
    """Times → horizontal positions."""

    def __init__(self, first: int, last: int, width: int) -> None:
        self.first = first
        self.last = max(last, first + 1)
        self.left = float(_MARGIN + 16)  # room for half the text of a tick
        self.width = width
        self.right = float(width - _MARGIN - 28)  # room for arrows of open lifetimes

    def __call__(self, time: int) -> float:
        if time == MAX:
            return self.right + 20
        inside = min(max(time, self.first), self.last)
        return self.left + (inside - self.first) * (self.right - self.left) / (self.last - self.first)

    def ticks(self) -> tuple[int, list[int]]:
        """Return the step between ticks and their times."""
        span = self.last - self.first
        step = next((step for step in _STEPS if span <= 8 * step), 0)
        if not step:
            step = _DAY
            while span > 8 * step:
                step *= 2
        return step, list(range(-(-self.first // step) * step, self.last + 1, step))


def render(streams: Mapping[str, Iterable[TemporalEvent | tuple[Any, ...]]], width: int) -> Drawing:
    """Draw streams below one another; see :func:`siddhi.temporal.draw`."""
    panels = [_Panel(title, items) for title, items in streams.items()]
    finite = [time for panel in panels for time in panel.times() if time not in (MIN, MAX)]
    scale = _Scale(min(finite, default=0), max(finite, default=1), width)
    body: list[str] = []
    top = 6
    for panel in panels:
        _assign_lanes(panel, scale)
        top = _draw_panel(panel, scale, top, body)
    _draw_axis(scale, top, width, body)
    height = top + _AXIS
    size = f'width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" font-family="sans-serif" '
    lines = [f'{head}font-size="12">', f'<rect {size} fill="#ffffff"/>', *body, "</svg>"]
    return Drawing("\n".join(lines) + "\n")


def _label(data: Sequence[Any] | None) -> str:
    return ", ".join(_text(value) for value in data or ())


def _text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _is_dot(bar: _Bar, scale: _Scale) -> bool:
    """Return whether a bar of one millisecond is too short to be seen."""
    return bar.is_point or (bar.end == bar.start + 1 and scale(bar.end) - scale(bar.start) < 4)


def _place(bar: _Bar, scale: _Scale) -> tuple[float, str, float, float]:
    """Return the position and the anchor of a bar's label, and the left and right end of bar and label together."""
    left, right = scale(bar.start), scale(bar.end)
    needed = _CHARACTER * len(bar.label) + 8
    if _is_dot(bar, scale):
        left, right = left - 4, left + 4
    elif right - left >= needed:
        return left + 5, "start", left, right
    else:
        right = max(right, left + 2)
    if right + needed > scale.width and left - needed > 0:
        return left - 4, "end", left - needed, right
    return right + 4, "start", left, right + needed


def _assign_lanes(panel: _Panel, scale: _Scale) -> None:
    """Give each bar the first lane where neither it nor its label touches another one."""
    ends: list[float] = []
    for bar in sorted(panel.bars, key=lambda bar: (bar.start, bar.end, bar.label)):
        _, _, left, right = _place(bar, scale)
        bar.lane = next((lane for lane, taken in enumerate(ends) if taken <= left), len(ends))
        ends[bar.lane : bar.lane + 1] = [right]
    panel.n_lanes = max(1, len(ends))


def _draw_panel(panel: _Panel, scale: _Scale, top: int, body: list[str]) -> int:
    """Append the elements of a stream; return the top of what comes next."""
    below = top + _HEAD + panel.n_lanes * _LANE
    if panel.title:
        body.append(
            f'<text x="{_MARGIN}" y="{top + 16}" font-weight="bold" fill="#222222">{escape(panel.title)}</text>'
        )
    for bar in panel.bars:
        _draw_bar(bar, scale, top + _HEAD + bar.lane * _LANE, body)
    for time in sorted(set(panel.ctis)):
        x = scale(time)
        body.append(
            f'<line x1="{x:.1f}" y1="{top + _HEAD - 6}" x2="{x:.1f}" y2="{below}" stroke="{_CTI}" stroke-dasharray="4 3"/>'
        )
        body.append(
            f'<text x="{x:.1f}" y="{top + _HEAD - 9}" font-size="10" text-anchor="middle" fill="{_CTI}">CTI</text>'
        )
    return below + 8


def _draw_bar(bar: _Bar, scale: _Scale, top: int, body: list[str]) -> None:
    fill, stroke = _GONE if bar.is_gone else _COLORS
    dashes = ' stroke-dasharray="3 2"' if bar.is_gone else ""
    left, right = scale(bar.start), scale(bar.end)
    middle = top + _BAR / 2
    if _is_dot(bar, scale):
        body.append(f'<circle cx="{left:.1f}" cy="{middle:.1f}" r="4" fill="{stroke}"/>')
    elif bar.end == MAX:
        body.append(
            f'<path d="M{left:.1f} {top} H{right - 8:.1f} L{right:.1f} {middle:.1f} L{right - 8:.1f} {top + _BAR} '
            f'H{left:.1f} Z" fill="{fill}" stroke="{stroke}"{dashes}/>'
        )
    else:
        right = max(right, left + 2)
        body.append(
            f'<rect x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{_BAR}" '
            f'fill="{fill}" stroke="{stroke}"{dashes}/>'
        )
    if not bar.label:
        return
    x, anchor, _, _ = _place(bar, scale)
    strike = ' text-decoration="line-through"' if bar.is_gone else ""
    color = _GONE[1] if bar.is_gone else "#222222"
    body.append(
        f'<text x="{x:.1f}" y="{middle + 4:.1f}" text-anchor="{anchor}" fill="{color}"{strike}>{escape(bar.label)}</text>'
    )


def _draw_axis(scale: _Scale, top: int, width: int, body: list[str]) -> None:
    is_clock = abs(scale.last) >= _CLOCK_FROM
    step, ticks = scale.ticks()
    body.append(f'<line x1="{_MARGIN}" y1="{top}" x2="{width - _MARGIN}" y2="{top}" stroke="#555555"/>')
    for time in ticks:
        x = scale(time)
        body.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + 5}" stroke="#555555"/>')
        text = escape(_clock(time, step) if is_clock else str(time))
        body.append(
            f'<text x="{x:.1f}" y="{top + 18}" font-size="11" text-anchor="middle" fill="#555555">{text}</text>'
        )
    unit = f"{_date(scale.first)}, UTC" if is_clock and step < _DAY else "UTC" if is_clock else "ms"
    body.append(
        f'<text x="{width - _MARGIN}" y="{top + 34}" font-size="11" text-anchor="end" fill="#555555">{unit}</text>'
    )


def _date(time: int) -> str:
    try:
        return (_EPOCH + timedelta(milliseconds=time)).strftime("%Y-%m-%d")
    except OverflowError:
        return f"day {time // _DAY}"


def _clock(time: int, step: int) -> str:
    if step >= _DAY:
        return _date(time)
    seconds, milliseconds = divmod(time % _DAY, _SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text if step >= _SECOND else f"{text}.{milliseconds:03}"
