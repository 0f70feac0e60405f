"""Rows: values by name or by position; unordered rows are refused."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections import ChainMap, OrderedDict, UserDict, deque
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiManager
from siddhi._core.record.user_event import row_values
from siddhi.errors import EventError, OnDemandQueryCreationError
from siddhi.io.broker import InMemoryBroker
from tests.kit.running import collect, running
from tests.kit.stores import App, shelf_manager

NAMES = ("symbol", "price", "volume")
APP = "define stream S (symbol string, price double, volume long);"
ROW = ("IBM", 75.5, 100)


class Trade(NamedTuple):
    volume: int
    symbol: str
    price: float


class Point(NamedTuple):
    x: str
    y: float
    z: int


def sqlite_row():
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    try:
        return connection.execute("select 100 as volume, 75.5 as price, 'IBM' as symbol").fetchone()
    finally:
        connection.close()


@dataclasses.dataclass
class Record:
    volume: int
    price: float
    symbol: str


class Struct(msgspec.Struct):
    volume: int
    symbol: str
    price: float


NAMED = {
    "dict": {"volume": 100, "price": 75.5, "symbol": "IBM"},
    "OrderedDict": OrderedDict(volume=100, symbol="IBM", price=75.5),
    "mapping proxy": MappingProxyType({"volume": 100, "price": 75.5, "symbol": "IBM"}),
    "ChainMap": ChainMap({"price": 75.5}, {"volume": 100, "symbol": "IBM"}),
    "UserDict": UserDict(volume=100, symbol="IBM", price=75.5),
    "namedtuple": Trade(100, "IBM", 75.5),
    "dataclass": Record(100, 75.5, "IBM"),
    "msgspec.Struct": Struct(100, "IBM", 75.5),
    "Series": pd.Series({"volume": 100, "symbol": "IBM", "price": 75.5}),
    "row of a frame": pd.DataFrame({"volume": [100], "symbol": ["IBM"], "price": [75.5]}).iloc[0],
    "itertuples": next(
        pd.DataFrame({"volume": [100], "symbol": ["IBM"], "price": [75.5]}).itertuples(index=False, name="T")
    ),
    "numpy record": np.array([(100, "IBM", 75.5)], [("volume", "i8"), ("symbol", "U3"), ("price", "f8")])[0],
    "sqlite3.Row": sqlite_row(),
    "arrow struct": pa.scalar({"volume": 100, "symbol": "IBM", "price": 75.5}).as_py(),
}
PLAIN = {
    "tuple": ROW,
    "list": list(ROW),
    "iterator": ROW,
    "deque": deque(ROW),
    "array": np.array(ROW, object),
    "Series": pd.Series(ROW),
    "dict values": dict(zip(NAMES, ROW, strict=True)).values(),
    "polars Series": pl.Series(list(ROW), dtype=pl.Object),
}


@pytest.mark.parametrize("row", NAMED.values(), ids=NAMED)
def test_a_row_with_names_is_read_by_name(row):
    with running(APP) as runtime:
        rows = collect(runtime, "S")
        runtime.input_handler("S").send(row)
        assert rows == [ROW]


@pytest.mark.parametrize("row", PLAIN.values(), ids=PLAIN)
def test_a_row_without_names_is_read_by_position(row):
    with running(APP) as runtime:
        rows = collect(runtime, "S")
        runtime.input_handler("S").send(iter(row) if row is ROW else row)
        assert rows == [ROW]


REFUSED = {
    "set": ({"IBM", 75.5, 100}, "a set has no order"),
    "frozenset": (frozenset(ROW), "a frozenset has no order"),
    "keys": (dict.fromkeys(ROW).keys(), "a dict_keys has no order"),
    "text": ("IBM", "a row is a tuple or list of values, not 'IBM'"),
    "bytes": (b"abc", "a row is a tuple or list of values"),
    "bytearray": (bytearray(b"abc"), "a row is a tuple or list of values"),
    "number": (7, "a row is a tuple or list of values, not 7"),
    "other names": (Point(*ROW), "the row lacks symbol, price, volume and has x, y, z"),
    "index": (
        next(pd.DataFrame([ROW], columns=NAMES).itertuples()),
        "the attributes are symbol, price, volume; the row has Index",
    ),
    "twice": (pd.Series([*ROW, 1], index=[*NAMES, "price"]), "the row names price more than once"),
    "shifted index": (pd.Series(ROW, index=[1, 2, 3]), "lacks symbol, price, volume and has 1, 2, 3"),
    "numbered dict": (dict(enumerate(ROW)), "lacks symbol, price, volume and has 0, 1, 2"),
}


@pytest.mark.parametrize(("row", "message"), REFUSED.values(), ids=REFUSED)
def test_an_unordered_row_or_one_with_other_names_is_refused(row, message):
    with running(APP) as runtime:
        rows = collect(runtime, "S")
        with pytest.raises(EventError, match="stream 'S': ") as caught:
            runtime.input_handler("S").send(row)
        assert message in str(caught.value)
        assert rows == []


@pytest.mark.parametrize("data", [NAMED["dict"], NAMED["namedtuple"], NAMED["Series"], {1, 2}, "abc"])
def test_an_event_takes_only_values_in_order(data):
    with pytest.raises(EventError, match=r"an event takes its values in attribute order|no order|not 'abc'"):
        Event(1, data)


@pytest.mark.parametrize("row", [*NAMED.values(), *PLAIN.values()], ids=[*NAMED, *PLAIN])
def test_payloads_of_a_pass_through_source_are_read_as_rows(row):
    app = f"@source(type = 'inMemory', topic = 'rows', @map(type = 'passThrough')) {APP}"
    with SiddhiManager().create_siddhi_app_runtime(app) as runtime:
        rows = collect(runtime, "S")
        InMemoryBroker.publish("rows", row)
        assert rows == [ROW]


@given(st.permutations(NAMES), st.tuples(st.text(), st.floats(allow_nan=False), st.integers(-(2**63), 2**63 - 1)))
def test_the_order_of_names_does_not_matter(order, values):
    by_name = dict(zip(NAMES, values, strict=True))
    shuffled = {name: by_name[name] for name in order}
    for row in (
        shuffled,
        NamedTuple("Row", [(name, object) for name in order])(**by_name),
        pd.Series(shuffled, dtype=object),
    ):
        assert row_values(row, NAMES) == values


@pytest.mark.parametrize("row", [{"k": "a", "v": 1}, {"a", 1}], ids=["dict", "set"])
def test_a_row_of_a_store_is_values_in_order(row):
    with shelf_manager() as (manager, shelf):
        app = App(manager, "define stream S (v int); @store(type = 'shelf') define table T (k string, v int);")
        shelf.rows = [("a", 1)]
        assert app.rows() == [("a", 1)]
        shelf.rows = [row]
        with pytest.raises(
            OnDemandQueryCreationError, match=f"the store returned a {type(row).__name__}, expected a row of values"
        ):
            app.rows()


@pytest.mark.parametrize("size", [1, 3])
def test_an_array_of_numpy_records_is_a_table_and_not_a_row(size: int) -> None:
    records = np.array([("IBM", 75.5, 100)] * size, dtype=[("symbol", object), ("price", "f8"), ("volume", "i8")])
    assert row_values(records[0], NAMES) == ROW
    with pytest.raises(EventError, match=f"an array of {size} records is not a row: send_batch"):
        row_values(records, NAMES)
