"""The store of a table at work: kept connected, and asked again where it was away."""

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
Left = Callable[[], Sequence[int]]
Save = Callable[[Exception, Sequence[Event], ErrorOccurrence, object], bool]


class StoreRuntime:
    """One store. What is asked of it while it is away waits, and with it the app, until it is back.

    Args:
        store: keeps the rows.
        label: for messages: "app 'A', store 'rdbms' of table 'T'".
        retries: when attempts are made.
        save: ``on.error = 'STORE'``: ``save(error, events, occurrence, payload)`` keeps a change that failed, and says
            whether it could; None: changes wait as reads do.

    Attributes:
        store: as given.
        gather: changes that wait for the end of a batch; None: they never do.
        on_connect: called when it could be connected at once; None: nothing is.
        on_failure: called where a change was not made; None: nothing is.
        waits: whether what is asked waits; else it is an error where a connection can't be made at once.
        changes: what queries do to it, by their text, each for one event.
        span: where it stands in the app's text, for errors.
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
        """Whether it answers."""
        return self._connection.connected

    def connect(self) -> None:
        """Connect, now or later.

        Raises:
            Exception: it can't be connected at all.
        """
        try:
            self._connection.connect_with_retry()
        except SiddhiAppError as error:
            error.located(span=self.span)
            raise
        if self.on_connect is not None and self.is_connected:
            self.on_connect()

    def release(self) -> None:
        """Let nobody wait any more: the app is being shut down."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        try:
            self.store.hurry()
        except Exception:
            logger.exception("%s: an error while it was hurried", self._label)

    def stop(self) -> None:
        """Disconnect for good."""
        self.release()
        self._connection.stop()

    # --- reading

    def find(self, condition: Any, values: Parameters) -> list[Sequence[Any]]:
        """The rows that match."""
        self._write_first()
        return self.until_done(lambda: list(self.store.find(condition, values)))

    def contains(self, condition: Any, values: Parameters) -> bool:
        """Whether a row matches."""
        self._write_first()
        return self.until_done(lambda: self.store.contains(condition, values))

    def ask(self, question: Callable[[], _R]) -> _R:
        """What a call answers that reads."""
        self._write_first()
        return self.until_done(question)

    # --- changing; the records are those of the events, for the error store. What fails for many is made one by one.

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
        """Change the rows that match; add what matched none."""
        store, left = self.store, None
        if len(records) > 1 and type(store).update_or_add is RecordTable.update_or_add:
            # Of many calls, those that are done are not made again where one fails.
            steps = UpdateOrAddSteps(store, condition, values, sets, records, reduce)
            together, left = steps.run, steps.left
        else:

            def together() -> None:
                store.update_or_add(condition, values, sets, records, reduce)

        def run(some: Sequence[Parameters], brought: Sequence[Record]) -> None:
            if len(brought) == len(records):
                together()
            else:  # one by one: none comes before the row that is to be added
                store.update_or_add(condition, some, sets, brought, lambda positions: [brought[i] for i in positions])

        self._change(run, ErrorOccurrence.STORE_ON_TABLE_UPDATE_OR_ADD, values, records, change, left)

    def update_or_add_each(
        self,
        condition: Any,
        values: Sequence[Parameters],
        sets: Mapping[int, Any],
        records: Sequence[Record],
        change: str = "",
    ) -> None:
        """The same for events that came one by one."""
        self._change(
            lambda some, brought: self.store.update_or_add_each(condition, some, sets, brought),
            ErrorOccurrence.STORE_ON_TABLE_UPDATE_OR_ADD,
            values,
            records,
            change,
        )

    def replay(self, change: str | None, values: Sequence[Parameters], records: Sequence[Record]) -> None:
        """Make again what could not be made, for one event after the other; what fails is not saved once more.

        Args:
            change: one of ``changes``; None: the records are added.

        Raises:
            ValueError: no query of the app does that.
            Exception: what the store raised; events before are done.
        """
        run: Run | None = (lambda _, some: self.add(some)) if change is None else self.changes.get(change)
        if run is None:
            raise ValueError(f"no query of the app does what failed: {change or 'an on-demand query'}")
        if self.on_failure is not None:
            self.on_failure()  # what is in memory is not changed with it
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
        left: Left | None = None,
    ) -> None:
        """Make a change as a whole, or what is left of it; None: all of it until all is done."""
        self._write_first()
        if self.gather is None or len(records) < 2:
            # Without a gather, streams handle what failed, and with it what came with it.
            self._change_together(run, occurrence, values, records, change, left)
            return
        try:
            self._change_together(run, occurrence, values, records, change, left, alone=False)
        except ConnectionUnavailableError as error:
            if left is None:
                raise
            for i in left():
                self.gather.report(error, records[i])
        except Exception:
            logger.debug("%s: %d changes failed together", self._label, len(records), exc_info=True)
            for i in range(len(records)) if left is None else left():
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
        left: Left | None = None,
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
                    self._save, lambda: run(values, records), occurrence, values, records, change, left, alone=alone
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
        left: Left | None,
        *,
        alone: bool,
    ) -> bool:
        """Whether the change was made; else it is saved, where no one else is to try."""
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
            undone = range(len(records)) if left is None else left()
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
            logger.exception("%s: an error while connecting, which ends the attempts at intervals", self._label)

    def until_done(self, call: Callable[[], _R]) -> _R:
        """Call until it succeeds or fails for another reason than the connection.

        Raises:
            ConnectionUnavailableError: the app is shut down first, or nobody waits.
            Exception: what else the store raised.
        """
        backoff = Backoff()
        failed = False
        while True:
            try:
                # Once it was not there while the app is being shut down, nobody tries again.
                if not self._connection.connected and not self._gave_up and self._connection.begin():
                    self._connection.connect_now()
                if self._connection.connected:
                    return call()
                error = ConnectionUnavailableError(f"{self._label} is not connected")
            except ConnectionUnavailableError as lost:
                error = lost
                if self._connection.connected and not failed and not self._stopping.is_set():
                    # It was there a moment ago: connected again at once, it may well answer.
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
            logger.warning("%s: %s; waiting, and the app with it; asking again in %d s", self._label, error, pause)
            if self._retries.wait(pause, self._stopping):
                self._gave_up = True
                raise error
