"""``@source(type = 'inMemory')``: subscribes to the in-memory broker."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.broker import InMemoryBroker, LifetimeSubscriber
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.source import Source, SourceEventListener

if TYPE_CHECKING:
    from siddhi.temporal import TemporalEvent

__all__ = ["InMemorySource"]

DEFAULT_TOPIC = "input inMemory source"
"""The default topic."""


class InMemorySource(Source):
    """Subscribes to a topic of :class:`InMemoryBroker`; a pause blocks the publisher's thread.

    The source of a temporal stream gets the lifetimes of other temporal streams, instead of their rows.
    """

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
        replay = options.static("replay", "none").strip().lower()
        if replay not in ("none", "alive"):
            raise SiddhiAppCreationError(
                f"invalid value '{replay}' for 'replay' of source 'inMemory'", code="E315", hint="use 'none' or 'alive'"
            )
        self._replays = replay == "alive"
        self._lifetimes: LifetimeSubscriber | None = None
        # Publishers whose valid rows have not been received yet; None: that of all of them.
        self._awaited: list[object] | None = []

    def take_lifetimes(self, receive: LifetimeSubscriber) -> None:
        """Receive the items of temporal streams by ``receive``."""
        self._lifetimes = receive

    def connect(self) -> None:
        if self._lifetimes is None:
            InMemoryBroker.subscribe(self._topic, self._receive)
            return
        # What a publisher sends before its valid rows is among them.
        self._awaited = None if self._replays else []
        InMemoryBroker.subscribe_lifetimes(self._topic, self._receive, self._receive_items)
        if self._replays:
            publishers = InMemoryBroker.publishers(self._topic)
            self._awaited = list(publishers)
            for publisher in publishers:
                publisher.replay(self._receive_alive)

    def disconnect(self) -> None:
        if self._lifetimes is None:
            InMemoryBroker.unsubscribe(self._topic, self._receive)
        else:
            InMemoryBroker.unsubscribe_lifetimes(self._topic, self._receive)
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
        if self.is_paused and not self._is_processing():
            self._not_paused.wait()
        self._listener.on_event(message)

    def _receive_alive(self, publisher: object, items: Sequence[TemporalEvent]) -> None:
        assert self._awaited is not None
        self._awaited.remove(publisher)
        self._receive_items(publisher, items)

    def _receive_items(self, publisher: object, items: Sequence[TemporalEvent]) -> None:
        if self.is_paused and not self._is_processing():
            self._not_paused.wait()
        if self._lifetimes is not None and self._awaited is not None and publisher not in self._awaited:
            self._lifetimes(publisher, items)
