"""In-memory message broker: topics to which sinks publish and sources subscribe."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar

from siddhi._callables import require_function
from siddhi.errors import SubscriberUnavailableError

__all__ = ["InMemoryBroker"]

Subscriber = Callable[[object], object]


class InMemoryBroker:
    """The broker of the process; call its methods on the class."""

    _topics: ClassVar[dict[str, tuple[Subscriber, ...]]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    def subscribe(cls, topic: str, subscriber: Subscriber) -> None:
        """Call ``subscriber(message)`` for every message of a topic, after the earlier subscribers.

        A subscriber that is subscribed already is not added again.

        Raises:
            TypeError: the subscriber can't be called with a message, or is asynchronous.
        """
        require_function(subscriber, "a subscriber", "message")
        with cls._lock:
            subscribers = cls._topics.get(topic, ())
            if subscriber not in subscribers:
                cls._topics[topic] = (*subscribers, subscriber)

    @classmethod
    def unsubscribe(cls, topic: str, subscriber: Subscriber) -> None:
        """Remove a subscriber; unknown ones are ignored."""
        with cls._lock:
            remaining = tuple(other for other in cls._topics.get(topic, ()) if other != subscriber)
            if remaining:
                cls._topics[topic] = remaining
            else:
                cls._topics.pop(topic, None)

    @classmethod
    def publish(cls, topic: str, message: object) -> None:
        """Pass a message to every subscriber of a topic, in order of subscription, in the calling thread.

        Raises:
            SubscriberUnavailableError: the topic has no subscribers.
            Exception: a subscriber failed.
        """
        subscribers = cls._topics.get(topic)
        if not subscribers:
            raise SubscriberUnavailableError(f"topic '{topic}' has no subscribers")
        for subscriber in subscribers:
            subscriber(message)
