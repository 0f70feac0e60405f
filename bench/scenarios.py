"""The scenarios of ``scenarios.json``: their apps and expected results.

The inputs, apps and names never change silently: figures of different days are compared by name.
"""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
MODES = ("event", "batch", "latency")


@dataclass(frozen=True)
class Answer:
    """Result of a run: number of outputs, last output, and the rows of the scenario's final on-demand query."""

    outputs: int
    last: tuple[int, list[Any]] | None = None
    rows: int | None = None
    first_row: list[Any] | None = None

    def difference(self, other: Answer) -> str | None:
        """Return how *other* differs from this, or None. Doubles may differ by a relative error of 1e-9."""
        if self.outputs != other.outputs:
            return f"{other.outputs} outputs instead of {self.outputs}"
        if (self.last is None) != (other.last is None) or (
            self.last and other.last and not (self.last[0] == other.last[0] and _same(self.last[1], other.last[1]))
        ):
            return f"last output {other.last} instead of {self.last}"
        if self.rows != other.rows:
            return f"{other.rows} rows instead of {self.rows}"
        if not _same(self.first_row or [], other.first_row or []):
            return f"first row {other.first_row} instead of {self.first_row}"
        return None


def _same(want: Sequence[Any], got: Sequence[Any]) -> bool:
    return len(want) == len(got) and all(_same_value(w, g) for w, g in zip(want, got))


def _same_value(want: Any, got: Any) -> bool:
    if isinstance(want, float) and isinstance(got, float):
        return math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-9)
    return type(want) is type(got) and want == got


@dataclass(frozen=True)
class Scenario:
    """One app with its input and expected results."""

    name: str
    app: str
    """SiddhiQL text"""
    input: str
    output: str | None
    """the observed stream; None when the app writes to a table or aggregation only"""
    second: str | None = None
    """the stream to which every second trade is sent instead"""
    preload: tuple[str, int] | None = None
    """stream and number of rows ``("S" + str(k), 1.0 + k / 1000)`` sent before the trades"""
    check: str | None = None
    """on-demand query whose rows are part of the result"""
    subscriber: bool = True
    """whether a callback counts the outputs during timing"""
    modes: tuple[str, ...] = MODES
    java: dict[str, float] = field(default_factory=dict)
    """Siddhi 5.1.33 on its JVM: M events/s by mode, and p50_ns, p99_ns"""
    aim: dict[str, float] = field(default_factory=dict)
    """minimum M events/s by mode that this project aims at"""
    events: int = 1_000_000
    """number of trades of ``expected``"""
    expected: Answer | None = None
    """the result after ``events`` trades in event mode"""

    def preload_rows(self) -> list[tuple[str, float]]:
        return [(f"S{k}", 1.0 + k / 1000) for k in range(self.preload[1])] if self.preload else []


def load() -> dict[str, Scenario]:
    """Load all scenarios by name, in the order of the file."""
    settings = json.loads((HERE / "scenarios.json").read_text())
    answers = json.loads((HERE / "expected.json").read_text())
    return {name: _scenario(name, values, answers[values["app"]]) for name, values in settings.items()}


def _scenario(name: str, values: dict[str, Any], answer: dict[str, Any]) -> Scenario:
    last, check = answer.get("last"), answer.get("check", {})
    preload = values.get("preload")
    return Scenario(
        name=name,
        app=(HERE / "apps" / f"{values['app']}.siddhi").read_text(),
        input=values["input"],
        output=values.get("output"),
        second=values.get("second"),
        preload=(preload["stream"], preload["rows"]) if preload else None,
        check=values.get("check"),
        subscriber=values.get("subscriber", True),
        modes=tuple(values.get("modes", MODES)),
        java=values.get("java", {}),
        aim=values.get("aim", {}),
        events=answer["events"],
        expected=Answer(answer["outputs"], (last[0], last[1]) if last else None, check.get("rows"), check.get("first")),
    )
