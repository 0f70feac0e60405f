"""What is the same before and after a change of a running app does not notice the change."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import CannotChangeAppError
from tests.kit.apps import DEFINITION, NOW, Sent, queries, send_rows, table_of, timelines

OTHERS = [
    ("", "from every a=S[i > 3] -> c=S[i > a.i] within 2 sec select a.i as x, c.i as y insert into {out};"),
    ("", "from every a=S[b] -> not S[i > 10] for 500 milliseconds select a.t as t insert into {out};"),
    ("", "from every a=S, c=S[i > a.i]+ select a.i as x, c[last].i as y insert into {out};"),
    ("", "partition with (t of S) begin from S#window.length(2) select t, sum(i) as i insert into {out}; end;"),
    (
        "",
        (
            "partition with (t of S) begin from S select t, i insert into #In;"
            " from #In#window.time(500) select t, count() as n output last every 400 milliseconds insert into {out}; end;"
        ),
    ),
    (
        "",
        "from S#window.length(3) as a join S#window.time(400) as c on a.t == c.t select a.i as x, c.i as y insert into {out};",
    ),
    (
        "",
        "from (from S#window.length(2) select t, sum(i) as i return)#window.length(2) select max(i) as i insert into {out};",
    ),
    (
        "define window W{n} (t string, i int) time(400) output all events;",
        "from S select t, i insert into W{n}; from W{n} select t, sum(i) as i group by t insert all events into {out};",
    ),
    (
        "define table T{n} (t string, i int);",
        (
            "from S[i > 5] select t, i insert into T{n};"
            " from S join T{n} on S.t == T{n}.t select S.i as x, T{n}.i as y insert into {out};"
        ),
    ),
    (
        "@primaryKey('t') define table T{n} (t string, i int);",
        (
            "from S[not (t is null)] select t, i update or insert into T{n} on T{n}.t == t;"
            " from S[(T{n}.i > i) in T{n}] select t, i insert into {out};"
        ),
    ),
    ("define trigger Tr{n} at every 300 milliseconds;", "from Tr{n} select triggered_time as at insert into {out};"),
    (
        "define aggregation A{n} from S select t, sum(l) as total, count() as n group by t aggregate every sec, min;",
        (
            "from S join A{n} on S.t == A{n}.t within 0L, 100000000L per 'sec'"
            " select S.t as t, A{n}.total as total, A{n}.n as n insert into {out};"
        ),
    ),
]


@dataclass(frozen=True)
class Part:
    """Definitions and queries of a random app that fill one stream."""

    definitions: str
    queries: str
    target: str


def text_of(clock: str, parts: Sequence[Part]) -> str:
    definitions = [part.definitions for part in parts]
    return "\n".join([clock, DEFINITION, *definitions, *(part.queries for part in parts)])


@dataclass(frozen=True)
class Changes:
    """An app, what it is changed to in turn, and the streams that are filled in the same way by all of them."""

    text: str
    versions: list[str]
    common: list[str]


@st.composite
def changes(draw: st.DrawFn, *, clock: bool = True) -> Changes:
    numbers = iter(range(100))
    source = queries(clock=clock, rates=True)

    def part() -> Part:
        number = next(numbers)
        out = f"Out{number}"
        if clock and draw(st.booleans()):
            definitions, text = (text.format(n=number, out=out) for text in draw(st.sampled_from(OTHERS)))
            return Part(definitions, text, out)
        info = draw(st.sampled_from(["", f"@info(name = 'q{number}') "]))
        return Part("", info + draw(source).text.format(source="S", target=out), out)

    current = parts = [part() for _ in range(draw(st.integers(1, 4)))]
    common = {one.target for one in parts}
    heading = draw(st.sampled_from(["@app:playback", "@app:playback(timers = 'exact')"])) if clock else ""
    versions = []
    for _ in range(draw(st.integers(1, 3))):
        current = [one for one in current if draw(st.integers(0, 4))]
        for _ in range(draw(st.integers(0, 2))):
            current.insert(draw(st.integers(0, len(current))), part())
        common &= {one.target for one in current}
        versions.append(text_of(heading, current))
    return Changes(text_of(heading, parts), versions, sorted(common))


def watched(runtime: SiddhiAppRuntime, targets: Sequence[str]) -> dict[str, list[Any]]:
    outputs: dict[str, list[Any]] = {target: [] for target in targets}
    for target, seen in outputs.items():
        runtime.add_callback(
            target, lambda events, seen=seen: seen.append([(event.timestamp, event.data) for event in events])
        )
    return outputs


def change_to(runtime: SiddhiAppRuntime, version: str) -> None:
    """Change an app; queries without a name may replace others without a name."""
    try:
        runtime.replace(version)
    except CannotChangeAppError as error:
        if not all("query_" in label or "partition_" in label for label in error.reasons):
            raise
        runtime.replace(version, reset=error.reasons)


def unchanged_run(change: Changes, events: Sequence[Sent]) -> dict[str, list[Any]]:
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(change.text) as runtime:
        outputs = watched(runtime, change.common)
        send_rows(runtime, events)
    return outputs


def timeless(outputs: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the values of the events; expired ones, and those before the end of the run, have times of the system's clock."""
    return {
        out: [
            tuple("now" if type(value) is int and value in NOW else value for value in row)
            for chunk in chunks
            for _, row in chunk
        ]
        for out, chunks in outputs.items()
    }


@given(change=changes(), events=timelines(), data=st.data())
def test_unchanged_queries_emit_what_they_would_have_without_the_changes(
    change: Changes, events: list[Sent], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.integers(0, len(events))) for _ in change.versions)
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(change.text) as runtime:
        outputs, failures = watched(runtime, change.common), []
        runtime.handle_exception_with(lambda error, *_: failures.append(error))
        runtime.input_handler("S")
        send_rows(runtime, events[: cuts[0]])
        for version, start, end in zip(change.versions, cuts, [*cuts[1:], len(events)], strict=True):
            change_to(runtime, version)
            send_rows(runtime, events[start:end])
    assume(not failures)  # an event that fails in one query does not reach those after it
    assert outputs == unchanged_run(change, events)


@given(change=changes(clock=False), events=timelines(late=False), batches=st.booleans())
def test_events_of_other_threads_are_neither_lost_nor_seen_twice(
    change: Changes, events: list[Sent], batches: bool
) -> None:
    events = [Sent(number, event.values) for number, event in enumerate(events * 10)]
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(change.text) as runtime:
        handler = runtime.input_handler("S")
        outputs, failures = watched(runtime, change.common), []
        runtime.handle_exception_with(lambda error, *_: failures.append(error))
        begun = threading.Event()

        def send() -> None:
            for event in events[:5]:
                handler.send(event.values, event.timestamp)
            begun.set()
            if batches:
                for start in range(5, len(events), 20):
                    handler.send_batch(table_of(events[start : start + 20]), timestamp="event time")
            else:
                for event in events[5:]:
                    handler.send(event.values, event.timestamp)

        sender = threading.Thread(target=send)
        sender.start()
        begun.wait(10)
        for version in change.versions:
            change_to(runtime, version)
        sender.join()
    assume(not failures)
    assert timeless(outputs) == timeless(unchanged_run(change, events))
