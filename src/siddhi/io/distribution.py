"""Built-in strategies of ``@distribution``."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import DistributionStrategy

__all__ = ["BroadcastStrategy", "PartitionedStrategy", "RoundRobinStrategy"]


class RoundRobinStrategy(DistributionStrategy):
    """Publishes each payload to the next connected destination."""

    def init(self, destinations: int, options: OptionHolder, context: ConnectorContext) -> None:
        self._published = 0

    def destinations_to_publish(self, payload: object, options: DynamicOptions) -> Sequence[int]:
        if not self.available:
            return ()
        chosen = self.available[self._published % len(self.available)]
        self._published += 1
        return (chosen,)


class BroadcastStrategy(DistributionStrategy):
    """Publishes to every connected destination."""

    def destinations_to_publish(self, payload: object, options: DynamicOptions) -> Sequence[int]:
        return tuple(self.available)


class PartitionedStrategy(DistributionStrategy):
    """Publishes to a destination chosen by the hash of an attribute."""

    def init(self, destinations: int, options: OptionHolder, context: ConnectorContext) -> None:
        self._destinations = destinations
        key = options.static("partitionKey")
        names = [name for name, _ in context.attributes]
        if key not in names:
            raise SiddhiAppCreationError(
                f"unknown attribute '{key}' of stream '{context.stream}' in 'partitionKey'",
                code="E326",
                hint=f"the attributes are {', '.join(names)}",
            )
        self._position = names.index(key)
        self._text = context.texts[self._position]

    def group(self, event: Event) -> int:
        return abs(_remainder(hash_code(self._text(event.data[self._position])), self._destinations))

    def destinations_to_publish(self, payload: object, options: DynamicOptions) -> Sequence[int]:
        if options.event is None:
            return ()
        chosen = self.group(options.event)
        if chosen not in self.available:
            raise ConnectionUnavailableError(f"destination {chosen + 1} of {self._destinations} is not connected")
        return (chosen,)


def hash_code(text: str) -> int:
    """Return Java's hash of a text, so that keys go to the same destinations as in Siddhi for Java."""
    value = 0
    units = text.encode("utf-16-le", "surrogatepass")
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _remainder(value: int, divisor: int) -> int:
    """Return the truncating remainder, as Java's ``%``."""
    return value % divisor if value >= 0 else -(-value % divisor)
