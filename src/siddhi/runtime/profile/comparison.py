"""Two profiles side by side."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from siddhi.runtime.profile.figures import Figure
from siddhi.runtime.profile.frame import frame_of
from siddhi.runtime.profile.numbers import time_text

if TYPE_CHECKING:
    from siddhi.runtime.profile.profile import Profile

__all__ = ["Change", "Comparison"]


@dataclass(frozen=True, slots=True)
class Change:
    """A clause in two profiles.

    Attributes:
        owner, kind, text: as in :class:`Figure`.
        before, after: seconds per row that was sent into the app; None: the clause is not in that profile.
    """

    owner: str
    kind: str
    text: str
    before: float | None
    after: float | None

    @property
    def difference(self) -> float:
        """Seconds per row that were added; negative: saved."""
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def ratio(self) -> float | None:
        """Time after by time before; None: one of them is missing or zero."""
        return self.after / self.before if self.before and self.after is not None else None


class Comparison:
    """What changed from one profile to another; returned by :meth:`Profile.compare`.

    Clauses are matched by query, kind and text, then by query and kind where the text has changed. Times are per row that was
    sent into the app, so that runs of different length compare.

    Attributes:
        changes: the clauses, the largest difference first.
    """

    def __init__(self, before: Profile, after: Profile) -> None:
        self._names = (before.app, after.app)
        self._per_row = (before.measured_seconds / max(1, before.rows), after.measured_seconds / max(1, after.rows))
        changes = []
        left, right = list(before.hottest), list(after.hottest)  # without the time outside
        for same in (_exactly, _nearly):
            for old in [*left]:
                new = next((found for found in right if same(found) == same(old)), None)
                if new is not None:
                    left.remove(old)
                    right.remove(new)
                    changes.append(_change(old, new, before, after))
        changes += [_change(old, None, before, after) for old in left]
        changes += [_change(None, new, before, after) for new in right]
        self.changes: tuple[Change, ...] = tuple(sorted(changes, key=lambda change: -abs(change.difference)))

    @property
    def before(self) -> float:
        """Seconds per row of the first profile."""
        return self._per_row[0]

    @property
    def after(self) -> float:
        """Seconds per row of the second profile."""
        return self._per_row[1]

    @property
    def ratio(self) -> float | None:
        """Time per row after by time per row before; None: nothing was measured before."""
        return self.after / self.before if self.before else None

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict per clause; times in seconds per row."""
        return [
            {
                "owner": change.owner,
                "kind": change.kind,
                "text": change.text,
                "before": change.before,
                "after": change.after,
                "difference": change.difference,
                "ratio": change.ratio,
            }
            for change in self.changes
        ]

    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """Return the changes as a data frame, as :meth:`Profile.to_frame` does."""
        return frame_of(self.to_dicts(), library)

    def __repr__(self) -> str:
        lines = [self._summary(), f"{'before':>9}  {'after':>9}  {'change':>10}"]
        lines += [f"{before:>9}  {after:>9}  {ratio:>10}  {label}" for before, after, ratio, label in self._rows()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cell = 'style="text-align:right;padding:0 .6em;white-space:nowrap"'
        rows = "".join(
            f"<tr><td {cell}>{before}</td><td {cell}>{after}</td><td {cell}>{ratio}</td>"
            f'<td style="text-align:left">{escape(label)}</td></tr>'
            for before, after, ratio, label in self._rows()
        )
        head = "".join(f"<th {cell}>{name}</th>" for name in ("before", "after", "change"))
        return f"<div><p>{escape(self._summary())}</p><table><tr>{head}<th>clause</th></tr>{rows}</table></div>"

    def _summary(self) -> str:
        ratio = self.ratio
        change = "" if ratio is None else f", {ratio:.2f} times"
        return f"time per row: {time_text(self.before)} before, {time_text(self.after)} after{change}"

    def _rows(self) -> list[tuple[str, str, str, str]]:
        least = 0.001 * max(self.before, self.after)
        return [
            (
                "-" if change.before is None else time_text(change.before),
                "-" if change.after is None else time_text(change.after),
                "" if change.ratio is None else f"{change.ratio:.2f} times",
                f"{change.owner}: {change.kind} {change.text}",
            )
            for change in self.changes
            if max(change.before or 0.0, change.after or 0.0) >= least
        ]


def _exactly(figure: Figure) -> tuple[str, ...]:
    return figure.owner, figure.kind, figure.text


def _nearly(figure: Figure) -> tuple[str, ...]:
    return figure.owner, figure.kind


def _change(old: Figure | None, new: Figure | None, before: Profile, after: Profile) -> Change:
    figure = new or old
    assert figure is not None
    return Change(
        figure.owner,
        figure.kind,
        figure.text,
        None if old is None else old.seconds / max(1, before.rows),
        None if new is None else new.seconds / max(1, after.rows),
    )
