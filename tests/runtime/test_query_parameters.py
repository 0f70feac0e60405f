"""Parameters of on-demand queries: typed by their use, planned once, values and never text."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import siddhi
from siddhi.errors import OnDemandQueryCreationError, SiddhiAppCreationError, SiddhiParserError

APP = """@app:playback
define stream S (id long, name string, price double, n int, ok bool, f float);
@primaryKey('id') define table T (id long, name string, price double, n int, ok bool, f float);
define window W (id long, price double) length(10);
define aggregation A from S select name, sum(price) as total group by name aggregate every sec...min;
from S insert into T;
from S select id, price insert into W;
"""
ROWS = [(n, f"n{n}", n * 1.5, n, n % 2 == 0, n / 4) for n in range(5)]


@pytest.fixture
def app() -> Iterator[siddhi.App]:
    with siddhi.App(APP) as app:
        for row in ROWS:
            app["S"].send(row, timestamp=1000 * row[0])
        yield app


FINDS: list[tuple[str, dict[str, Any], str]] = [
    ("from T on id == :x select name", {"x": 3}, "from T on id == 3 select name"),
    ("from T on :x == id select name", {"x": 3}, "from T on id == 3 select name"),
    ("from T on name == :x select id", {"x": "n2"}, "from T on name == 'n2' select id"),
    ("from T on name != :x select id", {"x": "n2"}, "from T on name != 'n2' select id"),
    ("from T on price > :x and n <= :y select id", {"x": 1, "y": 3}, "from T on price > 1.0 and n <= 3 select id"),
    ("from T on :x < price select id", {"x": 4.5}, "from T on price > 4.5 select id"),
    ("from T on ok == :x select id", {"x": True}, "from T on ok == true select id"),
    ("from T on f >= :x select id", {"x": 0.5}, "from T on f >= 0.5f select id"),
    ("from T on not :x select id", {"x": False}, "from T select id"),
    ("from T on :x or id == 1 select id", {"x": False}, "from T on id == 1 select id"),
    ("from T on price * 2 == price + :x select id", {"x": 3.0}, "from T on price * 2 == price + 3.0 select id"),
    ("from T select id, price * :x as p having p > :y", {"x": 2.0, "y": 5.0}, "from T select id, price * 2.0 as p having p > 5.0"),
    ("from T select cast(:x, 'string') as x, id", {"x": "a"}, "from T select 'a' as x, id"),
    ("from T on :x is null or name == :x select id", {"x": None}, "from T select id"),
    ("from T on :x is null or name == :x select id", {"x": "n1"}, "from T on name == 'n1' select id"),
    ("from W on id == :x select price", {"x": 2}, "from W on id == 2L select price"),
    ("from A within :x, :y per 'sec' select name, total", {"x": 0, "y": 3000}, "from A within 0L, 3000L per 'sec' select name, total"),
    ("from T on id == :select select name", {"select": 1}, "from T on id == 1 select name"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "constant"), FINDS, ids=[text for text, _, _ in FINDS])
def test_a_parameter_stands_for_a_constant(app: siddhi.App, text: str, values: dict[str, Any], constant: str) -> None:
    expected = app.query(constant)
    assert app.query(text, **values) == expected
    assert app.query(text, **values) == expected
    assert expected or "W" in text


COMPARISONS = [
    (attribute, operator)
    for attribute in ("id", "name", "price", "ok")
    for operator in ("==", "!=", "<", "<=", ">", ">=")
    if attribute in ("id", "price") or operator in ("==", "!=")  # strings and bools have no order
]


@pytest.mark.parametrize(("attribute", "operator"), COMPARISONS)
def test_null_compares_as_a_null_attribute(app: siddhi.App, attribute: str, operator: str) -> None:
    text = f"from T on {attribute} {operator} :x select id"
    value = {"id": 2, "name": "n2", "price": 3.0, "ok": True}[attribute]
    before = app.query(text, x=value)
    assert len(app.query(text, x=None)) == (5 if operator == "!=" else 0)
    assert app.query(text, x=value) == before


def test_changes_take_parameters(app: siddhi.App) -> None:
    app.query(
        "select :id as id, :name as name, :price as price, :n as n, :ok as ok, :f as f insert into T",
        id=7, name="it's \"; delete T", price=2, n=None, ok=False, f=1.5,
    )  # fmt: skip
    app.query("update T set T.price = :price, T.name = :name on T.id == :id", price=100, name="new", id=3)
    app.query("delete T on T.id == :id", id=0)
    app.query(
        "select :id as id, :name as name, :price as price, :n as n, :ok as ok, :f as f "
        "update or insert into T set T.price = price on T.id == id",
        id=1, name="other", price=9.5, n=0, ok=True, f=0,
    )  # fmt: skip
    rows = {event[0]: tuple(event.data) for event in app.query("from T select *")}
    assert sorted(rows) == [1, 2, 3, 4, 7]
    assert rows[7] == (7, "it's \"; delete T", 2.0, None, False, 1.5)
    assert (rows[3][1], rows[3][2], rows[1][1], rows[1][2]) == ("new", 100.0, "n1", 9.5)


BY_ID = "from T on id == :id select name"
ERRORS: list[tuple[str, dict[str, Any], str]] = [
    (BY_ID, {"id": "3"}, r"':id' is a long here, not '3' \(str\).*\n.*\n {20}\^\^\^"),
    (BY_ID, {"id": 2.5}, r"':id' is a long here, not 2.5 \(float\)"),
    (BY_ID, {"id": True}, r"':id' is a long here, not True \(bool\)"),
    (BY_ID, {"id": 2**63}, "':id' is a long here, not 9223372036854775808, which is out of range"),
    (BY_ID, {}, r"no value for the parameter ':id'(.|\n)*pass id=\.\.\."),
    (BY_ID, {"id": 1, "ids": 2}, "the query has no parameter ':ids'; did you mean 'id'"),
    ("from T select name", {"id": 1}, r"the query has no parameter ':id'(.|\n)*write :id where its value"),
    ("from T on n == :n select id", {"n": 2**31}, "':n' is an int here, not 2147483648, which is out of range"),
    ("from T on name == :n select id", {"n": 1}, r"':n' is a string here, not 1 \(int\)"),
    ("from T on ok == :n select id", {"n": 1}, r"':n' is a bool here, not 1 \(int\)"),
    ("from T on price == :n select id", {"n": "x"}, r"':n' is a double here, not 'x' \(str\)"),
    ("from T select :x as y", {"x": 1}, "the type of parameter ':x' is not known"),
    ("from T select sqrt(:x) as y", {"x": 1}, "the type of parameter ':x' is not known"),
    ("from T on :x == :y select id", {"x": 1, "y": 1}, "the type of parameter ':x' is not known"),
]


@pytest.mark.parametrize(("text", "values", "message"), ERRORS)
def test_values_that_do_not_fit_are_refused_and_shown(
    app: siddhi.App, text: str, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(OnDemandQueryCreationError, match=message):
        app.query(text, **values)
    assert len(app.query(BY_ID, id=1)) == 1


def test_values_of_numpy_are_values(app: siddhi.App) -> None:
    assert app.query(BY_ID, id=np.int32(1))[0].data == ("n1",)
    assert len(app.query("from T on price > :p and ok == :ok select id", p=np.float32(1), ok=np.bool_(True))) == 2


@pytest.mark.parametrize("null", [pd.NA, pd.NaT, np.ma.masked], ids=["NA", "NaT", "masked"])
def test_what_libraries_write_for_null_is_null(app: siddhi.App, null: object) -> None:
    for attribute in ("id", "name", "price", "n", "ok", "f"):
        text = f"from T on {attribute} != :x select id"
        assert app.query(text, x=null) == app.query(text, x=None)


def test_a_query_with_parameters_is_planned_once(app: siddhi.App, monkeypatch: pytest.MonkeyPatch) -> None:
    app.query(BY_ID, id=1)
    monkeypatch.delattr("siddhi.runtime.assembly.app.Assembly.on_demand")
    assert [app.query(BY_ID, id=n)[0].data for n in (2, 3)] == [("n2",), ("n3",)]


def test_a_function_can_run_the_same_query_again() -> None:
    depth = []

    @siddhi.extension.function("parameters:again", args=(siddhi.AttributeType.LONG,), returns=siddhi.AttributeType.LONG)
    def again(value: int) -> int:
        if value == 2:
            depth.append([event.data for event in app.query(text, id=1)])
        return value

    text = "from T on id == :id select parameters:again(id) as id, :id + 0L as own"
    with siddhi.App(APP) as app:
        for row in ROWS:
            app["S"].send(row, timestamp=1)
        assert [event.data for event in app.query(text, id=2)] == [(2, 2)]
    assert depth == [[(1, 1)]]


def test_an_app_has_no_parameters_of_queries() -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"':b' is a parameter of an on-demand query(.|\n)*write \$\{b\}"):
        siddhi.App("define stream S (a int); from S[a > :b] select a insert into T;")


def test_a_parameter_is_no_name(app: siddhi.App) -> None:
    with pytest.raises(SiddhiParserError):
        app.query("from :table select id", table="T")


def test_found_rows_make_frames(app: siddhi.App) -> None:
    rows = app.query("from T on id < :id select id, name", id=2)
    assert (rows.names, rows.types) == (("id", "name"), ("long", "string"))
    assert rows.to_dicts() == [{"id": 0, "name": "n0"}, {"id": 1, "name": "n1"}]
    assert rows.to_pandas()["name"].tolist() == rows.to_polars()["name"].to_list() == ["n0", "n1"]
    assert rows.to_arrow().column_names == list(rows.to_numpy().dtype.names) == ["id", "name"]
    assert pickle.loads(pickle.dumps(rows)).to_dicts() == rows.to_dicts()
    assert app.query("from T on id == :id select id, name", id=99).to_pandas().columns.tolist() == ["id", "name"]
    assert app.query("delete T on T.id == :id", id=99) == []


@pytest.mark.parametrize("cache", ["", "@cache(size = '10', cache.policy = 'FIFO') "], ids=["store", "cached"])
def test_a_store_takes_parameters(tmp_path: Path, cache: str) -> None:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    text = f"""define stream S (id long, name string);
    @store(type = 'rdbms', url = 'sqlite:///{tmp_path / "t.db"}') {cache}@primaryKey('id')
    define table T (id long, name string);
    from S insert into T;"""
    with siddhi.App(text) as app:
        for n in range(4):
            app["S"].send((n, f"n{n}"))
        assert [app.query("from T on id == :id select name", id=n).to_dicts() for n in (3, 1)] == [
            [{"name": "n3"}],
            [{"name": "n1"}],
        ]
        assert len(app.query("from T on :n is null or name == :n select id", n=None)) == 4
        app.query("update T set T.name = :n on T.id == :id", n="it's", id=2)
        app.query("delete T on T.id == :id", id=0)
        rows = app.query("from T on name != :n select id, name", n="n1")
        assert sorted(event.data for event in rows) == [(2, "it's"), (3, "n3")]
