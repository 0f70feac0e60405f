"""A broker inside the process: topics that sinks publish to and sources subscribe to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar

from siddhi._callables import require_function
from siddhi.errors import SubscriberUnavailableError

__all__ = ["InMemoryBroker"]

Subscriber = Callable[[object], object]


class InMemoryBroker:
    """One for the process; its methods are called on the class."""

    _topics: ClassVar[dict[str, tuple[Subscriber, ...]]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    def subscribe(cls, topic: str, subscriber: Subscriber) -> None:
        """Call ``subscriber(message)`` with whatever is published to a topic, behind those that subscribed before.

        A subscriber that is there already is not added again.

        Raises:
            TypeError: it can't be called with a message, or is asynchronous.
        """
        require_function(subscriber, "a subscriber", "message")
        with cls._lock:
            there = cls._topics.get(topic, ())
            if subscriber not in there:
                cls._topics[topic] = (*there, subscriber)

    @classmethod
    def unsubscribe(cls, topic: str, subscriber: Subscriber) -> None:
        """Take a subscriber away; unknown ones are ignored."""
        with cls._lock:
            left = tuple(other for other in cls._topics.get(topic, ()) if other != subscriber)
            if left:
                cls._topics[topic] = left
            else:
                cls._topics.pop(topic, None)

    @classmethod
    def publish(cls, topic: str, message: object) -> None:
        """Give a message to every subscriber of a topic, in order of subscription and in this thread.

        Raises:
            SubscriberUnavailableError: nobody has subscribed. What a subscriber raises comes through as well.
        """
        subscribers = cls._topics.get(topic)
        if not subscribers:
            raise SubscriberUnavailableError(f"Subscriber for topic '{topic}' is unavailable")
        for subscriber in subscribers:
            subscriber(message)
