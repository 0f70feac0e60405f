"""Databases compute like tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, isnan, nan

import pytest

from siddhi import SiddhiManager
from siddhi.stores import UnsupportedExpressionError
from siddhi.stores.rdbms_numbers import Numbers, numbers_of
from siddhi.types import AttributeType
from tests.kit.stores import App
from tests.kit.table_stores import STORES

sa = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

STREAMS = "".join(f"define stream {name} (k int, i int, l long, f float, d double, s string);" for name in "IC")
TABLE = "(k int, i int, l long, f float, d double, s string)"
MOST, LEAST = 2**63 - 1, -(2**63)
ROWS = [
    (1, 2**31 - 1, MOST, 0.1, 1.5, "a"),
    (2, -(2**31), LEAST, 3.4028235e38, -2.5, None),
    (3, 7, -3, 1.4e-45, 0.0, "c"),
    (4, None, None, None, None, ""),
    (5, 0, 0, 16777216.0, inf, "e"),
]


Start = Callable[..., tuple[App, App]]


@pytest.fixture(params=["sqlite", "postgresql"])
def start(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts an app twice, with its table in memory and in a database."""
    with STORES[request.param](request) as table_store, SiddhiManager() as manager:

        def started(query: str = "", *more: tuple) -> tuple[App, App]:
            text = f"define table T {TABLE}; from I insert into T; {query}"
            apps = tuple(App(manager, f"{STREAMS} {store} {text}") for store in ("", table_store.annotation))
            for app in apps:
                app.send("I", *ROWS, *more)
            return apps

        yield started


def rows(app: App, query: str) -> list[tuple]:
    return [tuple("NaN" if isinstance(v, float) and isnan(v) else v for v in row) for row in app.ask(query)]


def same(pair: tuple[App, App], query: str) -> None:
    memory, database = (rows(app, query) for app in pair)
    assert memory == database, query


@pytest.mark.parametrize(
    "selected",
    [
        "i + 1 as a, i - 2 as b, i * 3 as c",
        "i * i as a, i / -1 as b, i % 4 as c, i % -1 as e",
        "l + 1L as a, l - 2L as b, l * 3L as c",
        "l * l as a, l / -1L as b, l % 4L as c, l % -1L as e, l / 7L as g",
        "i + l as a, (i + 1) * 2 - i as b, l / i as c",
        "f + 1.0f as a, f * 3.0f as b, f / 3.0f as c, f - 0.2f as e",
        "f / 0.0f as a, d / 0.0 as b, i / 0 as c, l % 0L as e",
        "d + f as a, f + i as b, i + f as c, l + f as e",
        "d / 3.0 as a, d - 1.5 as b",
        "f % 0.3f as a, d % 0.7 as b",
        "coalesce(s, 'x') as a, coalesce(i, 5) as b, coalesce(f, 2.5f) as c, default(d, 9.5) as e",
        "ifThenElse(i > 0, l, 5L) as a, ifThenElse(s is null, 'none', s) as b",
        "maximum(i, 3) as a, minimum(i, 3, k) as b, maximum(l, 5L) as c, maximum(d, 1.0) as e, minimum(d, 1.0) as g",
        "maximum(f, 1.0f) as a",
        "sum(l) as a, sum(i) as b",
        "sum(l * 2L) as a",
    ],
)
def test_selected_values(start, selected):
    order = "" if "sum(" in selected else "k, "
    same(start(), f"from T select {order}{selected}{' order by k' if order else ''}")


CONDITIONS = [
    "i + 1 < 0",
    "l * 2L == -2L",
    "f > 0.05",
    "f == 0.1f",
    "d == f",
    "f < d",
    "i > f",
    "f + 0.1f > 0.2f",
    "coalesce(i, -1) < 0",
    "maximum(l, 0L) == 0L",
]
NANS = [
    "d == d",
    "d != d",
    "d > 1.0",
    "d >= d",
    "d < 1.0",
    "1.0 < d",
    "not (d <= 1.0)",
    "f > 0.5f",
    "f != f",
    "d + 1.0 > 0.0",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(start, condition):
    same(start(), f"from T on {condition} select k order by k")


on_postgresql = pytest.mark.parametrize("start", ["postgresql"], indirect=True)  # SQLite has no NaN
NAN = (6, 1, 1, nan, nan, "n")


@pytest.mark.parametrize("condition", NANS)
@on_postgresql
def test_conditions_with_nan(start, condition):
    same(start("", NAN), f"from T on {condition} select k order by k")


COMPARED = [
    "T.d == d",
    "T.d != d",
    "T.d < d",
    "T.d <= d",
    "T.d > d",
    "T.d >= d",
    "T.f == f",
    "T.f < f",
    "T.d == f",
    "T.d != f",
]


EVENTS = [(k, 0, 0, value, value, "") for k, value in enumerate([nan, 0.0, 0.1, 1.5, inf, None])]


@pytest.mark.parametrize("condition", COMPARED)
@on_postgresql
def test_nan_of_an_event(start, condition):
    asked = condition.replace(" d", " C.d").replace(" f", " C.f")
    apps = start(f"from C join T on {asked} select C.k as a, T.k as b insert into O;", NAN)
    for app in apps:
        app.send("C", *EVENTS)
    assert sorted(apps[0].out) == sorted(apps[1].out)


@pytest.mark.parametrize("condition", COMPARED)
@on_postgresql
def test_nan_in_changes(start, condition):
    apps = start(f"from C select k as e, d, f delete T on {condition};", NAN)
    for event in EVENTS:
        for app in apps:
            app.send("C", event)
        same(apps, "from T select k order by k")


SETS = [
    "T.i = T.i + i, T.l = T.l * l",
    "T.l = maximum(T.l, l)",
    "T.s = coalesce(T.s, s)",
    "T.l = ifThenElse(T.l > l, T.l, l)",
    "T.f = T.f + f",
    "T.d = T.f",
    "T.f = T.i",
    "T.d = T.d + f",
    "T.d = T.f * f",
]


@pytest.mark.parametrize("changes", SETS)
@pytest.mark.parametrize("condition", ["T.k == k", "T.f > 0.05", "T.l + 1L < 0L"])
def test_assignments(start, changes, condition):
    apps = start(f"from C update T set {changes} on {condition};")
    for event in [(1, 1, 2, 0.3, 2.5, "z"), (2, -1, 3, 1.5, 0.5, "y"), (4, None, None, 1.0, None, None)]:
        for app in apps:
            app.send("C", event)
        same(apps, "from T select * order by k")
    assert apps[1].errors == []


def test_an_unknown_database_uses_its_own_arithmetic():
    numbers = numbers_of("another")
    assert type(numbers) is Numbers
    left, right = sa.column("a", sa.Integer()), sa.column("b", sa.Integer())
    assert str(numbers.compute("+", AttributeType.INT, left, right)) == "a + b"
    assert str(numbers.compute("*", AttributeType.DOUBLE, left, right)) == "a * b"
    assert numbers.nan_guard(left) is None
    for wrong in (
        lambda: numbers.compute("+", AttributeType.FLOAT, left, right),
        lambda: numbers.compute("%", AttributeType.DOUBLE, left, right),
        lambda: numbers.double_of_float(left),
        lambda: numbers.float_of_whole(left),
        lambda: numbers.extreme("maximum", [left, right]),
    ):
        with pytest.raises(UnsupportedExpressionError):
            wrong()
