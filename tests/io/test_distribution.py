from __future__ import annotations

import pytest

from siddhi import AttributeType, Event
from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.io import ConnectorContext, DynamicOptions, Option, OptionHolder, Template
from siddhi.io.distribution import BroadcastStrategy, PartitionedStrategy, RoundRobinStrategy, hash_code

CONTEXT = ConnectorContext(
    app="A",
    stream="S",
    attributes=(("k", AttributeType.STRING), ("v", AttributeType.INT)),
    texts=(str, str),
    now=lambda: 0,
    is_processing=lambda: False,
)


def keyed(destinations: int, key: str = "k") -> PartitionedStrategy:
    strategy = PartitionedStrategy()
    options = OptionHolder("strategy", [Option("partitionKey", (Template((key,)),))])
    strategy.init(destinations, options, CONTEXT)
    strategy.available = tuple(range(destinations))
    return strategy


def choices(strategy, keys: str) -> list[tuple[int, ...]]:
    return [tuple(strategy.destinations_to_publish(None, DynamicOptions(Event(0, (key, 1))))) for key in keys]


def test_round_robin_takes_connected_destinations_in_turn():
    strategy = RoundRobinStrategy()
    strategy.init(3, OptionHolder("strategy"), CONTEXT)
    assert choices(strategy, "a") == [()]
    strategy.available = (0, 1, 2)
    assert choices(strategy, "abcd") == [(0,), (1,), (2,), (0,)]
    strategy.available = (0, 2)
    assert set(choices(strategy, "ab")) == {(0,), (2,)}


def test_broadcast_takes_all_connected_destinations():
    strategy = BroadcastStrategy()
    strategy.init(3, OptionHolder("strategy"), CONTEXT)
    strategy.available = (0, 2)
    assert choices(strategy, "ab") == [(0, 2), (0, 2)]


def test_partitioned_sends_a_key_to_the_same_destination():
    assert choices(keyed(2), "aba") == [(1,), (0,), (1,)]


def test_partitioned_fails_where_the_destination_of_the_key_is_down():
    strategy = keyed(2)
    strategy.available = (0,)
    assert choices(strategy, "b") == [(0,)]
    with pytest.raises(ConnectionUnavailableError, match="destination 2 of 2"):
        choices(strategy, "a")


def test_partitioned_needs_an_attribute_of_the_stream():
    with pytest.raises(SiddhiAppCreationError, match="unknown attribute 'zz' of stream 'S' in 'partitionKey'"):
        keyed(2, "zz")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("IBM", 72276),
        ("hello world", 1794106052),
        ("polygenelubricants", -2147483648),
        ("😀", 1772899),
    ],
)
def test_hash_codes_equal_those_of_java(text, code):
    assert hash_code(text) == code


def test_an_extreme_hash_selects_a_destination():
    assert 0 <= keyed(3).group(Event(0, ("polygenelubricants", 1))) < 3
