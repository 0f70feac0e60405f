"""Managers, apps, input handlers and callbacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import siddhi
from siddhi.compat.pysiddhi.debugger import SiddhiDebugger
from siddhi.compat.pysiddhi.events import Event
from siddhi.compat.pysiddhi.values import readers_of, row_for, unwrap
from siddhi.errors import ExtensionError
from siddhi.extension import ENTRY_POINT_GROUPS, shared_registry

if TYPE_CHECKING:
    from siddhi.persistence import PersistenceStore

__all__ = [
    "InputHandler",
    "PersistenceReference",
    "QueryCallback",
    "SiddhiAppRuntime",
    "SiddhiManager",
    "StreamCallback",
]


class QueryCallback(ABC):
    """Receives the output of a query; a subclass implements :meth:`receive`."""

    @abstractmethod
    def receive(self, timestamp: int, inEvents: list[Event] | None, outEvents: list[Event] | None) -> None:
        """Take the current and the expired events of a chunk; None where there are none. ``timestamp`` in ms."""


class StreamCallback(ABC):
    """Receives the events of a stream; a subclass implements :meth:`receive`."""

    @abstractmethod
    def receive(self, events: list[Event]) -> None:
        """Take the events of a chunk."""


class SiddhiManager:
    """Creates apps; they share its extensions and its persistence store."""

    def __init__(self) -> None:
        self._manager = siddhi.SiddhiManager()
        self._extensions: dict[str, object] = {}

    def createSiddhiAppRuntime(self, siddhiApp: str) -> SiddhiAppRuntime:
        """Create an app from its text.

        Raises:
            SiddhiAppError: the text is wrong; the error shows where.
        """
        return SiddhiAppRuntime._of(self._manager.create_siddhi_app_runtime(siddhiApp))

    def getExtensions(self) -> dict[str, object]:
        """Return what declares each extension, by its name (``namespace:name``), those of :meth:`setExtension` included."""
        registry = shared_registry()
        known = {metadata.full_name: metadata for kind in ENTRY_POINT_GROUPS for metadata in registry.all(kind)}
        return {**known, **self._extensions}

    def setExtension(self, name: str, clazz: object) -> None:
        """Register an extension declared with :mod:`siddhi.extension`.

        Args:
            name: as written in apps.
            clazz: the declared function or class. The name of a class in Java is accepted where this engine has an extension
                of that name; it then changes nothing.

        Raises:
            ExtensionError: there is no extension of this name for the class in Java, or the object declares none.
        """
        if not isinstance(clazz, str):
            self._manager.set_extension(name, clazz)
            self._extensions[name] = clazz
        elif name not in self.getExtensions():
            raise ExtensionError(
                f"extension '{name}' of class {clazz} is in Java: declare one with siddhi.extension instead"
            )

    def setPersistenceStore(self, store: PersistenceStore | None) -> None:
        """Set where :meth:`persist` saves; PySiddhi has no method for it."""
        self._manager.set_persistence_store(store)

    def persist(self) -> None:
        """Save the state of every app.

        Raises:
            NoPersistenceStoreError: no store is set.
        """
        self._manager.persist()

    def restoreLastState(self) -> None:
        """Restore every app from what was saved last.

        Raises:
            NoPersistenceStoreError: no store is set.
        """
        self._manager.restore_last_state()

    def shutdown(self) -> None:
        """Shut down every app."""
        self._manager.shutdown()


class SiddhiAppRuntime:
    """An app; made by :meth:`SiddhiManager.createSiddhiAppRuntime`."""

    _runtime: siddhi.SiddhiAppRuntime

    def __init__(self) -> None:
        raise TypeError("an app is made by SiddhiManager.createSiddhiAppRuntime()")

    @classmethod
    def _of(cls, runtime: siddhi.SiddhiAppRuntime) -> SiddhiAppRuntime:
        made = cls.__new__(cls)
        made._runtime = runtime
        return made

    def addCallback(self, queryName: str, queryCallback: QueryCallback | StreamCallback) -> None:
        """Attach a callback to a query, or to a stream, by its name.

        Raises:
            DefinitionNotExistError: there is no such query or stream.
            TypeError: the callback is neither a QueryCallback nor a StreamCallback.
        """
        if isinstance(queryCallback, QueryCallback):
            readers = readers_of(self._runtime.query_attributes(queryName))
            receive = queryCallback.receive

            def on_query(timestamp: int, current: Any, expired: Any) -> None:
                receive(timestamp, _wrapped(current, readers), _wrapped(expired, readers))

            self._runtime.add_query_callback(queryName, on_query)
        elif isinstance(queryCallback, StreamCallback):
            readers = readers_of(self._runtime.stream_attributes(queryName))
            take = queryCallback.receive
            self._runtime.add_callback(queryName, lambda events: take(_wrapped(events, readers) or []))
        else:
            raise TypeError(f"a QueryCallback or a StreamCallback is expected, not {queryCallback!r}")

    def start(self) -> None:
        """Start the app."""
        self._runtime.start()

    def shutdown(self) -> None:
        """Stop the app."""
        self._runtime.shutdown()

    def getInputHandler(self, streamId: str) -> InputHandler:
        """Return what sends events to a stream.

        Raises:
            DefinitionNotExistError: there is no such stream.
        """
        return InputHandler._of(self._runtime, streamId)

    def debug(self) -> SiddhiDebugger:
        """Start the app under its debugger."""
        return SiddhiDebugger._of(self._runtime)

    def getName(self) -> str:
        """Return the name of the app."""
        return self._runtime.name

    def persist(self) -> PersistenceReference:
        """Save the state.

        Raises:
            NoPersistenceStoreError: the manager has no store.
        """
        return PersistenceReference(self._runtime.persist())

    def restoreRevision(self, revision: str) -> None:
        """Restore what was saved under a revision.

        Raises:
            CannotRestoreStateError: there is no such revision, or it does not fit the app.
        """
        self._runtime.restore_revision(revision)

    def restoreLastRevision(self) -> None:
        """Restore what was saved last."""
        self._runtime.restore_last_revision()

    def snapshot(self) -> bytes:
        """Return the state."""
        return self._runtime.snapshot()


class PersistenceReference:
    """A saved state."""

    def __init__(self, revision: str) -> None:
        self._revision = revision

    def getRevision(self) -> str:
        """Return the revision, for :meth:`SiddhiAppRuntime.restoreRevision`."""
        return self._revision


class InputHandler:
    """Sends events to a stream; made by :meth:`SiddhiAppRuntime.getInputHandler`."""

    _runtime: siddhi.SiddhiAppRuntime
    _handler: Any  # of any kind of stream
    _types: list[str]

    def __init__(self) -> None:
        raise TypeError("an input handler is made by SiddhiAppRuntime.getInputHandler()")

    @classmethod
    def _of(cls, runtime: siddhi.SiddhiAppRuntime, stream: str) -> InputHandler:
        made = cls.__new__(cls)
        made._runtime, made._handler = runtime, runtime.input_handler(stream)
        made._types = [type_ for _, type_ in runtime.stream_attributes(stream)]
        return made

    def send(self, data: Sequence[object]) -> None:
        """Send the values of an event. An app that was not started processes it, but sources and triggers wait for the start.

        Raises:
            EventError: the values don't fit the attributes, other than in the type of a number.
            NotRunningError: the app was shut down.
        """
        if not self._runtime.is_processing_here and not self._runtime.is_shut_down:
            self._runtime.start_without_sources()
        self._handler.send(row_for(self._types, data))


def _wrapped(events: Iterable[siddhi.Event] | None, readers: Sequence[Any]) -> list[Event] | None:
    if events is None:
        return None
    return [Event._of(event.timestamp, unwrap(readers, event.data), event.is_expired) for event in events]
