from __future__ import annotations

import re

import pytest

from siddhi.extension import (
    AggregatorMetadata,
    ExtensionMetadata,
    FunctionMetadata,
    IncrementalAggregatorMetadata,
    Registry,
    ScriptLanguageMetadata,
    StreamFunctionMetadata,
    WindowMetadata,
    builtin_registry,
)
from siddhi.library import built_in
from siddhi.library.windows import WINDOWS
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from tests.kit.apps import CHUNK_WINDOWS, CLOCK_WINDOWS, CLOCKLESS_WINDOWS, SHARED_WINDOWS
from tests.oracles.windows import ATTRIBUTE_TWINS, TWINS

NAMES = {
    FunctionMetadata: (
        "UUID cast coalesce convert createSet currentTimeMillis default eventTimestamp ifThenElse instanceOfBoolean "
        "instanceOfDouble instanceOfFloat instanceOfInteger instanceOfLong instanceOfString maximum minimum sizeOfSet"
    ),
    IncrementalAggregatorMetadata: "avg count distinctCount max min stdDev sum",
    AggregatorMetadata: (
        "and avg count distinctCount ema first last max maxForever median min minForever or percentile stdDev sum unionSet"
    ),
    StreamFunctionMetadata: "log pol2Cart",
    ScriptLanguageMetadata: "python",
    WindowMetadata: (
        "batch cron delay expression expressionBatch externalTime externalTimeBatch frequent length lengthBatch "
        "lossyFrequent session sort time timeBatch timeLength"
    ),
}


def test_every_window_has_a_model_in_python() -> None:
    assert {call.partition("(")[0] for call in (*TWINS, *ATTRIBUTE_TWINS)} == {window.name for window in WINDOWS}


def test_random_apps_use_all_windows() -> None:
    calls = (*CLOCKLESS_WINDOWS, *CHUNK_WINDOWS, *CLOCK_WINDOWS, *SHARED_WINDOWS)
    assert {call.partition("(")[0] for call in calls} == {window.name for window in WINDOWS}


@pytest.mark.parametrize("kind", NAMES, ids=lambda kind: kind.title)
def test_the_list_of_built_ins_is_complete(kind: type[ExtensionMetadata]) -> None:
    assert [name for name in builtin_registry().names(kind) if ":" not in name] == sorted(NAMES[kind].split())


@pytest.mark.parametrize("metadata", tuple(built_in()), ids=lambda metadata: f"{metadata.title} {metadata.full_name}")
def test_a_built_in_names_its_implementation_and_has_a_description(metadata: ExtensionMetadata) -> None:
    assert metadata.builtin == metadata.full_name or metadata.implementation is not None
    assert re.match(r"[A-Z].*\.$", metadata.description)


EXAMPLES = [metadata for metadata in built_in() if metadata.example]
STREAM = (
    "define stream S (symbol string, name string, nick string, text string, price double, bid double, ask double, "
    "angle double, distance double, arg {arg}, set object, payload object, symbols object, user string, ts long);\n"
)


@pytest.mark.parametrize("metadata", EXAMPLES, ids=lambda metadata: f"{metadata.title} {metadata.name}")
def test_the_example_of_a_built_in_can_be_planned(metadata: ExtensionMetadata) -> None:
    stream = STREAM.format(arg="bool" if metadata.name in ("and", "or") else "double")
    plan(parse(stream + metadata.example), registry=Registry(builtin_registry()))
