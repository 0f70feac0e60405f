"""``@source(type = 'inMemory')``: subscribes to the in-memory broker."""

from __future__ import annotations

import threading

from siddhi.io.broker import InMemoryBroker
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.source import Source, SourceEventListener

__all__ = ["InMemorySource"]

DEFAULT_TOPIC = "input inMemory source"
"""The default topic."""


class InMemorySource(Source):
    """Subscribes to a topic of :class:`InMemoryBroker`; a pause blocks the publisher's thread."""

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
        self._not_paused = threading.Event()
        self._not_paused.set()

    def connect(self) -> None:
        InMemoryBroker.subscribe(self._topic, self._receive)

    def disconnect(self) -> None:
        InMemoryBroker.unsubscribe(self._topic, self._receive)
        # Wake the publishers that a pause blocks; they detect that the app is shut down.
        self._not_paused.set()

    def pause(self) -> None:
        self.is_paused = True
        self._not_paused.clear()

    def resume(self) -> None:
        self.is_paused = False
        self._not_paused.set()

    def _receive(self, message: object) -> None:
        # A message published by the app itself belongs to an event in progress: a snapshot waits for the end of that event.
        if not self._not_paused.is_set() and not self._is_processing():
            self._not_paused.wait()
        self._listener.on_event(message)
