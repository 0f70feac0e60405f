"""Queries that are added and removed alone do what they would do if the whole app was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import App
from siddhi.errors import CannotChangeAppError
from tests.kit.apps import DEFINITION, Sent, send_rows, timelines

TARGETS = "define stream Out (t string, i int);\ndefine stream Sums (t string, n long);"
BASE = [
    f"@info(name = 'base{number}') from S[i > {number} and t == '{'abc'[number % 3]}'] select t, i insert into Out;"
    for number in range(9)
]
QUERIES = [
    "from S select t, i insert into Out;",
    "from S[i > {k}] select t, i insert into Out;",
    "from S[t == 'a' and i > {k}] select t, i insert into Out;",
    "from S[i >= {k} and i < 7 and t == 'b' or t is null] select t, i insert into Out;",
    "from S[b and d > {k}.5] select t, i insert into Out;",
    "from S[t == 'new{k}'] select t, {k} as i insert into Out",
    "from S#window.length({k}) select t, max(i) as i group by t insert all events into Out;",
    "from S[t == 'b']#window.time({k} sec) select t, count() as n insert into Sums;",
    "from S[i > {k}]#window.time(500) select t, i insert all events into Out;",
    "from S select t, i output all every 300 milliseconds insert into Out;",
    "from S[i < {k}]#window.lengthBatch(2) select t, sum(i) as n insert into Sums;",
    "from S select t, sum(i) as n group by t output last every 300 milliseconds insert into Sums;",
    "from Out[i > {k}]\nselect t, count() as n -- all of them\ninsert into Sums;",
    "from S[i == {k}] select t, i insert into Out; from Sums[n > {k}L] select t, {k} as i insert into Rest;",
    # These change the whole app.
    "from S[i > {k}] select t, i insert into Own{k};",
    "from every a=S[i > {k}] -> b=S[t == a.t] select a.t as t, b.i as i insert into Out;",
    "partition with (t of S) begin from S[i > {k}] select t, i insert into Out; end;",
    "define stream Defined{k} (t string); from Defined{k} select t, 1 as i insert into Out;",
]


@dataclass(frozen=True)
class Step:
    """A change: a text to add, or the number of the query to remove among those that there are; then events."""

    added: str
    removed: int
    events: list[Sent]


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    events = draw(timelines(most=40))
    found = []
    for number in range(draw(st.integers(1, 8))):
        part, events = events[:5], events[5:]
        text = draw(st.sampled_from(QUERIES)).format(k=number + 1)
        if draw(st.integers(0, 3)) and text.startswith("from"):
            text = f"@info(name = 'q{number}')\n{text}"
        found.append(Step(text if draw(st.integers(0, 2)) else "", draw(st.integers(0, 20)), part))
    return [*found, Step("", -1, events)]


def changed(text: str, steps: Sequence[Step], *, whole: bool) -> tuple[list[Any], App]:
    """Make the changes; return what happened, and the app."""
    app = App(text)
    seen: list[Any] = []
    if whole:
        app._ledger_now = lambda: None  # type: ignore[method-assign]
    for target in ("Out", "Sums", "S"):
        app.add_callback(
            target, lambda events, target=target: seen.append((target, [(one.timestamp, one.data) for one in events]))
        )
    app.start()
    for step in steps:
        if step.added:
            change = app.add(step.added)
            seen.append((change.kept, change.added, change.started_anew))
        elif step.removed >= 0:
            names = app.query_names
            if len(names) > 1:
                name = names[step.removed % len(names)]
                try:
                    change = app.remove(name)
                except CannotChangeAppError as error:  # others depend on it
                    seen.append((name, type(error)))
                else:
                    seen.append((change.kept, change.removed))
        send_rows(app, step.events)
    seen.append(app.query_names)
    return seen, app


def starts(app: App) -> list[str]:
    """Return what the text has at the place of each query."""
    lines = (app.plan.app.source or "").splitlines()
    return [lines[plan.span.line - 1][plan.span.column :][:4] for plan in app.plan.executions if plan.span is not None]


@given(
    queries=st.sampled_from([3, len(BASE)]),
    clock=st.sampled_from(["@app:playback", "@app:playback(timers = 'exact')"]),
    steps=steps(),
    later=timelines(late=False),
)
def test_changes_of_single_queries_are_as_those_of_whole_apps(
    queries: int, clock: str, steps: list[Step], later: list[Sent]
) -> None:
    text = "\n".join(["@app:name('A')", clock, DEFINITION, TARGETS, *BASE[:queries]])
    alone, app = changed(text, steps, whole=False)
    wholly, other = changed(text, steps, whole=True)
    with app, other:
        assert alone == wholly
        assert app.plan.app == other.plan.app
        assert all(text in ("from", "part") for text in starts(app))
        assert [batch.columnar for batch in app.plan.batches] == [batch.columnar for batch in other.plan.batches]
        source = app.plan.app.source
        assert source is not None
        seen: list[Any] = []
        with App(source) as fresh:
            assert fresh.plan.app == app.plan.app
            fresh.restore(app.snapshot())
            for one in (app, fresh):
                got: list[Any] = []
                for target in ("Out", "Sums"):
                    one.add_callback(target, lambda events, got=got: got.extend(event.data for event in events))
                seen.append(got)
                last = max([event.timestamp for step in steps for event in step.events], default=0)
                send_rows(one, [Sent(last + event.timestamp, event.values) for event in later])
        assert seen[0] == seen[1]


@given(steps=steps())
def test_a_query_that_was_added_and_removed_was_never_there(steps: list[Step]) -> None:
    text = "\n".join(["@app:playback @app:name('A')", DEFINITION, TARGETS, *BASE])
    events = [step.events for step in steps]
    seen: list[list[Any]] = [[], []]
    apps = [App(text), App(text)]
    for app, got in zip(apps, seen, strict=True):
        app.add_callback("S", lambda events, got=got: got.append(len(events)))
        app.add_callback("Out", lambda events, got=got: got.extend((one.timestamp, one.data) for one in events))
        app.start()
    for number, part in enumerate(events):
        apps[0].add(f"@info(name = 'x{number}') from S[t == 'a'] select t, i insert into Out;")
        apps[0].remove(f"x{number}")
        for app in apps:
            send_rows(app, part)
    with apps[0], apps[1]:
        assert seen[0] == seen[1]
        assert apps[0].explain() == apps[1].explain()
        assert apps[0].plan.app.source == apps[1].plan.app.source
        assert apps[0].snapshot() == apps[1].snapshot()
