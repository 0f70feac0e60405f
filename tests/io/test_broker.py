from __future__ import annotations

from collections.abc import Iterator

import pytest

from siddhi.errors import ConnectionUnavailableError, SubscriberUnavailableError
from siddhi.io import InMemoryBroker


@pytest.fixture
def heard() -> Iterator[list[object]]:
    heard: list[object] = []
    yield heard
    for subscriber in (heard.append, heard.extend):
        InMemoryBroker.unsubscribe("broker-test", subscriber)


def test_subscribers_are_called_in_order_of_subscription(heard):
    def first(message: object) -> None:
        heard.append(("first", message))

    InMemoryBroker.subscribe("broker-test", first)
    InMemoryBroker.subscribe("broker-test", heard.append)
    InMemoryBroker.publish("broker-test", "m")
    InMemoryBroker.unsubscribe("broker-test", first)
    assert heard == [("first", "m"), "m"]


def test_a_second_subscription_has_no_effect(heard):
    InMemoryBroker.subscribe("broker-test", heard.append)
    InMemoryBroker.subscribe("broker-test", heard.append)
    InMemoryBroker.publish("broker-test", 1)
    assert heard == [1]


def test_publishing_reports_a_topic_without_subscriber(heard):
    with pytest.raises(SubscriberUnavailableError, match="topic 'broker-test' has no subscribers"):
        InMemoryBroker.publish("broker-test", 1)
    InMemoryBroker.subscribe("broker-test", heard.append)
    InMemoryBroker.unsubscribe("broker-test", heard.append)
    with pytest.raises(ConnectionUnavailableError):
        InMemoryBroker.publish("broker-test", 1)


def test_removing_an_unknown_subscriber_has_no_effect(heard):
    InMemoryBroker.unsubscribe("broker-test", heard.append)
    InMemoryBroker.subscribe("broker-test", heard.append)
    InMemoryBroker.unsubscribe("broker-test", heard.extend)
    InMemoryBroker.publish("broker-test", 1)
    assert heard == [1]
