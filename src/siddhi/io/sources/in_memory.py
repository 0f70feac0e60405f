"""``@source(type = 'inMemory')``."""

from __future__ import annotations

import threading

from siddhi.io.broker import InMemoryBroker
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.source import Source, SourceEventListener

__all__ = ["InMemorySource"]

DEFAULT_TOPIC = "input inMemory source"
"""The topic of a source that does not say."""


class InMemorySource(Source):
    """Subscribes to a topic of :class:`InMemoryBroker`; a pause holds the publisher's thread."""

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        self._listener = listener
        self._topic = options.static("topic", DEFAULT_TOPIC)
        self._is_processing = context.is_processing
        self._open = threading.Event()
        self._open.set()

    def connect(self) -> None:
        InMemoryBroker.subscribe(self._topic, self._take)

    def disconnect(self) -> None:
        InMemoryBroker.unsubscribe(self._topic, self._take)
        # Whoever waits at a closed door finds the app shut down, not waiting for ever.
        self._open.set()

    def pause(self) -> None:
        self.is_paused = True
        self._open.clear()

    def resume(self) -> None:
        self.is_paused = False
        self._open.set()

    def _take(self, message: object) -> None:
        # What the app itself publishes belongs to an event that is under way: a snapshot waits for its end.
        if not self._open.is_set() and not self._is_processing():
            self._open.wait()
        self._listener.on_event(message)
