"""In-memory message broker: topics to which sinks publish and sources subscribe."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from siddhi._callables import require_function
from siddhi.errors import SiddhiTemporalError, SubscriberUnavailableError

if TYPE_CHECKING:
    from siddhi.temporal import TemporalEvent

__all__ = ["InMemoryBroker", "LifetimeSubscriber", "Lifetimes"]

Subscriber = Callable[[object], object]
LifetimeSubscriber = Callable[[object, Sequence["TemporalEvent"]], object]
"""``fn(publisher, items)``; no items: the publisher has ended."""


MOST_ROUNDS = 16
"""Publications of one temporal stream inside one another: a CTI comes back unchanged, unless a query shifts it, and a
callback may send what leads to the next one. More are an endless loop."""


class Lifetimes(Protocol):
    """A publisher of the items of a temporal stream."""

    def replay(self, receive: LifetimeSubscriber) -> None:
        """Call ``receive`` with a START for every row that is valid at the last CTI, and the CTI."""


class _Publications(threading.local):
    """The publications of lifetimes, with their topics, in which the current thread is; the outermost first."""

    def __init__(self) -> None:
        self.path: list[tuple[object, str]] = []


class InMemoryBroker:
    """The broker of the process; call its methods on the class."""

    _topics: ClassVar[dict[str, tuple[Subscriber, ...]]] = {}
    # Of temporal streams; each of their subscribers is among those of the topic, too, and gets no rows that have lifetimes.
    _lifetimes: ClassVar[dict[str, dict[Subscriber, LifetimeSubscriber]]] = {}
    _publishers: ClassVar[dict[str, tuple[Lifetimes, ...]]] = {}
    _publications: ClassVar[_Publications] = _Publications()
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
    def publish(cls, topic: str, message: object, *, has_lifetimes: bool = False) -> None:
        """Pass a message to every subscriber of a topic, in order of subscription, in the calling thread.

        Args:
            topic: the topic.
            message: the message.
            has_lifetimes: its events come out of a temporal stream: sources of temporal streams get their lifetimes instead.

        Raises:
            SubscriberUnavailableError: the topic has no subscribers.
            Exception: a subscriber failed.
        """
        subscribers = cls._topics.get(topic)
        if not subscribers:
            raise SubscriberUnavailableError(f"topic '{topic}' has no subscribers")
        others = cls._lifetimes.get(topic, {}) if has_lifetimes else {}
        for subscriber in subscribers:
            if subscriber not in others:
                subscriber(message)

    # --- lifetimes of temporal streams

    @classmethod
    def subscribe_lifetimes(cls, topic: str, subscriber: Subscriber, receive: LifetimeSubscriber) -> None:
        """Call ``receive`` with the items of temporal streams, and ``subscriber`` with all other messages of a topic."""
        with cls._lock:
            cls._lifetimes[topic] = {**cls._lifetimes.get(topic, {}), subscriber: receive}
        cls.subscribe(topic, subscriber)

    @classmethod
    def unsubscribe_lifetimes(cls, topic: str, subscriber: Subscriber) -> None:
        """Remove a subscriber; unknown ones are ignored."""
        cls.unsubscribe(topic, subscriber)
        with cls._lock:
            remaining = {key: value for key, value in cls._lifetimes.get(topic, {}).items() if key != subscriber}
            if remaining:
                cls._lifetimes[topic] = remaining
            else:
                cls._lifetimes.pop(topic, None)

    @classmethod
    def publish_lifetimes(cls, topic: str, publisher: object, items: Sequence[TemporalEvent]) -> None:
        """Pass the items of a temporal stream to the sources of temporal streams, in the calling thread.

        Raises:
            SiddhiTemporalError: what the publisher publishes comes back to it.
        """
        path = cls._publications.path
        if sum(one is publisher for one, _ in path) >= MOST_ROUNDS:
            topics = [known for _, known in path[max(at for at, (one, _) in enumerate(path) if one is publisher) :]]
            raise SiddhiTemporalError(
                f"topic '{topic}': what a temporal stream publishes comes back to it, over the topics "
                f"{' -> '.join([*topics, topic])}, and its CTIs would never stop growing; publish to a topic on which the "
                "stream does not depend"
            )
        path.append((publisher, topic))
        try:
            for receive in cls._lifetimes.get(topic, {}).values():
                receive(publisher, items)
        finally:
            path.pop()

    @classmethod
    def add_publisher(cls, topic: str, publisher: Lifetimes) -> None:
        """Let sources that subscribe later ask for the rows that are valid."""
        with cls._lock:
            known = cls._publishers.get(topic, ())
            if publisher not in known:
                cls._publishers[topic] = (*known, publisher)

    @classmethod
    def remove_publisher(cls, topic: str, publisher: Lifetimes) -> None:
        """Remove a publisher, and tell the subscribers that it has ended; unknown ones are ignored."""
        with cls._lock:
            known = cls._publishers.get(topic, ())
            remaining = tuple(other for other in known if other is not publisher)
            if remaining:
                cls._publishers[topic] = remaining
            else:
                cls._publishers.pop(topic, None)
        if len(remaining) < len(known):
            cls.publish_lifetimes(topic, publisher, ())

    @classmethod
    def publishers(cls, topic: str) -> tuple[Lifetimes, ...]:
        """Return the temporal streams that publish to a topic."""
        return cls._publishers.get(topic, ())
