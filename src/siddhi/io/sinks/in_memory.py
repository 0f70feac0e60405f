"""``@sink(type = 'inMemory')``: publishes to the in-memory broker."""

from __future__ import annotations

from siddhi.errors import ConnectionUnavailableError, SubscriberUnavailableError
from siddhi.io.broker import InMemoryBroker
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import Sink

__all__ = ["InMemorySink"]


class InMemorySink(Sink):
    """Publishes to a topic of :class:`InMemoryBroker`."""

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        self._topic = options.option("topic")

    def connect(self) -> None:
        """Do nothing: the broker is always available."""

    def publish(self, payload: object, options: DynamicOptions) -> None:
        try:
            InMemoryBroker.publish(str(self._topic.value(options)), payload)
        except SubscriberUnavailableError as error:
            raise ConnectionUnavailableError(str(error)) from error
