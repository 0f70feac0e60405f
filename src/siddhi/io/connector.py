"""What sources and sinks have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from siddhi.types import AttributeType

__all__ = ["Connector", "ConnectorContext"]


@dataclass(frozen=True, slots=True)
class ConnectorContext:
    """Where a connector or mapper works.

    Attributes:
        app: name of the app.
        stream: name of the stream.
        attributes: names and types of the stream's attributes.
        texts: the text form of the values of each attribute.
        now: the app's clock in ms.
        is_processing: whether the calling thread is at work inside the app; it must not be held up then, or the app
            stands still.
        config: the system's settings for this connector (``SiddhiManager.set_config_manager``), by key.
    """

    app: str
    stream: str
    attributes: tuple[tuple[str, AttributeType], ...]
    texts: tuple[Callable[[object], str], ...]
    now: Callable[[], int]
    is_processing: Callable[[], bool]
    config: Mapping[str, str] = field(default_factory=dict)


class Connector:
    """A source, a sink or a store. Of what is here, only ``connect`` has to be written."""

    def connect(self) -> None:
        """Connect; called when the app starts, and again after a failure.

        Raises:
            ConnectionUnavailableError: it does not work now; it is tried again later, in growing intervals. With any
                other exception the app does not start.
        """
        raise NotImplementedError

    def disconnect(self) -> None:
        """Undo ``connect``; also called where that failed half-way, before the next attempt and at shutdown."""

    def destroy(self) -> None:
        """Give back what ``init`` took; called once, after the last ``disconnect``."""

    def snapshot(self) -> object:
        """State to keep in snapshots of the app: numbers, texts, bytes, lists and dicts; None where there is none."""
        return None

    def restore(self, state: object) -> None:
        """Take over what ``snapshot`` gave; not called for None."""
