"""Texts of subclasses of str are exact texts behind every place where they enter."""

from __future__ import annotations

import enum
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from siddhi import AttributeType, Event, SiddhiManager, extension
from siddhi.extension import Registry
from tests.kit.running import running

STRING = AttributeType.STRING
OWN = Registry()


class Side(str, enum.Enum):
    """A text with a name; its str() is the name."""

    BUY = "buy"


class Strange(str):
    """A text with a str() of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        return "WRONG"


@dataclass
class Row:
    """A row by name."""

    a: str


@extension.function("own:side", args=(STRING,), returns=STRING, registry=OWN)
def side(_text: str) -> str:
    """A text of an enum."""
    return Side.BUY


@extension.stream_function("own:sides", args=(STRING,), appends={"b": STRING}, registry=OWN)
def sides(_text: str) -> tuple[str]:
    """A text of an enum."""
    return (Side.BUY,)


@extension.aggregator("own:last", args=(STRING,), returns=STRING, registry=OWN)
class Last:
    """The last text, as one of an enum."""

    def add(self, value: str) -> None: ...

    def remove(self, value: str) -> None: ...

    def reset(self) -> None: ...

    def value(self) -> str:
        return Side.BUY


@extension.stream_processor("own:pass", args=(STRING,), registry=OWN)
class Pass:
    """Emits rows with texts of an enum."""

    def __init__(self, context: extension.ProcessorContext) -> None:
        self.context = context

    def process(self, event: Event, _text: str) -> Event:
        return Event(event.timestamp, (Side.BUY, event.data[1]))


VALUES = (Side.BUY, np.str_("buy"), Strange("buy"))
SENDS: dict[str, Any] = {
    "row": lambda handler: [handler.send((value,)) for value in VALUES],
    "list": lambda handler: [handler.send([value]) for value in VALUES],
    "dict": lambda handler: [handler.send({"a": value}) for value in VALUES],
    "dataclass": lambda handler: [handler.send(Row(value)) for value in VALUES],
    "event": lambda handler: [handler.send(Event(1, (value,))) for value in VALUES],
    "rows": lambda handler: handler.send_batch([(value,) for value in VALUES]),
    "rows by name": lambda handler: handler.send_batch([{"a": value} for value in VALUES]),
    "object column": lambda handler: handler.send_batch({"a": np.array(VALUES, dtype=object)}),
    "list column": lambda handler: handler.send_batch({"a": list(VALUES)}),
    "frame": lambda handler: handler.send_batch(pd.DataFrame({"a": pd.Series(VALUES, dtype=object)})),
    "column with null": lambda handler: handler.send_batch({"a": np.array([*VALUES, None], dtype=object)}),
}


@pytest.mark.parametrize("way", SENDS)
def test_texts_are_exact_behind_every_way_to_send(way: str) -> None:
    events: list[Event] = []
    app = (
        "define stream S (a string); from S select a, str:concat(a, '') as b, convert(a, 'string') as c insert into O;"
    )
    with running(app) as runtime:
        runtime.add_callback("S", events.extend)
        runtime.add_callback("O", events.extend)
        SENDS[way](runtime.input_handler("S"))
    values = [value for event in events for value in event.data if event.data[0] is not None]
    assert values == ["buy"] * 12
    assert {type(value) for value in values} == {str}
    assert b"Side" not in pickle.dumps(events)
    assert b"Strange" not in pickle.dumps(events)


@pytest.mark.parametrize(
    "query",
    [
        "from S select own:side(a) as b",
        "from S#own:sides(a) select b",
        "from S select own:last(a) as b",
        "from S#own:pass(a) select a as b",
        "from S select scripted(a) as b",
        "from S select convert(o, 'string') as b",
        "from S select cast(o, 'string') as b",
        "from S select str:concat(o, '') as b",
    ],
)
def test_texts_are_exact_behind_functions(query: str) -> None:
    manager = SiddhiManager()
    for name, own in (("side", side), ("sides", sides), ("last", Last), ("pass", Pass)):
        manager.set_extension(f"own:{name}", own)
    app = (
        "define stream S (a string, o object); define function scripted[python] return string { "
        "import enum\nclass Side(str, enum.Enum):\n    BUY = 'buy'\nreturn Side.BUY };"
        f" {query} insert into O;"
    )
    events: list[Event] = []
    with running(app, manager=manager) as runtime:
        runtime.add_callback("O", events.extend)
        runtime.input_handler("S").send(("x", Side.BUY))
    assert [event.data for event in events] == [("buy",)]
    assert type(events[0].data[0]) is str


def test_texts_are_exact_in_tables_and_parameters() -> None:
    app = "define stream S (a string); @PrimaryKey('a') define table T (a string); from S insert into T;"
    with running(app) as runtime:
        runtime.input_handler("S").send((Side.BUY,))
        (event,) = runtime.query("from T on a == :side select a", side=Side.BUY)
        runtime.query("select :side as a insert into T", side=Strange("sell"))
        found = [event, *runtime.query("from T on a == 'sell' select a")]
    assert [one.data for one in found] == [("buy",), ("sell",)]
    assert {type(one.data[0]) for one in found} == {str}


def test_snapshots_of_texts_restore_without_their_class() -> None:
    app = "@app:name('A') define stream S (a string); from S#window.length(5) select a, count() as n insert into O;"
    with running(app) as runtime:
        runtime.input_handler("S").send((Side.BUY,))
        state = runtime.snapshot()
    assert b"Side" not in state
    with running(app) as runtime:
        runtime.restore(state)
        events: list[Event] = []
        runtime.add_callback("O", events.extend)
        runtime.input_handler("S").send((np.str_("buy"),))
    assert [event.data for event in events] == [("buy", 2)]
