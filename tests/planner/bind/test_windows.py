from __future__ import annotations

import pytest

from siddhi.planner.plan.expressions import FIRST_SLOT, LAST_SLOT, Attr
from siddhi.planner.plan.walk import walk
from tests.kit.planning import query, refused, single

ACCEPTED = [
    "batch()", "batch(3)", "cron('*/5 * * * * ?')", "delay(1 sec)", "delay(5)", "expression('count() < 3')",
    "expression(s)", "expressionBatch('count() < 3')", "expressionBatch(s, b)", "expressionBatch('b', true, false)",
    "externalTime(l, 1 sec)", "externalTime(l, 5)", "externalTimeBatch(l, 1 sec)", "externalTimeBatch(l, 1 sec, 0)",
    "externalTimeBatch(l, 1 sec, l)", "externalTimeBatch(l, 1 sec, 0, 500)", "externalTimeBatch(l, 1 sec, 0, 500, true)",
    "frequent(2)", "frequent(2, s)", "length(5)", "length(0)", "lengthBatch(2)", "lengthBatch(2, true)",
    "lossyFrequent(0.5)", "lossyFrequent(0.5, 0.1)", "lossyFrequent(0.5, 0.1, s)", "session(1 sec)", "session(1000)",
    "session(1 sec, s)", "session(2 sec, s, 1 sec)", "sort(2, i)", "sort(2, i, 'desc')", "sort(2, i, 'ASC', s, 'desc')",
    "sort(2, i, 'asc', s)", "sort(2, i, 'asc', s, 'desc', d, 'asc', f)", "time(1 sec)", "time(5L)", "timeBatch(1 sec)",
    "timeBatch(1 sec, 0)", "timeBatch(1 sec, true)", "timeBatch(1 sec, 5L, true)", "timeLength(1 sec, 3)",
]  # fmt: skip


@pytest.mark.parametrize("window", ACCEPTED)
def test_valid_arguments(window: str) -> None:
    planned = single(query(f"from S#window.{window} select i insert into O;")).window
    assert planned is not None
    assert planned.window.name == window.partition("(")[0]


REFUSED = [
    ("batch(-1)", "E305"), ("batch('x')", "E303"), ("cron('not a cron')", "E323"), ("cron('0 0 0 31 2 ?')", "E323"), ("cron(s)", "E304"), ("delay()", "E303"),
    ("expression(i)", "E303"), ("expression('i')", "E311"), ("expression('i >')", "E322"), ("expression('zz > 1')", "E203"),
    ("expression('middle.i > 1')", "E202"), ("expressionBatch('b', i)", "E303"), ("expressionBatch('b', true, b)", "E304"),
    ("externalTime(i, 1 sec)", "E303"), ("externalTime(l + 1L, 1 sec)", "E306"), ("externalTime(l)", "E303"),
    ("externalTime(5L, 1 sec)", "E306"), ("externalTimeBatch(l, 1 sec, l + 1L)", "E306"), ("frequent(2, i)", "E303"),
    ("length(2.5)", "E303"), ("length('2')", "E303"), ("length(2L)", "E303"), ("length(i)", "E304"), ("length(1 + 1)", "E304"),
    ("length(2, 3)", "E303"), ("length()", "E303"), ("lengthBatch(2, b)", "E304"), ("lossyFrequent(1)", "E303"),
    ("lossyFrequent(1.5)", "E305"), ("session(1 sec, 1 sec)", "E303"), ("session(1 sec, s, 2 sec)", "E305"),
    ("session(1 sec, 's')", "E306"), ("sort(2)", "E303"), ("sort(2, i, 'up')", "E305"), ("sort(2, s, i, 'desc')", "E303"),
    ("sort(2, i, 'asc', 'desc')", "E306"), ("sort(2, i, 'asc', s, 'asc', 'desc')", "E305"), ("sort(2, i + 1)", "E306"),
    ("sort(2, b)", "E303"), ("time()", "E303"), ("time('1 sec')", "E303"), ("timeBatch(1 sec, b)", "E304"),
    ("timeLength(1 sec)", "E303"), ("timeLength(3, 1 sec)", "E303"), ("hopping(1 sec)", "E313"), ("Length(3)", "E301"),
]  # fmt: skip


@pytest.mark.parametrize(("window", "code"), REFUSED)
def test_invalid_arguments_are_refused(window: str, code: str) -> None:
    assert refused(f"from S#window.{window} select i insert into O;").code == code


@pytest.mark.parametrize(
    ("chain", "kept"),
    [
        ("S#window.length(3) select i", "i"),
        ("S[d > 1.0]#window.length(3) select i", "i"),
        ("S#window.length(3)[d > 1.0] select i", "i d"),
        ("S#window.length(3) select sum(l) as t group by s", "l s"),
        ("S#window.length(3) select count() as n", ""),
        ("S#window.length(3) select i having i > 1", "i"),
        ("S#window.externalTime(l, 1 sec) select i", "i l"),
        ("S#window.sort(2, d, 'asc', s) select i", "i d s"),
        ("S#window.frequent(2) select i", "i l f d b s o"),
        ("S#window.expression('count() < 3') select i", "i l f d b s o"),
        ("S#window.length(3)#log('x') select i", "i l f d b s o"),
        ("S#pol2Cart(d, d)#window.length(3) select x", "x"),
        ("S#window.length(3)#pol2Cart(d, d) select x", "d"),
        ("S select i, f", "i f"),
        ("S[d > 1.0] select i", "i"),
    ],
)
def test_a_window_keeps_attributes_that_are_read_later(chain: str, kept: str) -> None:
    found = single(query(f"from {chain} insert into O;"))
    assert [found.attributes[position].name for position in found.window_layout] == kept.split()


def test_the_condition_of_an_expression_window_reads_first_and_last() -> None:
    window = single(query("from S#window.expression('last.i - first.i < 5 and i > 0') select i insert into O;")).window
    assert window is not None
    assert window.condition is not None
    assert [node.slot for node in walk(window.condition) if isinstance(node, Attr)] == [LAST_SLOT, FIRST_SLOT, 0]


def test_a_condition_in_an_attribute_is_not_resolved_in_the_plan() -> None:
    window = single(query("from S#window.expression(s) select i insert into O;")).window
    assert window is not None
    assert window.condition is None


def test_the_location_of_an_error_is_inside_the_literal() -> None:
    error = refused("from S#window.expression('count() < zz') select i insert into O;")
    assert error.span is not None
    line = (error.source or "").split("\n")[error.span.line - 1]
    assert line[error.span.column : error.span.end_column] == "zz"


def test_several_windows_and_windows_of_a_named_window_are_refused() -> None:
    definitions = "define window W (a string) length(2); define stream S (a string);"
    error = refused("from W#window.length(2) select a insert into O;", definitions=definitions)
    assert error.code == "E314"
