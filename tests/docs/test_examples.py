"""The SiddhiQL examples of the documents give the outputs shown."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

import siddhi
from siddhi.errors import SiddhiAppError

DOCUMENTS = [Path(__file__).parents[2] / "docs" / name for name in ("language.md", "differences.md")]
BLOCK = re.compile(r"^```siddhi\n(.*?)^```", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^-- (send|gives|refused|restart)\b *(.*)$", re.MULTILINE)
EVENT = re.compile(r"(?:(\d+) )?\(((?:'[^']*'|[^()'])*)\)")
WORDS = {"null": "None", "true": "True", "false": "False"}


@dataclass
class Example:
    """An app, what is done to it, and what is expected."""

    app: str
    steps: list[tuple[str, list[tuple[int | None, tuple[object, ...]]]]] = field(default_factory=list)
    expected: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)
    refused: str | None = None


def rows(text: str) -> list[tuple[int | None, tuple[object, ...]]]:
    literal = re.sub(r"\b(?:null|true|false)\b(?!')", lambda word: WORDS[word[0]], text)
    return [(int(time) if time else None, ast.literal_eval(f"({row},)")) for time, row in EVENT.findall(literal)]


def read(block: str) -> Example:
    example = Example("@app:playback\n" + block)
    for kind, rest in STEP.findall(block):
        name, _, events = rest.partition(" ")
        if kind == "send":
            example.steps.append((name, rows(events)))
        elif kind == "restart":
            example.steps.append(("", []))
        elif kind == "gives":
            example.expected.setdefault(name, []).extend(row for _, row in rows(events))
        else:
            example.refused = rest
    return example


def play(example: Example) -> dict[str, list[tuple[object, ...]]]:
    got: dict[str, list[tuple[object, ...]]] = {name: [] for name in example.expected}
    manager = siddhi.SiddhiManager()

    def create() -> siddhi.SiddhiAppRuntime:
        runtime = manager.create_siddhi_app_runtime(example.app)
        for name, into in got.items():
            if name in runtime.stream_definitions:
                runtime.add_callback(name, lambda events, into=into: into.extend(event.data for event in events))
            else:
                runtime.add_query_callback(name, lambda _, new, old, into=into: into.extend(e.data for e in new or old))
        runtime.start()
        return runtime

    runtime = create()
    clock = count(1000)
    for stream, events in example.steps:
        if not stream:
            state = runtime.snapshot()
            runtime.shutdown()
            runtime = create()
            runtime.restore(state)
        for time, row in events:
            runtime.input_handler(stream).send(row, timestamp=next(clock) if time is None else time)
    manager.shutdown()
    return got


EXAMPLES = [read(block) for document in DOCUMENTS for block in BLOCK.findall(document.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.app.splitlines()[-2][:60])
def test_example(example: Example) -> None:
    assert example.expected or example.refused, "an example says what it gives"
    if example.refused:
        with pytest.raises(SiddhiAppError) as refusal:
            siddhi.SiddhiManager().create_siddhi_app_runtime(example.app)
        kinds = [kind.__name__ for kind in type(refusal.value).__mro__]
        assert example.refused in [*kinds, *re.findall(r"\w+", str(refusal.value))]
    else:
        assert play(example) == example.expected


def test_reading_rows() -> None:
    assert rows("1000 (1, 'null', null) (true)") == [(1000, (1, "null", None)), (None, (True,))]
