"""``@distribution``: one sink that publishes to several destinations."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import DistributionStrategy, Sink
from siddhi.runtime.connectors.connection import Connection
from siddhi.runtime.connectors.retry import RetryPolicy, RetryScheduler

__all__ = ["DistributedSink"]


class DistributedSink(Sink):
    """Publishes through several clients, or through one that serves all destinations.

    A destination that fails is hidden from the strategy until it is connected again.

    Args:
        clients: one per destination, or a single one.
        destinations: number of destinations.
        strategy: chooses the destinations of a payload.
        label: for messages.
        retries: schedules reconnects.
        policy: the pauses between attempts.
    """

    def __init__(
        self,
        clients: Sequence[Sink],
        destinations: int,
        strategy: DistributionStrategy,
        label: str,
        retries: RetryScheduler,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._clients = tuple(clients)
        self._destinations = destinations
        self._strategy = strategy
        self._label = label
        self._down: set[int] = set(range(destinations))
        self._connections = tuple(self._connection(number, retries, policy) for number in range(len(self._clients)))
        strategy.available = ()
        self.writes_headers = all(client.writes_headers for client in self._clients)

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        """Do nothing: the clients have read their options."""

    def connect(self) -> None:
        """Connect the clients that are not connected.

        Raises:
            ConnectionUnavailableError: no destination can be reached.
        """
        for client in self._clients:
            client.header = self.header
        for connection in self._connections:
            connection.connect_with_retry()
        if not any(connection.connected for connection in self._connections):
            raise ConnectionUnavailableError(f"{self._label}: no destination is connected")

    def publish(self, payload: object, options: DynamicOptions) -> None:
        """Publish to the destinations that the strategy chooses.

        Raises:
            ConnectionUnavailableError: all of them failed.
        """
        chosen = self._strategy.destinations_to_publish(payload, options)
        if not chosen:
            raise ConnectionUnavailableError(f"{self._label}: no destination is connected")
        errors: list[ConnectionUnavailableError] = []
        for destination in chosen:
            number = destination if len(self._clients) > 1 else 0
            try:
                self._clients[number].publish(payload, DynamicOptions(options.event, destination))
            except ConnectionUnavailableError as error:
                errors.append(error)
                self._fail(number, destination)
        if len(errors) == len(chosen):
            raise ConnectionUnavailableError("; ".join(map(str, errors))) from errors[0]

    def disconnect(self) -> None:
        for connection in self._connections:
            connection.stop()  # destroys its client, too

    def snapshot(self) -> object:
        states = [client.snapshot() for client in self._clients]
        return states if any(state is not None for state in states) else None

    def restore(self, state: object) -> None:
        if not isinstance(state, list) or len(state) != len(self._clients):
            raise ValueError("the state of a distributed sink has another number of destinations")
        for client, kept in zip(self._clients, state, strict=True):
            if kept is not None:
                client.restore(kept)

    def _fail(self, number: int, destination: int) -> None:
        self._set(destination, connected=False)
        connection = self._connections[number]
        connection.lost()
        connection.connect_with_retry()

    def _connection(self, number: int, retries: RetryScheduler, policy: RetryPolicy | None) -> Connection:
        served = [number] if len(self._clients) > 1 else range(self._destinations)

        def changed(connected: bool) -> None:
            for destination in served:
                self._set(destination, connected=connected)

        label = f"{self._label}, destination {number + 1}" if len(self._clients) > 1 else self._label
        return Connection(self._clients[number], label, retries, on_change=changed, policy=policy)

    def _set(self, destination: int, *, connected: bool) -> None:
        if connected:
            self._down.discard(destination)
        else:
            self._down.add(destination)
        self._strategy.available = tuple(number for number in range(self._destinations) if number not in self._down)
