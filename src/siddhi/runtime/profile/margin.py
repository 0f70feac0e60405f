"""A profile as text: the app's own text with figures in the margin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from siddhi.runtime.profile.figures import OUTSIDE, Figure
from siddhi.runtime.profile.numbers import bytes_text, count_text, share_text, time_text

if TYPE_CHECKING:
    from siddhi.runtime.profile.profile import Profile

__all__ = ["Line", "details_of", "elsewhere_of", "flow_of", "label_of", "lines_of", "margin_text", "summary_of"]

_SHOWN = 0.0005  # shares below are not shown
_HOT = ((0.5, "\x1b[97;41m"), (0.2, "\x1b[30;43m"), (0.05, "\x1b[33m"))
_PLAIN = "\x1b[0m"
_WIDTH = 36  # of the margin


@dataclass(slots=True)
class Line:
    """A line of the app's text with the figures of the clauses that begin in it; ``text`` is a note between lines if
    ``number`` is 0."""

    number: int
    text: str
    figures: list[Figure] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Of the measured time."""
        return sum(figure.share for figure in self.figures)

    @property
    def seconds(self) -> float:
        """Time of its clauses."""
        return sum(figure.seconds for figure in self.figures)


def lines_of(profile: Profile) -> list[Line]:
    """Return the lines of an app's text with the figures that belong to them."""
    lines = [Line(number, text) for number, text in enumerate(profile.source.splitlines(), 1)]
    for figure in profile.figures:
        if figure.span is not None and 1 <= figure.span.line <= len(lines):
            lines[figure.span.line - 1].figures.append(figure)
    return lines


def elsewhere_of(profile: Profile) -> list[Figure]:
    """Return the figures that belong to no line, the slowest first, and the time outside of siddhi."""
    figures = (*profile.hottest, profile.outside)
    return [figure for figure in figures if figure.span is None and figure.share >= _SHOWN]


def summary_of(profile: Profile) -> str:
    """Return what the figures are based on, in one line."""
    sampled = (
        "every unit measured"
        if profile.sampled >= 1
        else f"{share_text(profile.sampled)} of the units measured in detail"
    )
    return (
        f"profile of '{profile.app}': {time_text(profile.seconds)}, {count_text(profile.rows)} rows in, "
        f"{time_text(profile.measured_seconds)} in the app ({time_text(profile.cpu_seconds)} CPU of the process), {sampled}"
    )


def details_of(figure: Figure) -> str:
    """Return the notes of a figure: functions, keys, state."""
    notes = [
        f"{time_text(seconds)} in {name}()"
        for name, seconds in sorted(figure.python.items(), key=lambda item: -item[1])
        if seconds > 0
    ]
    if figure.keys:
        notes.append(f"{count_text(figure.keys)} keys")
    if figure.partial_matches:
        notes.append(f"{count_text(figure.partial_matches)} partial matches")
    if figure.state_bytes:
        notes.append(f"{bytes_text(figure.state_bytes)} of state")
    return ", ".join(notes)


def flow_of(figure: Figure) -> str:
    """Return the events that came in and went out."""
    if figure.events_out is None:
        return count_text(figure.events_in)
    return f"{count_text(figure.events_in)} → {count_text(figure.events_out)}"


def label_of(figure: Figure) -> str:
    """Return kind and text of a figure, in at most 80 characters."""
    text = figure.text if len(figure.text) <= 60 else figure.text[:59] + "…"
    if figure.kind == "callback" and figure.owner:
        text += f" of {figure.owner}"
    return text if text.lower().startswith(figure.kind) else f"{figure.kind} {text}"


def margin_text(profile: Profile, *, color: bool) -> str:
    """Return a profile as text."""
    out = [summary_of(profile), "", f"{'share':>7}  {'time':>8}  {'events in → out':>17} │"]
    for line in lines_of(profile):
        shown = [figure for figure in line.figures if figure.share >= _SHOWN]
        first, others = (shown[0], []) if len(shown) == 1 else (None, shown)
        if first is not None:
            margin = _margin(first.share, first.seconds, flow_of(first))
        elif shown:
            margin = _margin(line.share, line.seconds, "")
        else:
            margin = " " * (_WIDTH)
        out.append(_shaded(f"{margin} │ {line.text}".rstrip(), line.share if shown else 0.0, color=color))
        if first is not None and (details := details_of(first)):
            out.append(f"{'':{_WIDTH}} │     {details}")
        for figure in others:
            if figure is not None:
                details = f" ({details})" if (details := details_of(figure)) else ""
                note = f"{_margin(figure.share, figure.seconds, flow_of(figure))} │   · {label_of(figure)}{details}"
                out.append(_shaded(note, figure.share, color=color))
    elsewhere = elsewhere_of(profile)
    if elsewhere:
        out.append("")
        for figure in elsewhere:
            note = f"{_margin(figure.share, figure.seconds, flow_of(figure))} │ {label_of(figure)}"
            out.append(_shaded(note, 0.0 if figure.kind == OUTSIDE else figure.share, color=color))
    hints = profile.advice()
    if hints:
        out += ["", *(f"- {hint}" for hint in hints)]
    return "\n".join(out)


def _margin(share: float, seconds: float, flow: str) -> str:
    return f"{share_text(share):>7}  {time_text(seconds):>8}  {flow:>17}"


def _shaded(text: str, share: float, *, color: bool) -> str:
    if color:
        for limit, code in _HOT:
            if share >= limit:
                return f"{code}{text}{_PLAIN}"
    return text
