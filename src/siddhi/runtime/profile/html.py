"""A profile as HTML, for notebooks and files."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from siddhi.runtime.profile.figures import OUTSIDE, Figure
from siddhi.runtime.profile.margin import details_of, elsewhere_of, flow_of, label_of, lines_of, summary_of
from siddhi.runtime.profile.numbers import share_text, time_text

if TYPE_CHECKING:
    from siddhi.runtime.profile.profile import Profile

__all__ = ["html_of"]

_CELL = "padding:0 .6em;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
_TEXT = "padding:0 .6em;text-align:left;white-space:pre"


def html_of(profile: Profile) -> str:
    """Return a profile as HTML without scripts: a table with a row per line of text, and notes below the lines."""
    rows = []
    for line in lines_of(profile):
        shown = [figure for figure in line.figures if figure.share >= 0.0005]
        only = shown[0] if len(shown) == 1 else None
        figures = (
            (share_text(line.share), time_text(line.seconds), "" if only is None else flow_of(only))
            if shown
            else ("", "", "")
        )
        rows.append(_row(figures, line.text, line.share if shown else 0.0, "" if only is None else details_of(only)))
        if only is None:
            rows += [_note(figure, f"  · {label_of(figure)}") for figure in shown]
    rows += [_note(figure, label_of(figure)) for figure in elsewhere_of(profile)]
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in ("share", "time", "events in → out"))
    hints = "".join(f"<li>{escape(hint)}</li>" for hint in profile.advice())
    return (
        f'<div><p>{escape(summary_of(profile))}</p><table style="font-family:monospace;border-collapse:collapse">'
        f'<thead><tr>{head}<th style="{_TEXT}">app</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
        f"{f'<ul>{hints}</ul>' if hints else ''}</div>"
    )


def _row(figures: tuple[str, str, str], text: str, share: float, title: str) -> str:
    cells = "".join(f'<td style="{_CELL}">{escape(figure)}</td>' for figure in figures)
    shade = f"background:rgba(255,90,0,{min(0.75, share):.2f})" if share >= 0.005 else ""
    note = f' title="{escape(title, quote=True)}"' if title else ""
    return f'<tr style="{shade}"{note}>{cells}<td style="{_TEXT}">{escape(text)}</td></tr>'


def _note(figure: Figure, text: str) -> str:
    figures = (share_text(figure.share), time_text(figure.seconds), flow_of(figure))
    return _row(figures, text, 0.0 if figure.kind == OUTSIDE else figure.share, details_of(figure))
