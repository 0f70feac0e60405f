"""Runs as text: every app here over its events, four ways, against the output beside it.

``NAME.siddhi`` holds an app, a line ``---``, and what is sent, a line each::

    1000 S ["IBM", 700.5, 100]            one event with its timestamp (ms)
    1000 S ["IBM", 1.0, 1] ["WSO2", 2.0, 2]   a chunk: both at 1000
    2000                                  the clock moves, nothing is sent

``NAME.output`` contains the outputs of every stream and query. The ways are: row by row; ``send_batch`` of at most seven rows;
``send_batch`` of as many rows as stand together; row by row with the app thrown away in the middle and its snapshot
restored by another manager. ``pytest tests/golden --accept`` rewrites the outputs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from tests.conftest import Golden

APPS = sorted(Path(__file__).parent.glob("*.siddhi"))
ARROW_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
}


@dataclass(frozen=True)
class Step:
    """A line of events: no stream moves the clock only."""

    timestamp: int
    stream: str | None
    rows: list[list[Any]]


@dataclass
class Output:
    """What came out, under headings: a stream's events, a query's callbacks."""

    parts: dict[str, list[str]] = field(default_factory=dict)

    def watch(self, runtime: SiddhiAppRuntime) -> None:
        for stream in runtime.stream_definitions:
            if not stream.startswith("#"):
                runtime.add_callback(stream, self._stream(self.parts.setdefault(f"stream {stream}", [])))
        for query in runtime.query_names:
            runtime.add_query_callback(query, self._query(self.parts.setdefault(f"query {query}", [])))

    @staticmethod
    def _stream(lines: list[str]) -> Callable[[list[Event]], None]:
        return lambda events: lines.extend(f"{event.timestamp} {text_of(event)}" for event in events)

    @staticmethod
    def _query(lines: list[str]) -> Callable[[int, list[Event] | None, list[Event] | None], None]:
        def note(timestamp: int, current: list[Event] | None, expired: list[Event] | None) -> None:
            parts = [f"{name} {' '.join(map(text_of, events))}" for name, events in
                     (("expired", expired), ("current", current)) if events is not None]  # fmt: skip
            lines.append(f"{timestamp} {', '.join(parts)}")

        return note

    def __str__(self) -> str:
        return "\n".join(line for heading, lines in self.parts.items() for line in (f"[{heading}]", *lines, ""))


def text_of(event: Event) -> str:
    return json.dumps(
        list(event.data), default=lambda value: sorted(value) if isinstance(value, (set, frozenset)) else repr(value)
    )


def read(path: Path) -> tuple[str, list[Step]]:
    app, _, lines = path.read_text(encoding="utf-8").partition("\n---\n")
    return app, [step_of(line) for line in lines.splitlines() if line.strip()]


def step_of(line: str) -> Step:
    timestamp, _, rest = line.partition(" ")
    stream, _, text = rest.partition(" ")
    rows = []
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        row, end = decoder.raw_decode(text)
        rows.append(row)
        text = text[end:]
    return Step(int(timestamp), stream or None, rows)


def do(runtime: SiddhiAppRuntime, step: Step) -> None:
    if step.stream is None:
        runtime.advance_clock(step.timestamp)
    elif len(step.rows) == 1:
        runtime.input_handler(step.stream).send(step.rows[0], step.timestamp)
    else:
        runtime.input_handler(step.stream).send_events([Event(step.timestamp, row) for row in step.rows])


def row_by_row(app: str, steps: list[Step]) -> str:
    output = Output()
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        output.watch(runtime)
        for step in steps:
            do(runtime, step)
    return str(output)


def batches(steps: list[Step], most: int) -> Iterator[list[Step]]:
    """Neighbouring single rows of one stream together, at most ``most`` of them."""
    batch: list[Step] = []
    for step in steps:
        alone = step.stream is None or len(step.rows) != 1
        if batch and (alone or step.stream != batch[-1].stream or len(batch) == most):
            yield batch
            batch = []
        if alone:
            yield [step]
        else:
            batch.append(step)
    if batch:
        yield batch


def in_batches(most: int) -> Callable[[str, list[Step]], str]:
    def run(app: str, steps: list[Step]) -> str:
        output = Output()
        with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
            output.watch(runtime)
            for batch in batches(steps, most):
                if batch[0].stream is None or len(batch[0].rows) != 1:
                    do(runtime, batch[0])
                else:
                    runtime.input_handler(batch[0].stream).send_batch(table_of(runtime, batch), timestamp="event time")
        return str(output)

    return run


def table_of(runtime: SiddhiAppRuntime, batch: list[Step]) -> pa.Table:
    assert batch[0].stream is not None
    attributes = runtime.stream_attributes(batch[0].stream)
    columns = {
        name: pa.array([step.rows[0][position] for step in batch], ARROW_TYPES[kind])
        for position, (name, kind) in enumerate(attributes)
    }
    return pa.table({**columns, "event time": pa.array([step.timestamp for step in batch], pa.int64())})


def interrupted(app: str, steps: list[Step]) -> str:
    output = Output()
    middle = len(steps) // 2
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        output.watch(runtime)
        for step in steps[:middle]:
            do(runtime, step)
        snapshot = runtime.snapshot()
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        output.watch(runtime)
        runtime.restore(snapshot)
        for step in steps[middle:]:
            do(runtime, step)
    return str(output)


@pytest.mark.parametrize("path", APPS, ids=lambda path: path.stem)
def test_the_output_equals_the_golden_file(path: Path, golden: Golden) -> None:
    golden(path.with_suffix(".output"), row_by_row(*read(path)))


@pytest.mark.parametrize("way", [in_batches(7), in_batches(10**9), interrupted], ids=["sevens", "batch", "interrupted"])
@pytest.mark.parametrize("path", APPS, ids=lambda path: path.stem)
def test_every_form_of_sending_has_the_same_output(path: Path, way: Callable[[str, list[Step]], str]) -> None:
    app, steps = read(path)
    assert way(app, steps) == row_by_row(app, steps)


def test_every_golden_file_has_an_app() -> None:
    assert [path.stem for path in sorted(Path(__file__).parent.glob("*.output"))] == [path.stem for path in APPS]
