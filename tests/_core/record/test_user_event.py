"""Events and batches keep their content when they are pickled or copied."""

from __future__ import annotations

import copy
import pickle
import pickletools
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiManager
from siddhi._core.columnar.batch import BatchBuilder, restore_batch
from siddhi._core.record.event import Layout, TypeCode
from siddhi._core.record.user_event import restore_event
from tests.kit.running import collect_events

APP = "define stream S (t string, i int, l long, f float, d double, b bool, o object);"
ROW = ("x", 1, 2, 0.5, 0.25, True, (1, "a"))
NULLS = (None,) * 7

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}


@pytest.fixture(scope="module")
def received():
    batches = []
    with SiddhiManager().create_siddhi_app_runtime(APP) as runtime:
        chunks = collect_events(runtime, "S")
        runtime.add_batch_callback("S", batches.append)
        runtime.input_handler("S").send_events([Event(5, ROW), Event(7, NULLS), Event(6, ROW)])
    return chunks[0], batches[0]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_event_keeps_its_names(received, way):
    for event in received[0]:
        again = way(event)
        assert again == event
        assert repr(again) == repr(event)
        assert again.to_dict() == event.to_dict()
        assert again["d"] == event["d"]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_event_of_a_user_stays_without_names(way):
    event = Event(5, ROW, is_expired=True)
    assert repr(way(event)) == repr(event)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_batch_keeps_names_types_times_and_nulls(received, way):
    batch = received[1]
    again = way(batch)
    assert (again.names, again.types, list(again)) == (batch.names, batch.types, list(batch))
    assert again.timestamps.tolist() == batch.timestamps.tolist() == [5, 7, 6]
    for name in "ilfdb":
        assert again[name].dtype == batch[name].dtype
        assert np.ma.getmaskarray(again[name]).tolist() == [False, True, False]


TYPES = {
    TypeCode.STRING: st.text(),
    TypeCode.INT: st.integers(-(2**31), 2**31 - 1),
    TypeCode.LONG: st.integers(-(2**63), 2**63 - 1),
    TypeCode.FLOAT: st.floats(width=32),
    TypeCode.DOUBLE: st.floats(),
    TypeCode.BOOL: st.booleans(),
    TypeCode.OBJECT: st.lists(st.integers()),
}


@given(st.lists(st.sampled_from(list(TYPES)), max_size=70), st.data())
def test_pickling_does_not_change_a_batch(types, data):
    row = st.tuples(*[st.none() | TYPES[type_] for type_ in types])
    builder = BatchBuilder(Layout([f"a{i}" for i in range(len(types))], types))
    for i, values in enumerate(data.draw(st.lists(row, max_size=20))):
        builder.append_row(i, values)
    batch = builder.take_batch()
    again = pickle.loads(pickle.dumps(batch))
    assert repr(list(again)) == repr(list(batch))
    assert repr(again) == repr(batch)
    assert again.timestamps.tolist() == batch.timestamps.tolist()


def test_unpickling_calls_only_the_package_and_arrays(received):
    event, batch = received[0][0], received[1]
    called = {
        tuple(argument.split())
        for opcode, argument, _ in pickletools.genops(pickle.dumps([event, batch], 3))
        if opcode.name == "GLOBAL"
    }
    assert called == {
        ("siddhi._core.record.user_event", "restore_event"),
        ("siddhi._core.columnar.batch", "restore_batch"),
        ("siddhi._core.record.event", "Layout"),
        ("array", "_array_reconstructor"),
        ("array", "array"),
    }


def test_events_of_a_stream_share_their_names_in_a_pickle(received):
    text = pickle.dumps(received[0])
    assert text.count(b"Layout") == 1


LAYOUT = Layout(["t", "l"], [TypeCode.STRING, TypeCode.LONG])


def test_an_invalid_pickle_is_refused():
    times, texts, longs, valid = array("q", [1, 2]), ["a", "b"], array("q", [3, 4]), b"\1\1"
    assert list(restore_batch(LAYOUT, times, ((texts, valid), (longs, valid)))) == [("a", 3), ("b", 4)]
    for columns in (
        ((texts, valid),),
        ((texts, b"\1"), (longs, valid)),
        ((texts, valid), (longs, b"\1\2")),
        ((texts, valid), (longs[:1], valid)),
        ((texts, valid), (array("d", [3, 4]), valid)),
        ((texts, valid), ([3, 4], valid)),
        ((longs, valid), (longs, valid)),
        (([1, 2], valid), (longs, valid)),
        ((("a", "b"), valid), (longs, valid)),
    ):
        with pytest.raises((ValueError, TypeError)):
            restore_batch(LAYOUT, times, columns)
    with pytest.raises((ValueError, TypeError)):
        restore_batch(LAYOUT, array("d", [1, 2]), ((texts, valid), (longs, valid)))
    with pytest.raises(ValueError, match="2 attributes"):
        restore_event(1, ("a",), False, LAYOUT)
    for names, types in ((["a"], [7]), (["a"], [-1]), (["a", "b"], [0])):
        with pytest.raises(ValueError, match="type code for each name"):
            Layout(names, types)


TRADE = "define stream T (symbol string, data double, count long);"


@pytest.fixture(scope="module")
def trade():
    with SiddhiManager().create_siddhi_app_runtime(TRADE) as runtime:
        events = collect_events(runtime, "T")
        runtime.input_handler("T").send(("IBM", 1.5, 3), timestamp=7)
        yield events[0][0]


@pytest.mark.parametrize("way", [lambda event: event, *WAYS.values()], ids=["event", *WAYS])
def test_attributes_of_the_stream_are_attributes_of_the_event(trade, way):
    event = way(trade)
    assert (event.symbol, event.count) == ("IBM", 3)
    assert event.data == ("IBM", 1.5, 3)  # what an event has itself is not hidden
    assert {"symbol", "count", "timestamp", "to_dict"} <= set(dir(event))


def test_other_attributes_are_refused_with_those_that_are_there(trade):
    with pytest.raises(AttributeError, match="an event of symbol, data, count has no attribute 'symbl'") as caught:
        trade.symbl  # noqa: B018 - raises
    assert (caught.value.name, caught.value.obj) == ("symbl", trade)
    with pytest.raises(AttributeError, match="no attribute names, and no attribute 'symbol'"):
        Event(1, ("IBM",)).symbol  # noqa: B018 - raises
    with pytest.raises(AttributeError):
        trade.symbol = "x"


def test_events_match_by_name_position_and_order(trade):
    match trade:
        case Event(symbol="SUN"):
            raise AssertionError
        case Event(symbol="IBM", count=count):
            assert count == 3
    match trade:
        case Event(7, (symbol, _, _), is_expired=False):
            assert symbol == "IBM"
    match trade:
        case [symbol, *rest]:
            assert (symbol, rest) == ("IBM", [1.5, 3])


def test_rows_of_batches_match_by_position():
    builder = BatchBuilder(Layout(("symbol", "price"), (TypeCode.STRING, TypeCode.DOUBLE)))
    builder.append_row(1, ("IBM", 1.5))
    row = builder.take_batch()[0]
    assert type(row).__match_args__ == ("symbol", "price")
