"""Polling mode: new rows of a table, in the order of a column whose values grow."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.io.cdc.database import Database
from siddhi.io.cdc.options import PollingOptions
from siddhi.io.cdc.window import Row, Window, decode, encode

__all__ = ["PAGE_ROWS", "TablePoller"]

logger = logging.getLogger("siddhi")

PAGE_ROWS = 1000
"""Number of rows that one query reads at most, unless more have the same value."""

Put = Callable[[list[tuple[dict[str, Any], int]]], Awaitable[None]]


class TablePoller:
    """Reads the rows of a table that were not read yet.

    Every poll begins at the highest value that was read (minus the lag) and leaves out the rows that it knows, so that rows
    with an equal value that are committed later are found.

    Args:
        options: the options.
        stream: name of the stream, for messages.
    """

    def __init__(self, options: PollingOptions, stream: str) -> None:
        self._options = options
        self._stream = stream
        self._database = Database(options.url, options.timeout)
        self._guard = threading.Lock()  # snapshots are taken in other threads
        self._window: Window | None = None
        self._state: list[Any] | None = None  # restored, and not used yet
        self._names: list[tuple[int, str]] = []
        self._columns: tuple[str, ...] = ()
        self._statement: sa.Select[Any] = sa.select()
        self._column: sa.ColumnElement[Any] = sa.column("")
        self._began = False
        self._gap_since: float | None = None

    # --- connection

    async def open(self) -> None:
        """Connect, and find the place to begin.

        Raises:
            ConnectionUnavailableError: the database can't be reached.
            SiddhiAppCreationError: the table or a column does not exist, or has the wrong type.
        """
        try:
            try:
                found = await self._database.run(self._describe)
            except NoSuchTableError:
                raise self._refused(f"there is no table '{self._table_name}'") from None
            window = self._make_window(*found)
            await self._begin(window)
        except (SQLAlchemyError, SiddhiAppCreationError) as error:
            if self._began:  # it worked before: the table may come back
                raise ConnectionUnavailableError(f"{error}") from error
            if isinstance(error, SQLAlchemyError):
                raise self._refused(str(getattr(error, "orig", error))) from error
            raise
        self._began = True

    @property
    def _table_name(self) -> str:
        options = self._options
        return f"{options.schema}.{options.table}" if options.schema else options.table

    def _refused(self, reason: str) -> SiddhiAppCreationError:
        return SiddhiAppCreationError(f"source 'cdc' can't poll '{self._table_name}': {reason}", code="E326")

    def _describe(self, connection: sa.Connection) -> tuple[list[Any], list[str]]:
        options = self._options
        inspector = sa.inspect(connection)
        columns = inspector.get_columns(options.table, options.schema)
        key = inspector.get_pk_constraint(options.table, options.schema)["constrained_columns"]
        return list(columns), list(key)

    def _make_window(self, columns: list[Any], key: list[str]) -> Window:
        options = self._options
        names = [str(column["name"]) for column in columns]

        def index_of(name: str) -> int:
            if name in names:
                return names.index(name)
            folded = [other.lower() for other in names]
            if name.lower() not in folded:
                raise self._refused(f"it has no column '{name}'")
            return folded.index(name.lower())

        column = index_of(options.column)
        self._check_type(columns[column]["type"])
        keys = [index_of(name) for name in options.keys or key]
        self._columns = tuple(names)
        # Also in small letters: databases differ in what they make of names without quotes.
        self._names = [(number, name) for number, name in enumerate(names)]
        self._names += [(number, name.lower()) for number, name in enumerate(names) if name.lower() not in names]
        self._column = sa.column(names[column])
        # Columns without types: the values of the driver are compared with what they were.
        table = sa.table(options.table, *[sa.column(name) for name in names], schema=options.schema)
        order = [names[column], *(names[index] for index in keys)]
        self._column = table.columns[names[column]]
        self._statement = sa.select(*table.columns).order_by(*[table.columns[name] for name in dict.fromkeys(order)])
        return Window(column, keys, options.lag)

    def _check_type(self, type_: Any) -> None:
        try:
            kind = type_.python_type
        except NotImplementedError:
            kind = object
        options = self._options
        is_number = issubclass(kind, (int, float, Decimal)) and kind is not bool
        is_time = issubclass(kind, date) and not self._database.is_sqlite  # which has texts or numbers
        if kind in (bool, bytes, list, dict, timedelta):
            raise self._refused(f"column '{options.column}' ({type_}) has no values that grow")
        if options.waits and kind is not int:
            raise self._refused(f"'wait.on.missed.record' needs an integer column, '{options.column}' is {type_}")
        if isinstance(options.lag, timedelta):
            if not is_time:
                raise self._refused(f"a 'safety.lag' of time needs a column of times, '{options.column}' is {type_}")
        elif options.lag is not None and not is_number:
            raise self._refused(
                f"a 'safety.lag' without a unit needs a column of numbers, '{options.column}' is {type_}"
            )

    async def _begin(self, window: Window) -> None:
        with self._guard:
            state, self._state = self._state, None
            if state is None and self._window is not None:
                state = self._window.state()  # connected again
            if state is not None:
                window.load(state)
                self._window = window
                return
        options = self._options
        if options.start == "value":
            window.begin(self._value(options.value))
        elif options.start == "latest":
            highest = await self._database.run(lambda one: one.execute(sa.select(sa.func.max(self._column))).scalar())
            if highest is not None:
                window.begin(highest)
                start = window.start
                window.skip(await self._database.run(lambda one: self._fetch(one, start, None, highest)))
        try:
            encode(window.value)
        except ValueError as error:
            raise self._refused(str(error)) from None
        with self._guard:
            self._window = window

    def _value(self, text: str) -> Any:
        """Return the value in the option ``start.from``: a number, a time of ISO 8601, or else a text."""
        for kind in ("decimal", "datetime"):
            try:
                value = decode({kind: text})
            except (ValueError, ArithmeticError):
                continue
            return int(value) if kind == "decimal" and value == value.to_integral_value() else value
        return text

    async def close(self) -> None:
        """Disconnect."""
        await self._database.close()

    # --- polls

    async def receive(self, put: Put, processed: Callable[[], object]) -> None:
        """Poll until the task is cancelled.

        Args:
            put: hands rows over, each with its number.
            processed: returns the number of the last processed row; None: none.
        """
        while True:
            await self._poll(put, processed)
            await self._options.schedule.wait()

    async def _poll(self, put: Put, processed: Callable[[], object]) -> None:
        window = self._current()
        start, limit = window.start, PAGE_ROWS
        while True:
            with self._guard:
                window.settle(processed())
            begin, most = start, limit
            rows = await self._database.run(lambda one: self._fetch(one, begin, most))  # noqa: B023 - awaited at once
            found: list[tuple[dict[str, Any], int]] = []
            waits = False
            with self._guard:
                for row in window.unseen(rows):
                    if waits := self._options.waits and self._is_ahead(window.value, window.value_of(row)):
                        break
                    found.append(({name: row[index] for index, name in self._names}, window.add(row)))
            await put(found)
            if waits:
                return
            if len(rows) < limit:
                return
            last = window.value_of(rows[-1])
            if start is not None and last == start:
                limit *= 2  # all of them have the same value
            else:
                start, limit = last, PAGE_ROWS

    def _is_ahead(self, value: Any, following: Any) -> bool:
        """Return whether a row is to wait for those before it, which are missing."""
        if value is None or following <= value + 1:
            self._gap_since = None
            return False
        now = asyncio.get_running_loop().time()
        if self._gap_since is None:
            self._gap_since = now
        if self._options.wait is None or now - self._gap_since < self._options.wait:
            return True
        logger.warning(
            "source 'cdc' of stream '%s': no rows of '%s' between %s and %s",
            self._stream,
            self._table_name,
            value,
            following,
        )
        self._gap_since = None
        return False

    def _fetch(self, connection: sa.Connection, start: Any, limit: int | None, end: Any = None) -> list[Row]:
        statement = self._statement.where(self._column.is_not(None))
        if start is not None:
            statement = statement.where(self._column >= start)
        if end is not None:
            statement = statement.where(self._column <= end)
        return [tuple(row) for row in connection.execute(statement.limit(limit))]

    def _current(self) -> Window:
        if self._window is None:
            raise ConnectionUnavailableError("the source is not connected")
        return self._window

    # --- state

    def settle(self, number: object) -> None:
        """Record that the rows up to a number are processed, and forget the others."""
        with self._guard:
            if self._window is not None:
                self._window.settle(number)
                self._window.drop_pending()

    def snapshot(self, number: object) -> object:
        """Return the state after the rows up to a number; None: polling has not begun."""
        with self._guard:
            if self._state is not None or self._window is None:
                return self._state
            self._window.settle(number)
            return self._window.state()

    def restore(self, state: Any) -> None:
        """Set the state; the next :meth:`open` uses it. None: polling begins as the options say."""
        with self._guard:
            self._state = None if state is None else list(state)
            self._window = None
