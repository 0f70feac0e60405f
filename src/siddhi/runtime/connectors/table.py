"""The running store of a table: keeps it connected and repeats calls after a lost connection."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from siddhi.errors import ConnectionUnavailableError, SiddhiAppError
from siddhi.event import Event
from siddhi.persistence.error_store import ErrorOccurrence
from siddhi.query_api.span import Span
from siddhi.runtime.connectors.connection import Connection
from siddhi.runtime.connectors.retry import Backoff, RetryScheduler
from siddhi.runtime.connectors.table_gather import WriteGather
from siddhi.runtime.connectors.table_steps import UpdateOrAddSteps
from siddhi.stores.record_table import Parameters, Record, RecordTable

__all__ = ["StoreRuntime"]

logger = logging.getLogger("siddhi")

_R = TypeVar("_R")

Reduce = Callable[[Iterable[int]], Sequence[Record]]
Run = Callable[[Sequence[Parameters], Sequence[Record]], None]
Remaining = Callable[[], Sequence[int]]
Save = Callable[[Exception, Sequence[Event], ErrorOccurrence, object], bool]


class StoreRuntime:
    """One store. Calls made while it is not connected wait, and the app with them, until it is connected again.

    Args:
        store: the user's store.
        label: for messages: "app 'A', store 'rdbms' of table 'T'".
        retries: schedules reconnects.
        save: ``on.error = 'STORE'``: ``save(error, events, occurrence, payload)`` saves a failed change in the error store
            and returns whether it did; None: changes wait as reads do.

    Attributes:
        store: as passed.
        gather: buffers changes until the end of a batch; None: changes are not buffered.
        on_connect: called if the store could be connected at the start; None: no call.
        on_failure: called if a change failed; None: no call.
        waits: whether calls wait for the connection; else they fail if the store can't be connected at once.
        changes: changes made by queries, by their text, each for one event.
        span: position of the store in the app's text, for errors.
    """

    def __init__(self, store: RecordTable, label: str, retries: RetryScheduler, save: Save | None) -> None:
        self.store = store
        self._label = label
        self._retries = retries
        self._save = save
        self._connection = Connection(store, label, retries, disconnects_first=True)
        self._stopping = threading.Event()
        self._gave_up = False
        self._replaying = False
        self.waits = True
        self.gather: WriteGather | None = None
        self.on_connect: Callable[[], None] | None = None
        self.on_failure: Callable[[], None] | None = None
        self.changes: dict[str, Run] = {}
        self.span: Span | None = None

    @property
    def is_connected(self) -> bool:
        """Whether the store is connected."""
        return self._connection.connected

    def connect(self) -> None:
        """Connect; retry later if the store can't be reached now.

        Raises:
            Exception: the store failed with an error that is not retried.
        """
        try:
            self._connection.connect_with_retry()
        except SiddhiAppError as error:
            error.located(span=self.span)
            raise
        if self.on_connect is not None and self.is_connected:
            self.on_connect()

    def release(self) -> None:
        """End waits: the app is being shut down."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        try:
            self.store.hurry()
        except Exception:
            logger.exception("%s: error in hurry() at shutdown", self._label)

    def stop(self) -> None:
        """Disconnect for good."""
        self.release()
        self._connection.stop()

    # --- reading

    def find(self, condition: Any, values: Parameters) -> list[Sequence[Any]]:
        """Return the rows that match."""
        self._write_first()
        return self.until_done(lambda: list(self.store.find(condition, values)))

    def contains(self, condition: Any, values: Parameters) -> bool:
        """Return whether a row matches."""
        self._write_first()
        return self.until_done(lambda: self.store.contains(condition, values))

    def ask(self, read: Callable[[], _R]) -> _R:
        """Return the result of a call that reads."""
        self._write_first()
        return self.until_done(read)

    # --- changing; the records are those of the events, for the error store. A failed change of many is repeated one by one.

    def add(self, records: Sequence[Record]) -> None:
        """Add rows."""
        self._change(lambda _, some: self.store.add(some), ErrorOccurrence.STORE_ON_TABLE_ADD, (), records)

    def delete(self, condition: Any, values: Sequence[Parameters], records: Sequence[Record], change: str = "") -> None:
        """Delete the rows that match."""
        self._change(
            lambda some, _: self.store.delete(condition, some),
            ErrorOccurrence.STORE_ON_TABLE_DELETE,
            values,
            records,
            change,
        )

    def update(
        self,
        condition: Any,
        values: Sequence[Parameters],
        sets: Mapping[int, Any],
        records: Sequence[Record],
        change: str = "",
    ) -> None:
        """Change the rows that match."""
        self._change(
            lambda some, _: self.store.update(condition, some, sets),
            ErrorOccurrence.STORE_ON_TABLE_UPDATE,
            values,
            records,
            change,
        )

    def update_or_add(
        self,
        condition: Any,
        values: Sequence[Parameters],
        sets: Mapping[int, Any],
        records: Sequence[Record],
        reduce: Reduce,
        change: str = "",
    ) -> None:
        """Change the rows that match; add the records that matched none."""
        store, remaining = self.store, None
        if len(records) > 1 and type(store).update_or_add is RecordTable.update_or_add:
            # If one of many calls fails, those that succeeded are not repeated.
            steps = UpdateOrAddSteps(store, condition, values, sets, records, reduce)
            together, remaining = steps.run, steps.remaining
        else:

            def together() -> None:
                store.update_or_add(condition, values, sets, records, reduce)

        def run(some: Sequence[Parameters], brought: Sequence[Record]) -> None:
            if len(brought) == len(records):
                together()
            else:  # one by one: no event precedes the row to add
                store.update_or_add(condition, some, sets, brought, lambda positions: [brought[i] for i in positions])

        self._change(run, ErrorOccurrence.STORE_ON_TABLE_UPDATE_OR_ADD, values, records, change, remaining)

    def update_or_add_each(
        self,
        condition: Any,
        values: Sequence[Parameters],
        sets: Mapping[int, Any],
        records: Sequence[Record],
        change: str = "",
    ) -> None:
        """Change or add rows for events that arrived one by one: each sees the changes of those before it."""
        self._change(
            lambda some, brought: self.store.update_or_add_each(condition, some, sets, brought),
            ErrorOccurrence.STORE_ON_TABLE_UPDATE_OR_ADD,
            values,
            records,
            change,
        )

    def replay(self, change: str | None, values: Sequence[Parameters], records: Sequence[Record]) -> None:
        """Repeat a failed change, event by event; failures are not saved in the error store again.

        Args:
            change: one of ``changes``; None: the records are added.

        Raises:
            ValueError: no query of the app makes this change.
            Exception: the store failed; earlier events are done.
        """
        run: Run | None = (lambda _, some: self.add(some)) if change is None else self.changes.get(change)
        if run is None:
            raise ValueError(f"no query of the app makes the failed change: {change or 'an on-demand query'}")
        if self.on_failure is not None:
            self.on_failure()  # the cache does not see this change
        self._replaying = True
        try:
            for i, record in enumerate(records):
                run(values[i : i + 1], [record])
        finally:
            self._replaying = False

    def _write_first(self) -> None:
        if self.gather is not None:
            self.gather.write()

    def _change(
        self,
        run: Run,
        occurrence: ErrorOccurrence,
        values: Sequence[Parameters],
        records: Sequence[Record],
        change: str = "",
        remaining: Remaining | None = None,
    ) -> None:
        """Make a change for all records; after a failure, event by event for those that ``remaining`` returns (None: all)."""
        self._write_first()
        if self.gather is None or len(records) < 2:
            # Without a gather, the stream's error handling gets the failed event with the rest of its chunk.
            self._change_together(run, occurrence, values, records, change, remaining)
            return
        try:
            self._change_together(run, occurrence, values, records, change, remaining, alone=False)
        except ConnectionUnavailableError as error:
            if remaining is None:
                raise
            for i in remaining():
                self.gather.report(error, records[i])
        except Exception:
            logger.debug("%s: %d changes failed together", self._label, len(records), exc_info=True)
            for i in range(len(records)) if remaining is None else remaining():
                try:
                    self._change_together(run, occurrence, values[i : i + 1], records[i : i + 1], change)
                except Exception as error:
                    logger.debug("%s: a change failed", self._label, exc_info=True)
                    self.gather.report(error, records[i])

    def _change_together(
        self,
        run: Run,
        occurrence: ErrorOccurrence,
        values: Sequence[Parameters],
        records: Sequence[Record],
        change: str,
        remaining: Remaining | None = None,
        *,
        alone: bool = True,
    ) -> None:
        done = False
        try:
            if self._save is None:
                self.until_done(lambda: run(values, records))
                done = True
            else:
                done = self._done_or_saved(
                    self._save,
                    lambda: run(values, records),
                    occurrence,
                    values,
                    records,
                    change,
                    remaining,
                    alone=alone,
                )
        finally:
            if not done and self.on_failure is not None:
                self.on_failure()

    def _done_or_saved(
        self,
        save: Save,
        run: Callable[[], None],
        occurrence: ErrorOccurrence,
        values: Sequence[Parameters],
        records: Sequence[Record],
        change: str,
        remaining: Remaining | None,
        *,
        alone: bool,
    ) -> bool:
        """Return whether the change was made; save a failed one in the error store unless the caller will retry it."""
        try:
            if not self._connection.connected:
                raise ConnectionUnavailableError(f"{self._label} is not connected")
            run()
            return True
        except Exception as error:
            if isinstance(error, ConnectionUnavailableError):
                self._reconnect()
            elif not alone:
                raise
            if self._replaying:
                raise
            undone = range(len(records)) if remaining is None else remaining()
            events = [Event(-1, records[i]) for i in undone]
            payload = {"change": change, "values": [dict(values[i]) for i in undone]} if values else None
            if not save(error, events, occurrence, payload):
                raise
            return False

    def _reconnect(self) -> None:
        self._connection.lost()
        try:
            self._connection.connect_with_retry()
        except Exception:
            logger.exception("%s: error while connecting; not retried", self._label)

    def until_done(self, call: Callable[[], _R]) -> _R:
        """Call until the call succeeds or fails for another reason than the connection; return its result.

        Raises:
            ConnectionUnavailableError: the app is shut down meanwhile, or ``waits`` is False.
            Exception: another error of the store.
        """
        backoff = Backoff()
        failed = False
        while True:
            try:
                # After a failed attempt during shutdown there are no further ones.
                if not self._connection.connected and not self._gave_up and self._connection.begin():
                    self._connection.connect_now()
                if self._connection.connected:
                    return call()
                error = ConnectionUnavailableError(f"{self._label} is not connected")
            except ConnectionUnavailableError as lost:
                error = lost
                if self._connection.connected and not failed and not self._stopping.is_set():
                    # The connection was just lost: reconnecting at once often succeeds.
                    failed = True
                    self._connection.lost()
                    continue
                self._connection.lost()
            if self._stopping.is_set():
                self._gave_up = True
                raise error
            if not self.waits:
                raise error
            pause = backoff.next()
            assert pause is not None  # stores have no option retry.limit
            logger.warning("%s: %s; the app waits for the store; retrying in %d s", self._label, error, pause)
            if self._retries.wait(pause, self._stopping):
                self._gave_up = True
                raise error
