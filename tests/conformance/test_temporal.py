"""Cases of the temporal algebra: physical items in, physical items out, CTIs included."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime
from siddhi.errors import SiddhiTemporalError
from siddhi.temporal import MAX
from tests.kit.running import running
from tests.oracles.temporal import history

Case = dict[str, Any]

CASES: list[Case] = [
    json.loads(line) for line in (Path(__file__).parent / "temporal" / "cases.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_temporal_operators_emit_the_recorded_items(case: Case) -> None:
    shown: list[list[Any]] = []
    classical: list[list[Any]] = []
    with running(case["app"]) as runtime:
        if case["operator"] == "plain":
            runtime.add_callback(
                "Out", lambda events: classical.extend([e.timestamp, list(e.data)] for e in events if not e.is_expired)
            )
        else:
            runtime.add_temporal_callback("Out", lambda items: shown.extend(map(list, items)))
        error = send_all(runtime, case)
        if "expected_summary" in case:
            check_ingress(runtime, case, shown, error)
            return
    assert error is None
    if case["operator"] == "plain":
        assert same([[e["timestamp"], e["data"]] for e in case["expected"]], classical)
        return
    assert same(segments([expected(item) for item in case["expected"]]), segments([bare(item) for item in shown]))
    if "expected_final" in case:
        assert same(case["expected_final"], [list(one) for one in history(shown)])


def check_ingress(runtime: SiddhiAppRuntime, case: Case, shown: list[list[Any]], error: Any) -> None:
    summary = case["expected_summary"]
    handler = runtime.input_handler(case["streams"][0])
    assert error == summary["error"]
    assert (handler.dropped, handler.adjusted) == (summary["dropped"], summary["adjusted"])  # type: ignore[union-attr]
    handler.cti(MAX)  # type: ignore[union-attr]
    assert same(summary["history"], [list(one) for one in history(shown)])


def send_all(runtime: SiddhiAppRuntime, case: Case) -> dict[str, Any] | None:
    """Send the items; return the one that was refused."""
    for index, item in enumerate(case["input"]):
        handler: Any = runtime.input_handler(item.get("stream", case["streams"][0]))
        kind, start, row = item["kind"], item["start"], tuple(item.get("data", ()))
        try:
            if kind == "cti":
                handler.cti(start)
            elif kind == "insert":
                handler.insert(start, item["end"], row)
            elif kind == "point":
                handler.point(start, row)
            elif kind == "start":
                handler.start_edge(start, row)
            elif kind == "end":
                handler.end_edge(start, item["end"], row)
            else:
                handler.retract(start, item["end"], item["new_end"], row)
        except SiddhiTemporalError as error:
            return {"index": index, "class": type(error).__name__}
    return None


def expected(item: dict[str, Any]) -> list[Any]:
    return bare([item["kind"], item["start"], item.get("end"), item.get("data")])


def bare(item: list[Any]) -> list[Any]:
    kind, start, end, data = item
    return [kind, start, end if kind in ("insert", "end") else None, None if data is None else list(data)]


def segments(items: list[list[Any]]) -> list[list[Any]]:
    """Cut the items at the CTIs, and sort each part: the order inside is tested where the output is."""
    cut: list[list[Any]] = [[]]
    for item in items:
        cut[-1].append(item)
        if item[0] == "cti":
            cut[-1].sort(key=str)
            cut.append([])
    cut[-1].sort(key=str)
    return cut


def same(want: Any, got: Any) -> bool:
    if isinstance(want, float):
        return isinstance(got, (int, float)) and math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(want, (list, tuple)):
        return len(want) == len(got) and all(map(same, want, got))
    return bool(want == got)
