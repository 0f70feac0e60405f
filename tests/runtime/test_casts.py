"""``cast`` to another type: values, warnings, and failures of events."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from tests.kit.running import collect, running

APP = """
    @OnError(action = 'stream') define stream S (text string, n double, b bool);
    @info(name = 'q')
    from S[cast(text, 'int') > 0]
    select cast(text, 'double') as d, cast(n, 'int') as i, cast(n, 'string') as s, cast(b, 'long') as l insert into O;
    from !S select text insert into Failed;
"""
ROWS = [
    ("1", 2.5, True),
    ("much", 0.0, False),
    ("-3", 1.0, True),
    (None, 1.0, True),
    ("7", None, False),
    ("1.5", 1e99, None),
]
GOOD = [(1.0, 2, "2.5", 1), (7.0, None, None, 0)]
BAD = [("much",), ("1.5",)]


def outcome(runtime: SiddhiAppRuntime) -> tuple[list[Any], list[Any]]:
    return collect(runtime, "O"), collect(runtime, "Failed")


def test_a_failed_cast_fails_its_event() -> None:
    with running(APP) as runtime:
        found = outcome(runtime)
        for row in ROWS:
            runtime.input_handler("S").send(row)
    assert found == (GOOD, BAD)


@pytest.mark.parametrize("where", ["filter and selection", "selection"])
def test_a_batch_of_casts_equals_its_rows(where: str) -> None:
    app = APP if where != "selection" else APP.replace("[cast(text, 'int') > 0]", "")
    by_row: tuple[list[Any], list[Any]]
    with running(app) as runtime:
        by_row = outcome(runtime)
        for row in ROWS:
            runtime.input_handler("S").send(row)
    with running(app) as runtime:
        by_batch: tuple[list[Any], list[Any]] = [], []
        for stream, rows in zip(("O", "Failed"), by_batch, strict=True):
            runtime.add_batch_callback(stream, lambda batch, rows=rows: rows.extend(zip(*batch.to_pydict().values())))
        columns = zip(*ROWS, strict=True)
        runtime.input_handler("S").send_batch(dict(zip(("text", "n", "b"), map(list, columns), strict=True)))
    width = len(by_row[0][0])
    assert ([row[-width:] for row in by_batch[0]], [row[-1:] for row in by_batch[1]]) == by_row


def warnings_of(query: str) -> list[str]:
    app = f"define stream S (text string, n int, l long, o object); from S {query} insert into O;"
    return list(SiddhiManager().create_siddhi_app_runtime(app).warnings)


def test_a_converting_cast_is_warned_about_with_its_location() -> None:
    (warning,) = warnings_of("select cast(text, 'double') as d")
    assert warning == (
        "cast() converts the string to double here (line 1, column 70): write convert(..., 'double') to make that "
        "explicit; it returns null for a string that is not a number"
    )
    assert len(warnings_of("[cast(l, 'int') > 1] select cast(n, 'string') as s")) == 2


@pytest.mark.parametrize(
    "cast", ["cast(n, 'int')", "cast(n, 'long')", "cast(o, 'double')", "convert(text, 'int')", "o + 1"]
)
def test_a_cast_without_conversion_has_no_warning(cast: str) -> None:
    assert warnings_of(f"select {cast} as x") == []
