"""The profile of an app: measures while it is entered, and shows the figures afterwards."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from siddhi._core.profile.probes import read_both
from siddhi._core.runtime.sampler import Sampler
from siddhi.runtime.assembly.profile.clauses import Clause, Probes
from siddhi.runtime.profile.figures import OUTSIDE, Figure, Stack, Tree, figures_of, stacks_of, text_of

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.profile.comparison import Comparison

__all__ = ["Profile"]

BUDGET = 0.01
"""The part of an app's time that sampling may cost. Counting rows at the entries of queries adds a little to it."""


class Profile:
    """Where the time of an app goes; returned by :meth:`SiddhiAppRuntime.profile`, and a context manager.

    Entering begins to measure, leaving ends it. The figures can be read in between and afterwards. ``print(profile)`` shows the
    text of the app with figures in the margin, a notebook shows it shaded. A profile is entered once.

    Args:
        assembly: the app's operators.
        budget: the part of the time that sampling may cost, such as 0.01.
        every: sample every n-th unit of work (a send, a block of 128 rows of a batch, a timer), 1 for all; None: all of the
            first 256, then as the budget allows.
    """

    def __init__(self, assembly: Assembly, budget: float = BUDGET, every: int | None = None) -> None:
        if not 0 < budget <= 1:
            raise ValueError(f"invalid budget {budget!r}: expected a part of the time, such as 0.01")
        if every is not None and every < 1:
            raise ValueError(f"invalid value {every!r} of 'every': expected a number of units from 1 on")
        self._assembly = assembly
        self._sampler = Sampler(budget, every or 0)
        self._probes: Probes | None = None
        self._running = False
        self._figures: tuple[Figure, ...] | None = None
        self._stacks: tuple[Stack, ...] = ()
        self._begun = self._ended = (0, 0, 0, 0)
        self._thread = 0

    # --- measuring

    def start(self) -> None:
        """Begin to measure, as entering does.

        Raises:
            RuntimeError: the profile was started before, or another one of the app is running.
        """
        if self._probes is not None:
            raise RuntimeError(f"the profile of app '{self.app}' was started before: call app.profile() for a new one")
        with self._assembly.context.lock:
            if self._assembly.profile is not None:
                raise RuntimeError(f"app '{self.app}' is being profiled: end that profile before another one begins")
            self._probes = Probes(self._assembly, self._sampler)
            if self._assembly.temporal is not None:
                from siddhi.runtime.assembly.profile.temporal import TemporalProbes

                TemporalProbes(self._assembly.temporal, self._assembly.plan.temporal_queries, self._probes)
            self._assembly.profile = self
            self._thread = threading.get_ident()
            self._begun = _clocks()
            self._probes.attach()
            self._running = True

    def stop(self) -> None:
        """End measuring, as leaving does. No effect if it has ended."""
        if self._probes is None:
            return
        with self._assembly.context.lock:
            if not self._running:
                return
            self._probes.detach()
            self._ended = _clocks()
            self._running = False
            self._assembly.profile = None
            self._assembly.last_profile = self
            self._read(self._ended)

    def __enter__(self) -> Profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def is_running(self) -> bool:
        """Whether it measures."""
        return self._running

    # --- figures

    @property
    def app(self) -> str:
        """Name of the app."""
        return self._assembly.context.name

    @property
    def source(self) -> str:
        """The text of the app; empty if it was built from an object model."""
        return self._assembly.plan.app.source or ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """One :class:`Figure` per clause in the order of the text, then one per callback, then the CPU time outside of siddhi."""
        if self._running:
            with self._assembly.context.lock:
                self._read(_clocks())
        return self._figures or ()

    @property
    def hottest(self) -> tuple[Figure, ...]:
        """The figures of the app by time, the largest first: without the time outside of siddhi."""
        return tuple(sorted(_inside(self.figures), key=lambda figure: -figure.seconds))

    @property
    def outside(self) -> Figure:
        """The CPU time that nothing of the app took: your loop around sends, and what else the thread did."""
        return next(
            (figure for figure in self.figures if figure.kind == OUTSIDE),
            Figure("", OUTSIDE, "outside of siddhi", 0.0, 0.0, None, None),
        )

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The measured time by path of the call tree: input, clauses, functions and callbacks inside one another."""
        _ = self.figures
        return self._stacks

    @property
    def seconds(self) -> float:
        """Time from the beginning to the end, or until now."""
        return self._since(0)

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the process meanwhile, of all threads."""
        return self._since(1)

    @property
    def thread_seconds(self) -> float:
        """CPU time meanwhile of the thread that started the profile, if the same one ended it."""
        return self._since(2)

    @property
    def measured_seconds(self) -> float:
        """What the app did, from the first row it took in to the last callback: the figures without the time outside."""
        return sum(figure.seconds for figure in _inside(self.figures))

    @property
    def sampled(self) -> float:
        """The part of the units of work that was measured in detail, 0 to 1; 1: all counts are exact."""
        if self._probes is None:
            return 0.0
        units, detailed, _ = self._probes.units()
        return min(1.0, detailed / units) if units else 1.0

    @property
    def rows(self) -> int:
        """Number of rows that were sent into the app."""
        return sum(figure.events_in or 0 for figure in self.figures if figure.kind == "input")

    def advice(self) -> list[str]:
        """Return what would make the app faster, the most effective first; empty if nothing stands out."""
        from siddhi.runtime.profile.advice import advice

        return advice(self)

    # --- showing

    def text(self, *, color: bool = False) -> str:
        """Return the text of the app with figures in the margin, then what is hot, then advice.

        Args:
            color: whether hot lines are shaded, with the control sequences of terminals.
        """
        from siddhi.runtime.profile.margin import margin_text

        return margin_text(self, color=color)

    def __repr__(self) -> str:
        return self.text() if self._probes is not None else f"<Profile of app '{self.app}' (not started)>"

    def __str__(self) -> str:
        import os

        return self.text(color=sys.stdout.isatty() and "NO_COLOR" not in os.environ) if self._probes else repr(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the profile as HTML, hot lines shaded.

        Args:
            path: a file to which it is written, too, as a page of its own.
        """
        from siddhi.runtime.profile.html import html_of

        html = html_of(self)
        if path is not None:
            title = f"profile of {self.app}".replace("&", "&amp;").replace("<", "&lt;")
            page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><body>{html}</body></html>\n'
            Path(path).write_text(page, encoding="utf-8")
        return html

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict per figure, of plain values: times in seconds."""
        return [_row(figure) for figure in self.figures]

    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """Return the figures as a data frame, one row per figure.

        Args:
            library: of the frame; None: pandas, or polars where pandas is not installed.

        Raises:
            ImportError: the library is not installed.
        """
        from siddhi.runtime.profile.frame import frame_of

        return frame_of(self.to_dicts(), library)

    def to_speedscope(self, path: str | Path | None = None) -> dict[str, Any]:
        """Return the call tree as a file of https://www.speedscope.app, as a dict for ``json``.

        Args:
            path: a file to which it is written, too.
        """
        from siddhi.runtime.profile.speedscope import speedscope_of

        content = speedscope_of(self)
        if path is not None:
            import json

            Path(path).write_text(json.dumps(content), encoding="utf-8")
        return content

    def compare(self, other: Profile) -> Comparison:
        """Compare with a later profile, of this app or of a changed one: time per row of each clause, before and after."""
        from siddhi.runtime.profile.comparison import Comparison

        return Comparison(self, other)

    # --- inside

    def _since(self, clock: int) -> float:
        end = _clocks() if self._running else self._ended
        return (end[clock] - self._begun[clock]) / 1e9

    def _read(self, now: tuple[int, int, int, int]) -> None:
        assert self._probes is not None
        elapsed = max(1, now[0] - self._begun[0])
        scale = elapsed / max(1, now[3] - self._begun[3]) / 1e9  # seconds per tick
        lines = self.source.splitlines()
        clauses = self._probes.clauses
        units, _, covered = self._probes.units()
        tree = Tree(self._sampler.root, self._probes.totals(), units / covered if 0 < covered < units else 1.0, scale)
        # CPU time of the thread if it alone sends, else of the process; without what measuring has cost.
        alone = (
            not self._sampler.several
            and self._sampler.home in (0, self._thread)
            and threading.get_ident() == self._thread
        )
        cpu = (now[2] - self._begun[2] if alone else now[1] - self._begun[1]) / 1e9
        self._figures = figures_of(tree, clauses, lines, cpu - self._probes.spent() * scale)
        self._stacks = stacks_of(tree, clauses, lambda clause: _frame_name(clause, lines))


def _inside(figures: tuple[Figure, ...]) -> list[Figure]:
    return [figure for figure in figures if figure.kind != OUTSIDE]


def _clocks() -> tuple[int, int, int, int]:
    """Return ns of the wall clock, CPU of the process and of the thread, and ticks."""
    nanoseconds, ticks = read_both()
    return nanoseconds, time.process_time_ns(), time.thread_time_ns(), ticks


def _frame_name(clause: Clause, lines: list[str]) -> str:
    text = " ".join(found for span in clause.spans[:1] if (found := text_of(span, lines)))
    if clause.kind == "input" or not text:
        return f"{clause.kind} {clause.owner}"
    return f"{clause.owner}: {clause.kind} {text if len(text) <= 60 else text[:59] + '…'}"


def _row(figure: Figure) -> dict[str, Any]:
    python: Mapping[str, float] = figure.python
    return {
        "owner": figure.owner,
        "kind": figure.kind,
        "text": figure.text,
        "line": None if figure.span is None else figure.span.line,
        "seconds": figure.seconds,
        "share": figure.share,
        "events_in": figure.events_in,
        "events_out": figure.events_out,
        "selectivity": figure.selectivity,
        "ns_per_event": figure.nanoseconds_per_event,
        "python_seconds": figure.python_seconds,
        "python_functions": ", ".join(sorted(python, key=lambda name: -python[name])),
        "state_bytes": figure.state_bytes,
        "keys": figure.keys,
        "partial_matches": figure.partial_matches,
    }
