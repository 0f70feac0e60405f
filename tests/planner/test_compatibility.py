"""Compatibility of state between versions of a fragment; each claim is tested."""

from __future__ import annotations

import pytest

from siddhi.errors import CannotRestoreStateError
from siddhi.planner.app import plan
from siddhi.planner.compatibility import can_restore
from siddhi.planner.distribution.sub_app import SubApp, sub_app
from siddhi.planner.plan.elements import app_elements
from siddhi.query_compiler.parser import parse
from tests.kit.running import running

OLD = (
    "define stream S (k string, v int); define table T (k string);"
    "@info(name = 'sum') from S#window.length(2) select k, sum(v) as n group by k insert into O;"
    "@info(name = 'plain') from O[n > 0L] select k insert into P;"
    "@info(name = 'keep') from P select k insert into T;"
    "@info(name = 'part') partition with (k of S) begin from S select k, count() as n insert into Q; end;"
)


def whole(text: str) -> SubApp:
    planned = plan(parse(text))
    return sub_app(planned, [element.name for element in app_elements(planned)])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("O[n > 0L]", "O[n > 5L]"),
        ("define stream S", "-- a comment\ndefine stream S"),
        ("@info(name = 'keep')", "@info(name = 'more') from S#window.length(3) select v insert into R; @info(name = 'keep')"),
        ("@info(name = 'sum') from S#window.length(2) select k, sum(v) as n group by k insert into O;", "define stream O (k string, n long);"),
    ],
)  # fmt: skip
def test_compatible_state(old: str, new: str) -> None:
    changed = OLD.replace(old, new) if old else OLD
    assert can_restore(whole(OLD), whole(changed)) == ()
    with running(whole(OLD).text) as first, running(whole(changed).text) as second:
        first.input_handler("S").send(("A", 1), 10)
        second.restore(first.snapshot())


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("length(2)", "length(3)", "query 'sum' is not what it was"),
        ("k string, v int)", "k string, v long)", "'S \\(k string, v long\\)' instead of 'S \\(k string, v int\\)'"),
        ("define table T (k string)", "@PrimaryKey('k') define table T (k string)", "table 'T' is not what it was"),
        ("count() as n", "sum(v) as n", "partition 'part' is not what it was"),
    ],
)
def test_incompatible_state(old: str, new: str, reason: str) -> None:
    changed = OLD.replace(old, new)
    found = can_restore(whole(OLD), whole(changed))
    assert found
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError("; ".join(found))
    with running(whole(OLD).text) as first, running(whole(changed).text) as second:
        first.input_handler("S").send(("A", 1), 10)
        with pytest.raises(CannotRestoreStateError):
            second.restore(first.snapshot())


def test_no_common_state() -> None:
    other = "define stream X (v int); @info(name = 'x') from X#window.length(2) select v insert into Y;"
    assert can_restore(whole(OLD), whole(other)) == ("they have no element in common",)
