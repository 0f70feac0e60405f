"""Compare the outputs of a case with the recorded ones.

Compared are the sequence of events per stream, the sequence of callbacks per query, and the rows per on-demand query and
table. The order of rows in tables with keys or indexes is undefined: in apps with such tables, events of one timestamp may
come in any order. Doubles may differ by 1e-9 and floats by 1e-5, relative; other values are compared with their types.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

from tests.conformance.play import Call, Case, Recording, Row, recorded

__all__ = ["difference"]

SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # JSON has no words for them

Arrange = Callable[[Iterable[Row]], list[Row]]


def difference(case: Case, got: Recording) -> str | None:
    """The first difference between a case and what came out of it, or None."""
    if "error" in case["expect"]:
        return _difference_of_refusals(case, got)
    if got.refusal is not None:
        return f"the app was refused: {got.refusal}"
    want = recorded(case)
    arrange = _by_instant if _is_unordered(case["app"]) else list
    for name, rows in want.streams.items():
        if found := _rows_differ(arrange(rows), arrange(got.streams[name])):
            return f"stream {name}: {found}"
    for name, calls in want.queries.items():
        if found := _calls_differ(calls, got.queries[name], arrange):
            return f"query {name}: {found}"
    for step, answer in want.answers.items():
        given = got.answers.get(step)
        if isinstance(answer, Exception) or isinstance(given, Exception) or given is None:
            if type(answer) is list or type(given) is list:
                return f"on-demand query in step {step}: want {answer!r}, got {given!r}"
            continue
        ordered = "order by" in case["steps"][step]["query"].lower()
        if not _same_rows(answer, given, ordered=ordered):
            return f"on-demand query in step {step}: want {answer}, got {given}"
    for name, held in want.tables.items():
        if not _same_rows(held, got.tables[name], ordered=False):
            return f"table {name}: want {held}, got {got.tables[name]}"
    return None


def _difference_of_refusals(case: Case, got: Recording) -> str | None:
    if got.refusal is None:
        return f"the app should have been refused: {case['expect']['error']['message']}"
    if got.refusal.code == "E390":
        return f"refused for something else, that this engine does not run: {got.refusal}"
    return None


def _rows_differ(want: Sequence[Row], got: Sequence[Row]) -> str | None:
    for position, (wanted, given) in enumerate(itertools.zip_longest(want, got)):
        if wanted is None or given is None or not _same_row(wanted, given):
            return f"event {position}: want {wanted}, got {given}"
    return None


def _calls_differ(want: Sequence[Call], got: Sequence[Call], arrange: Arrange) -> str | None:
    for position, (wanted, given) in enumerate(itertools.zip_longest(want, got)):
        if wanted is None or given is None or wanted.timestamp != given.timestamp:
            return f"call {position}: want {wanted}, got {given}"
        for name, rows, others in (
            ("current", wanted.current, given.current),
            ("expired", wanted.expired, given.expired),
        ):
            if (rows is None) != (others is None):
                return f"call {position}, {name}: want {rows}, got {others}"
            if found := _rows_differ(arrange(rows or ()), arrange(others or ())):
                return f"call {position}, {name} {found}"
    return None


def _same_row(want: Row, got: Row) -> bool:
    return (
        want.timestamp == got.timestamp
        and want.expired == got.expired
        and len(want.values) == len(got.values)
        and all(map(_same, want.values, got.values))
    )


def _same(want: object, got: object) -> bool:
    if isinstance(got, float):
        if isinstance(want, str) and want in SPECIAL:
            return math.isclose(SPECIAL[want], got) or (math.isnan(got) and want == "NaN")
        return isinstance(want, float) and _close(want, got)
    if isinstance(want, dict) and "$set" in want:
        return isinstance(got, (set, frozenset)) and sorted(map(repr, want["$set"])) == sorted(map(repr, got))
    if isinstance(want, list):
        return isinstance(got, (list, tuple)) and len(want) == len(got) and all(map(_same, want, got))
    return type(want) is type(got) and want == got


def _close(want: float, got: float) -> bool:
    # A value of few digits may be a float, written as the shortest decimal that a single tells apart.
    digits = len(repr(want).split("e")[0].replace(".", "").replace("-", "").strip("0"))
    return math.isclose(want, got, rel_tol=1e-5 if digits <= 9 else 1e-9, abs_tol=1e-9)


def _same_rows(want: Sequence[tuple[object, ...]], got: Sequence[tuple[object, ...]], *, ordered: bool) -> bool:
    if not ordered:
        want, got = sorted(want, key=repr), sorted(got, key=repr)
    return len(want) == len(got) and all(
        len(wanted) == len(given) and all(map(_same, wanted, given)) for wanted, given in zip(want, got)
    )


def _is_unordered(app: str) -> bool:
    return "@primarykey" in app.lower() or "@index" in app.lower()


def _by_instant(rows: Iterable[Row]) -> list[Row]:
    runs = itertools.groupby(rows, key=lambda row: row.timestamp)
    return [row for _, run in runs for row in sorted(run, key=lambda row: repr((row.expired, row.values)))]
