"""Base of sources, sinks and stores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from siddhi.errors import SiddhiAppCreationError
from siddhi.event import Event
from siddhi.types import AttributeType

__all__ = ["Connector", "ConnectorContext", "RecordReader", "RecordReaders"]


class RecordReader(Protocol):
    """Converts records, which are lists of texts, to rows of a stream, by the grammar of Java."""

    def rows(self, records: list[list[str]]) -> list[tuple[object, ...]]:
        """Return the rows of records.

        Raises:
            IndexError: a record is too short.
            ValueError: a text is not a number of its attribute's type, or out of its range.
        """


class RecordReaders(Protocol):
    """Makes a reader of records for the stream of a connector."""

    def __call__(self, columns: list[int], *, null: str | None, lenient: bool) -> RecordReader:
        """Return a reader.

        Args:
            columns: the index of each attribute's text in a record; -1: the attribute is null.
            null: the text that stands for null; None: there is none.
            lenient: whether a missing or unconvertible text is null instead of an error.
        """


def _no_records(columns: list[int], *, null: str | None, lenient: bool) -> RecordReader:  # noqa: ARG001 - as the protocol
    raise RuntimeError("the connector does not belong to an app")


def _no_cron(text: str) -> Callable[[int], int | None]:  # noqa: ARG001 - as the field
    raise RuntimeError("the connector does not belong to an app")


def _no_worker(task: Callable[[], None]) -> None:  # noqa: ARG001 - the signature of a worker
    raise RuntimeError("the connector does not belong to an app")


@dataclass(frozen=True, slots=True)
class ConnectorContext:
    """App and stream of a connector or mapper.

    Attributes:
        app: name of the app.
        stream: name of the stream.
        attributes: names and types of the stream's attributes.
        texts: functions that format the values of each attribute as text.
        run_in_worker: runs a function in the app's thread for asynchronous connectors, after those before it.
        readers: functions that convert a text to a value of each attribute, by the grammar of Java; they raise ValueError.
        record_reader: makes a function that converts many records of texts to rows at once.
        cron: returns a function that gives the next time after a time, both in ms since 1970, by a Quartz cron expression;
            None: there is none. It raises ValueError with a message and a hint.
        binary_events: returns the events of a message in Siddhi's binary format; None: it can't be decoded.
        now: the app's clock in ms.
        is_processing: whether the calling thread is processing an event of the app; it must not be blocked then, since that
            blocks the app.
        mapper: name of the mapper, such as ``json``; empty: there is none.
        is_named: whether the app has a name; an app without one gets a new random name in each run.
        config: system configuration of this connector (``SiddhiManager.set_config_manager``), by key.
        line_scanner: of the mapper, see :meth:`siddhi.io.source.SourceMapper.line_scanner`.
    """

    app: str
    stream: str
    attributes: tuple[tuple[str, AttributeType], ...]
    texts: tuple[Callable[[object], str], ...]
    now: Callable[[], int]
    is_processing: Callable[[], bool]
    config: Mapping[str, str] = field(default_factory=dict)
    readers: tuple[Callable[[str], object], ...] = ()
    run_in_worker: Callable[[Callable[[], None]], None] = _no_worker
    record_reader: RecordReaders = _no_records
    mapper: str = ""
    cron: Callable[[str], Callable[[int], int | None]] = _no_cron
    binary_events: Callable[[bytes], list[Event] | None] = lambda _: None
    is_named: bool = True
    line_scanner: Callable[[bytes, bool], bool | None] | None = None

    def lasting_name(self, owner: str, option: str) -> str:
        """Return the app's name, for the default of an option that must be the same in the next run.

        Args:
            owner: the connector, such as ``source 'redis-stream'``.
            option: the option.

        Raises:
            SiddhiAppCreationError: the app has a random name.
        """
        if not self.is_named:
            raise SiddhiAppCreationError(
                f"{owner} requires the option '{option}' in an app without a name",
                code="E326",
                hint="name the app with @app:name('...'): it has a new random name in each run, and so has the default",
            )
        return self.app


class Connector:
    """A source, sink or store. Subclasses must implement ``connect``; the other methods are optional.

    Attributes:
        waiting: number of payloads in its buffer, for statistics; None: it has none.
        capacity: largest number of payloads in its buffer.
    """

    @property
    def waiting(self) -> int | None:
        return None

    @property
    def capacity(self) -> int | None:
        return None

    @abstractmethod
    def connect(self) -> None:
        """Connect; called when the app starts, and again after a failure.

        Raises:
            ConnectionUnavailableError: it can't be reached now; the app retries at growing intervals. After any other
                exception the app does not start.
        """
        raise NotImplementedError

    def disconnect(self) -> None:
        """Undo ``connect``; also called after a failed ``connect``, before the next attempt and at shutdown."""

    def destroy(self) -> None:
        """Release the resources of ``init``; called once, after the last ``disconnect``."""

    def snapshot(self) -> object:
        """Return the state for snapshots of the app: numbers, strings, bytes, lists and dicts; None: there is none."""
        return None

    def restore(self, state: object) -> None:
        """Restore a state returned by ``snapshot``; not called for None."""
