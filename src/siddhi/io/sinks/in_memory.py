"""``@sink(type = 'inMemory')``: publishes to the in-memory broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from siddhi.errors import ConnectionUnavailableError, SubscriberUnavailableError
from siddhi.io.broker import InMemoryBroker, LifetimeSubscriber
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import Sink

if TYPE_CHECKING:
    from siddhi.temporal import TemporalEvent

__all__ = ["InMemorySink"]


class InMemorySink(Sink):
    """Publishes to a topic of :class:`InMemoryBroker`; of a temporal stream, its rows and their lifetimes."""

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        self._topic = options.option("topic")
        self._alive: Callable[[], Sequence[TemporalEvent]] | None = None
        self._lock: AbstractContextManager[object] | None = None

    def pass_lifetimes(
        self, alive: Callable[[], Sequence[TemporalEvent]], lock: AbstractContextManager[object]
    ) -> None:
        """Publish lifetimes to sources of temporal streams.

        Args:
            alive: returns a START for every row that is valid at the last CTI, and the CTI.
            lock: of the app.
        """
        self._alive, self._lock = alive, lock

    def connect(self) -> None:
        """Do nothing but to let sources find a temporal stream: the broker is always available."""
        if self._alive is not None:
            InMemoryBroker.add_publisher(str(self._topic.value()), self)

    def disconnect(self) -> None:
        if self._alive is not None:
            InMemoryBroker.remove_publisher(str(self._topic.value()), self)

    def publish(self, payload: object, options: DynamicOptions) -> None:
        try:
            topic = str(self._topic.value(options))
            InMemoryBroker.publish(topic, payload, has_lifetimes=self._alive is not None)
        except SubscriberUnavailableError as error:
            raise ConnectionUnavailableError(str(error)) from error

    def publish_items(self, items: Sequence[TemporalEvent]) -> None:
        """Publish what one CTI has released."""
        InMemoryBroker.publish_lifetimes(str(self._topic.value()), self, items)

    def replay(self, receive: LifetimeSubscriber) -> None:
        """Call ``receive`` with the valid rows and the last CTI, while no event is processed."""
        assert self._alive is not None
        assert self._lock is not None
        with self._lock:
            receive(self, self._alive())
