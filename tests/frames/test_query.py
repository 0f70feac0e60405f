"""``siddhi.query``: an app over frames in one call gives what a live app would have given."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given
from hypothesis import strategies as st

import siddhi
from siddhi import AttributeType, extension
from siddhi.errors import EventError, SiddhiTemporalError

ROWS = [(1000, "A", 1.0), (2000, "B", 2.0), (61_000, "A", 3.0), (62_000, "B", 4.0)]
NAMES = ["timestamp", "symbol", "price"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)
DEFINED = "define stream Trades (symbol string, price double);\n"
BARS = "from Trades#window.timeBatch(1 min) select symbol, sum(price) as total group by symbol insert into Bars;"
TOTALS = [("A", 1.0), ("B", 2.0), ("A", 3.0), ("B", 4.0)]


class Row(NamedTuple):
    timestamp: int
    symbol: str
    price: float


Point = dataclasses.make_dataclass("Point", NAMES)


def relation() -> Any:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(pa.Table.from_pandas(FRAME))


KINDS: dict[str, Callable[[], Any]] = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.DataFrame(FRAME),
    "lazy": lambda: pl.DataFrame(FRAME).lazy(),
    "arrow": lambda: pa.Table.from_pandas(FRAME),
    "record batch": lambda: pa.RecordBatch.from_pandas(FRAME),
    "reader": lambda: pa.Table.from_pandas(FRAME).to_reader(),
    "dataset": lambda: pyarrow.dataset.dataset(pa.Table.from_pandas(FRAME)),
    "scanner": lambda: pyarrow.dataset.dataset(pa.Table.from_pandas(FRAME)).scanner(),
    "duckdb": relation,
    "structured": lambda: FRAME.to_records(index=False),
    "columns": lambda: FRAME.to_dict("list"),
    "arrays": lambda: {name: FRAME[name].to_numpy() for name in NAMES},
    "mappings": lambda: FRAME.to_dict("records"),
    "named tuples": lambda: (Row(*row) for row in ROWS),
    "dataclasses": lambda: [Point(*row) for row in ROWS],
    "events": lambda: [siddhi.Event(time, row) for time, *row in ROWS],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_input_gives_the_same_output(kind: str) -> None:
    result = siddhi.query(DEFINED + BARS, Trades=KINDS[kind]())
    assert list(result["Bars"]) == TOTALS


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "events"])
def test_a_stream_without_definition_has_the_columns_of_its_input(kind: str) -> None:
    batch = siddhi.query("from Trades select * insert into Out;", Trades=KINDS[kind]())["Out"]
    assert batch.names == tuple(NAMES)
    assert batch.types == ("long", "string", "double")
    assert batch.timestamps.tolist() == [row[0] for row in ROWS]


def test_an_event_batch_has_its_own_times() -> None:
    first = siddhi.query("from Trades select symbol, price insert into Out;", Trades=FRAME)["Out"]
    assert list(siddhi.query(BARS, Trades=first)["Bars"]) == TOTALS


SIDES = "define stream A (x int); define stream B (x int);\n"
JOIN = "from A#window.time(20 milliseconds) as a join B#window.time(15 milliseconds) as b select a.x as x, b.x as y insert into Out;"
TIMES = st.lists(st.integers(1, 100), max_size=12)


@given(TIMES, TIMES)
def test_inputs_are_merged_as_if_sent_one_by_one(left: list[int], right: list[int]) -> None:
    sides = {"A": sorted(left), "B": sorted(right)}
    rows = [(time, stream, x) for stream, times in sides.items() for x, time in enumerate(times)]
    app = siddhi.App(SIDES + JOIN)
    app.enable_playback(True)
    app.collect("Out", timestamp=None, chunk=None)
    with app:
        for time, stream, x in sorted(rows, key=lambda row: row[0]):
            app[stream].send((x,), timestamp=time)
        expected = app.drain()["Out"]
    inputs = {
        name: pd.DataFrame({"timestamp": np.array(times, np.int64), "x": np.arange(len(times))})
        for name, times in sides.items()
    }
    got = siddhi.query(SIDES + JOIN, inputs)["Out"]
    assert list(got) == list(expected)
    assert got.timestamps.tolist() == expected.timestamps.tolist()


@pytest.mark.parametrize(
    ("until", "bars"),
    [(None, 2), ("end", 4), (120_000, 2), (121_000, 4), (datetime(1970, 1, 2, tzinfo=timezone.utc), 4)],
)
def test_the_clock_goes_as_far_as_until_says(until: Any, bars: int) -> None:
    assert len(siddhi.query(BARS, Trades=FRAME, until=until)["Bars"]) == bars


ZONELESS = datetime(2020, 1, 1)  # noqa: DTZ001 - as users write it


@pytest.mark.parametrize(("until", "error"), [("soon", TypeError), (True, TypeError), (ZONELESS, ValueError)])
def test_an_end_that_is_no_time_is_refused(until: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"invalid until"):
        siddhi.query(BARS, Trades=FRAME, until=until)


def test_timers_without_end_are_refused_before_the_input_is_read() -> None:
    text = "define trigger Tick at every 1 sec;\n" + BARS
    with pytest.raises(ValueError, match=r"trigger 'Tick' fires periodically. Pass until="):
        siddhi.query(text, Trades=iter(FRAME.to_dict("records")))
    assert len(siddhi.query(text, Trades=FRAME, until=None)["Bars"]) == 2


class TestTimes:
    TEXT = "from Trades select symbol insert into Out;"

    def test_a_named_column_counts(self) -> None:
        frame = FRAME.assign(at=FRAME.timestamp + 7)
        assert siddhi.query(self.TEXT, Trades=frame, timestamp="at")["Out"].timestamps[0] == 1007
        assert siddhi.query(self.TEXT, Trades=frame, timestamp={"Trades": "at"})["Out"].timestamps[0] == 1007

    def test_the_only_column_of_date_times_counts(self) -> None:
        frame = FRAME.assign(at=pd.to_datetime(FRAME.timestamp + 7, unit="ms")).drop(columns="timestamp")
        assert siddhi.query(self.TEXT, Trades=frame)["Out"].timestamps[0] == 1007
        assert siddhi.query(self.TEXT, Trades=frame.to_dict("records"))["Out"].timestamps[0] == 1007

    def test_several_columns_of_date_times_are_refused(self) -> None:
        at = pd.to_datetime(FRAME.timestamp, unit="ms")
        with pytest.raises(TypeError, match=r"several columns of times, a and b: .* timestamp='a'"):
            siddhi.query(self.TEXT, Trades=pd.DataFrame({"symbol": FRAME.symbol, "a": at, "b": at}))

    def test_a_column_that_does_not_exist_is_refused(self) -> None:
        with pytest.raises(TypeError, match=r"no column 'timestam' with times; did you mean 'timestamp'"):
            siddhi.query(self.TEXT, Trades=FRAME, timestamp="timestam")
        with pytest.raises(TypeError, match=r"timestamp names 'Trade', which is not an input; did you mean 'Trades'"):
            siddhi.query(self.TEXT, Trades=FRAME, timestamp={"Trade": "timestamp"})

    def test_rows_without_times_happen_at_the_same_time(self) -> None:
        result = siddhi.query(BARS, Trades=FRAME[["symbol", "price"]])["Bars"]
        assert list(result) == [("A", 4.0), ("B", 6.0)]

    def test_an_input_without_times_beside_others_must_be_declared_so(self) -> None:
        text = "define table N (symbol string, name string);\nfrom Names select * insert into N;\n"
        text += "from Trades join N on Trades.symbol == N.symbol select N.name, price insert into Out;"
        names = {"symbol": ["A", "B"], "name": ["Alpha", "Beta"]}
        with pytest.raises(TypeError, match=r"'Names' has no times, but others have: .*'Names': None"):
            siddhi.query(text, Trades=FRAME, Names=names)
        result = siddhi.query(text, Trades=FRAME, Names=names, timestamp={"Names": None})
        assert [name for name, _ in result["Out"]] == ["Alpha", "Beta", "Alpha", "Beta"]


class TestNames:
    TEXT = "from Trades[price > ${limit}] select symbol, price insert into Out;"

    def test_keywords_are_inputs_and_parameters(self) -> None:
        assert len(siddhi.query(self.TEXT, Trades=FRAME, limit=2.5)["Out"]) == 2
        assert len(siddhi.query(self.TEXT, {"Trades": FRAME}, params={"limit": 2.5})["Out"]) == 2

    def test_scalars_of_numpy_are_parameters(self) -> None:
        text = "from Trades[price > ${x} and symbol == ${s}] select price insert into Out;"
        result = siddhi.query(text, Trades=FRAME, x=np.float32(1.5), s=np.str_("A"))
        assert list(result["Out"]) == [(3.0,)]

    def test_a_stream_can_have_the_name_of_an_option(self) -> None:
        assert len(siddhi.query("from until select symbol insert into Out;", {"until": FRAME})["Out"]) == 4

    def test_an_unknown_keyword_is_refused_with_the_nearest_name(self) -> None:
        with pytest.raises(TypeError, match=r"no stream and no parameter .* called 'Trade' .*did you mean 'Trades'"):
            siddhi.query(self.TEXT, Trade=FRAME, limit=1)
        with pytest.raises(TypeError, match=r"called 'limits' .*did you mean 'limit'"):
            siddhi.query(self.TEXT, Trades=FRAME, limit=1, limits=1)

    def test_a_name_that_is_a_stream_and_a_parameter_is_refused(self) -> None:
        text = "from Trades[price > ${Trades}] select symbol insert into Out;"
        with pytest.raises(TypeError, match=r"'Trades' is the parameter .* pass its input in a mapping"):
            siddhi.query(text, Trades=FRAME)
        with pytest.raises(TypeError, match=r"'Trades' is a stream and a parameter"):
            siddhi.query(text, Trades=1.0)
        assert len(siddhi.query(text, {"Trades": FRAME}, params={"Trades": 1.0})["Out"]) == 3

    def test_a_name_given_twice_is_refused(self) -> None:
        with pytest.raises(TypeError, match=r"'Trades' is given twice"):
            siddhi.query(self.TEXT, {"Trades": FRAME}, Trades=FRAME, limit=1)

    def test_a_table_is_no_input(self) -> None:
        with pytest.raises(TypeError, match=r"'T' is a table, not a stream"):
            siddhi.query("define table T (symbol string);" + self.TEXT, T=FRAME, Trades=FRAME, limit=1)

    @pytest.mark.parametrize("value", [5, "text", object()])
    def test_what_is_no_table_is_refused(self, value: object) -> None:
        with pytest.raises(TypeError, match=f"input of stream 'Trades' is a {type(value).__name__}"):
            siddhi.query(self.TEXT, Trades=value, limit=1)

    def test_a_missing_column_is_an_error_that_names_the_nearest(self) -> None:
        with pytest.raises(EventError, match=r"no column 'price' .* Did you mean 'prices'"):
            siddhi.query(DEFINED + BARS, Trades=FRAME.rename(columns={"price": "prices"}))


class TestOutputs:
    TEXT = "from Trades select symbol, price insert into Mid;\nfrom Mid[price > 2.5] select symbol insert into Out;"

    def test_streams_that_no_query_reads_are_the_outputs(self) -> None:
        result = siddhi.query(self.TEXT, Trades=FRAME)
        assert result.streams == tuple(result) == ("Out",)
        with pytest.raises(KeyError, match=r"'Mid' was not collected: .* outputs=\['Mid'\]"):
            result["Mid"]
        with pytest.raises(KeyError, match=r"no output stream 'Ouf'; there are: Out; did you mean 'Out'"):
            result["Ouf"]

    def test_a_table_is_an_output_with_its_rows_at_the_end(self) -> None:
        text = "@primaryKey('symbol') define table Last (symbol string, price double);\n"
        text += "from Trades select symbol, price update or insert into Last on Last.symbol == symbol;"
        assert list(siddhi.query(text, Trades=FRAME, outputs=["Last"])["Last"]) == [("A", 3.0), ("B", 4.0)]

    def test_one_output_can_be_named_alone(self) -> None:
        assert siddhi.query(BARS, Trades=FRAME, outputs="Bars").streams == ("Bars",)

    def test_outputs_can_be_named(self) -> None:
        result = siddhi.query(self.TEXT, Trades=FRAME, outputs=["Out", "Mid", "Trades"])
        assert {name: len(batch) for name, batch in result.items()} == {"Out": 2, "Mid": 4, "Trades": 4}

    def test_a_query_that_returns_is_an_output(self) -> None:
        assert siddhi.query("from Trades select price return;", Trades=FRAME).streams == ("query_1",)
        named = siddhi.query("@info(name = 'prices') from Trades select price return;", Trades=FRAME)
        assert [price for (price,) in named["prices"]] == [1.0, 2.0, 3.0, 4.0]

    def test_the_last_stream_becomes_a_frame(self) -> None:
        text = "from Trades select symbol insert into A;\nfrom Trades select price insert into B;"
        result = siddhi.query(text, Trades=FRAME)
        assert result.streams == ("A", "B")
        assert result.to_pandas().columns.tolist() == ["price"]
        assert result.to_pandas(timestamp="at").columns.tolist() == ["at", "price"]
        assert result.to_polars().columns == result.to_arrow().column_names == list(result.to_dicts()[0]) == ["price"]

    def test_its_repr_lists_the_streams(self) -> None:
        assert repr(siddhi.query(self.TEXT, Trades=FRAME)) == "Result of 1 stream\n  Out: 2 events (symbol string)"
        assert "<h4>Out</h4>" in siddhi.query(self.TEXT, Trades=FRAME)._repr_html_()

    def test_an_app_without_output_has_no_frame(self) -> None:
        text = "define table T (symbol string);\nfrom Trades select symbol insert into T;"
        with pytest.raises(KeyError, match=r"no output stream"):
            siddhi.query(text, Trades=FRAME).to_dicts()


def test_an_error_of_a_function_is_raised() -> None:
    @extension.function("frames:fails", args=(AttributeType.DOUBLE,), returns=AttributeType.DOUBLE)
    def fails(value: float) -> float:
        raise RuntimeError("no such price")

    text = "from Trades select frames:fails(price) as p insert into Out;"
    with pytest.raises(RuntimeError, match=r"no such price"):
        siddhi.query(text, Trades=FRAME)
    guarded = "@OnError(action = 'stream')\n" + DEFINED + text + "\nfrom !Trades select symbol insert into Failed;"
    assert len(siddhi.query(guarded, Trades=FRAME)["Failed"]) == 4


def test_connectors_and_async_of_the_text_are_left_out() -> None:
    text = "@source(type = 'tcp', context = 'Trades', @map(type = 'binary')) @async(buffer.size = '64')\n" + DEFINED
    text += "@sink(type = 'log')\ndefine stream Bars (symbol string, total double);\n" + BARS
    assert list(siddhi.query(text, Trades=FRAME)["Bars"]) == TOTALS


def test_temporal_streams_are_refused() -> None:
    text = "@temporal\ndefine stream Trades (symbol string, price double);\nfrom Trades select symbol insert into Out;"
    with pytest.raises(SiddhiTemporalError, match=r"use siddhi.App"):
        siddhi.query(text, Trades=FRAME)


def test_an_empty_input_gives_an_empty_output() -> None:
    assert len(siddhi.query(BARS, Trades=FRAME[:0])["Bars"]) == 0
    assert len(siddhi.query(DEFINED + BARS, Trades=[])["Bars"]) == 0
    with pytest.raises(EventError, match=r"no definition, and its input has no columns"):
        siddhi.query(BARS, Trades=[])


def test_an_endless_input_is_read_in_parts() -> None:
    size = 0

    def rows() -> Any:
        nonlocal size
        for _, symbol, price in ROWS * 10_000:
            size += 1
            yield {"timestamp": size, "symbol": symbol, "price": "bad" if size > 20_000 else price}

    with pytest.raises(EventError, match=r"row 20000: attribute 'price' .double. can't take 'bad'"):
        siddhi.query(DEFINED + BARS, Trades=rows())
    assert size < 30_000
