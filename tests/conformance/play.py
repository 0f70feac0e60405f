"""Plays a recorded case: builds its app, does its steps, writes down what comes out.

A case is one JSON object a line in ``cases/<group>.jsonl``::

    id, group, note, app      SiddhiQL text
    steps                     {"send": [stream, ts | null, row]}, {"sendBatch": [stream, [[ts, row], ...]]},
                              {"query": on-demand text}, {"persist": true}, {"restart": true}, {"snapshot": true},
                              {"restore": "last" | "snapshot"}
    streams, queries, tables  what is observed: stream callbacks, query callbacks by name, tables read at the end
    expect                    {"error": {...}} for an app that is refused, or {"outputs": [...]}
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError, SiddhiError
from siddhi.persistence import InMemoryPersistenceStore

__all__ = ["CASES", "Call", "Case", "Recording", "Row", "load_cases", "play", "recorded"]

CASES = Path(__file__).parent / "cases"

Case = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """An event as a callback saw it."""

    timestamp: int
    values: tuple[object, ...]
    expired: bool


@dataclass(frozen=True)
class Call:
    """One call of a query callback."""

    timestamp: int
    current: list[Row] | None
    expired: list[Row] | None


@dataclass
class Recording:
    """What came out of a case. ``refusal`` holds the error of an app that was not created."""

    streams: dict[str, list[Row]] = field(default_factory=dict)
    queries: dict[str, list[Call]] = field(default_factory=dict)
    answers: dict[int, list[tuple[object, ...]] | SiddhiError] = field(default_factory=dict)
    tables: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)
    refusal: SiddhiAppError | None = None


def load_cases(path: Path) -> list[Case]:
    """The cases of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def recorded(case: Case) -> Recording:
    """What a case says should come out, in the shape of what does."""
    recording = Recording(
        {name: [] for name in case["streams"]}, {name: [] for name in case["queries"]}, tables={}, answers={}
    )
    for output in case["expect"].get("outputs", ()):
        kind = output["kind"]
        if kind == "stream":
            recording.streams[output["name"]] += _rows(output["events"])
        elif kind == "query":
            call = Call(output["ts"], _rows_or_none(output["current"]), _rows_or_none(output["expired"]))
            recording.queries[output["name"]].append(call)
        elif kind == "ondemand":
            error = output.get("error")
            recording.answers[output["step"]] = (
                SiddhiError(str(error)) if error else [tuple(row) for row in output["rows"] or ()]
            )
        else:
            recording.tables[output["name"]] = [tuple(row) for row in output["rows"] or ()]
    return recording


def play(case: Case) -> Recording:
    """Run a case against the engine."""
    recording = Recording({name: [] for name in case["streams"]}, {name: [] for name in case["queries"]})
    with SiddhiManager() as manager:
        manager.set_persistence_store(InMemoryPersistenceStore())
        try:
            runtime = _start(manager, case, recording)
        except SiddhiAppError as error:
            recording.refusal = error
            return recording
        snapshot = b""
        for number, step in enumerate(case["steps"]):
            ((verb, what),) = step.items()
            if verb == "send":
                stream, timestamp, row = what
                runtime.input_handler(stream).send(tuple(row), timestamp)
            elif verb == "sendBatch":
                stream, rows = what
                runtime.input_handler(stream).send_events([Event(timestamp, row) for timestamp, row in rows])
            elif verb == "query":
                recording.answers[number] = _ask(runtime, what)
            elif verb == "persist":
                runtime.persist()
            elif verb == "restart":
                runtime.shutdown()
                runtime = _start(manager, case, recording)
            elif verb == "snapshot":
                snapshot = runtime.snapshot()
            elif verb == "restore" and what == "last":
                runtime.restore_last_revision()
            elif verb == "restore":
                runtime.restore(snapshot)
            else:
                raise ValueError(f"a case knows no step {verb!r}")
        for table in case["tables"]:
            recording.tables[table] = [event.data for event in runtime.query(f"from {table} select *") or ()]
    return recording


def _start(manager: SiddhiManager, case: Case, recording: Recording) -> SiddhiAppRuntime:
    runtime = manager.create_siddhi_app_runtime(case["app"])
    for stream in case["streams"]:
        seen = recording.streams[stream]
        runtime.add_callback(stream, lambda events, seen=seen: seen.extend(map(_row, events)))
    for query in case["queries"]:
        calls = recording.queries[query]
        runtime.add_query_callback(
            query,
            lambda timestamp, current, expired, calls=calls: calls.append(
                Call(timestamp, _observed(current), _observed(expired))
            ),
        )
    runtime.start()
    return runtime


def _ask(runtime: SiddhiAppRuntime, question: str) -> list[tuple[object, ...]] | SiddhiError:
    try:
        return [event.data for event in runtime.query(question) or ()]
    except SiddhiError as error:
        return error


def _row(event: Event) -> Row:
    return Row(event.timestamp, event.data, event.is_expired)


def _observed(events: list[Event] | None) -> list[Row] | None:
    return None if events is None else [_row(event) for event in events]


def _rows(events: list[dict[str, Any]]) -> list[Row]:
    return [Row(event["ts"], tuple(event["data"]), bool(event.get("expired"))) for event in events]


def _rows_or_none(events: list[dict[str, Any]] | None) -> list[Row] | None:
    return None if events is None else _rows(events)
