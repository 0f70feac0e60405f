"""Options of the source ``cdc``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.schedule import Schedule

__all__ = ["OPERATIONS", "PROPERTIES", "ListeningOptions", "PollingOptions", "is_polling"]

_OWNER = "source 'cdc'"
OPERATIONS = ("insert", "update", "delete")
PROPERTIES = ("operation", "commit.time", "lsn")
"""Names of the transport properties in listening mode."""

_POLLING = (
    "polling.column",
    "polling.interval",
    "cron.expression",
    "start.from",
    "primary.key",
    "safety.lag",
    "wait.on.missed.record",
    "missed.record.waiting.timeout",
)
_LISTENING = ("operation", "ack", "slot.name", "publication.name", "plugin.name")
_UNSUPPORTED = {
    "pool.properties": "write parameters of the connection into the 'url'",
    "datasource.name": "write a 'url'",
    "connector.properties": "write parameters of the connection into the 'url'",
}
_LISTENED = "mode = 'listening' reads the changes of PostgreSQL only"


def is_polling(options: OptionHolder) -> bool:
    """Return whether the mode is ``polling``, and refuse options that do not belong to the mode.

    Raises:
        SiddhiAppCreationError: the mode is invalid, or an option belongs to the other mode or is not supported.
    """
    mode = options.choice("mode", ("listening", "polling"), "listening")
    for name, hint in _UNSUPPORTED.items():
        if name in options:
            raise SiddhiAppCreationError(f"{_OWNER} does not support the option '{name}'", code="E326", hint=hint)
    other = "polling" if mode == "listening" else "listening"
    for name in _POLLING if mode == "listening" else _LISTENING:
        if name in options:
            raise SiddhiAppCreationError(
                f"option '{name}' of {_OWNER} belongs to the other mode", code="E326", hint=f"set mode = '{other}'"
            )
    return mode == "polling"


def _read_url(options: OptionHolder) -> sa.URL:
    text = options.static("url")
    hint = "a database URL of SQLAlchemy, such as postgresql+psycopg://user@host/name"
    if text.lower().startswith("jdbc:"):
        raise options.invalid("url", f"{hint}, instead of one of Java", shown=False)
    try:
        url = sa.make_url(text)
    except (ArgumentError, ValueError):
        raise options.invalid("url", hint, shown=False) from None  # it may contain a password
    if "username" in options:
        url = url.set(username=options.static("username"))
    if (password := options.secret("password")) is not None:
        url = url.set(password=password)
    return url


@dataclass(frozen=True, slots=True)
class PollingOptions:
    """The options of ``mode = 'polling'``.

    Attributes:
        url: the database.
        schema: the schema of the table; None: the default one.
        table: the table or view.
        column: the polling column.
        keys: the columns of the primary key; None: those that the database knows.
        schedule: times of the polls.
        start: where the first poll begins: at the ``earliest`` row, behind the ``latest`` one, or at a value of the column.
        value: that value, as a text.
        lag: how far behind the highest value rows may still appear: a number or a time; None: not at all.
        waits: whether a missing number in the polling column is waited for.
        wait: for how many seconds; None: indefinitely.
        timeout: seconds that the database has to answer.
    """

    url: sa.URL
    schema: str | None
    table: str
    column: str
    keys: tuple[str, ...] | None
    schedule: Schedule
    start: Literal["earliest", "latest", "value"]
    value: str
    lag: int | Decimal | timedelta | None
    waits: bool
    wait: float | None
    timeout: float

    @classmethod
    def read(cls, options: OptionHolder, context: ConnectorContext) -> PollingOptions:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option is missing or invalid, or the driver of the database is not installed.
        """
        url = _read_url(options)
        if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
            raise options.invalid("url", "a file: a database in memory has no other writers")
        try:
            url.get_dialect().import_dbapi()
        except ModuleNotFoundError as error:
            raise SiddhiAppCreationError(
                f"the database driver of {_OWNER} is not installed: {error}", code="E326", hint="install it with pip"
            ) from error
        except Exception as error:  # NoSuchModuleError and what dialects of others raise
            raise options.invalid("url", f"a database that SQLAlchemy knows: {error}", shown=False) from error
        schema, _, table = options.static("table.name").rpartition(".")
        waits = options.flag("wait.on.missed.record", default=False)
        wait = -1.0
        if options.static("missed.record.waiting.timeout", "-1").strip() != "-1":
            wait = options.duration("missed.record.waiting.timeout", unit="sec")
        if not waits and "missed.record.waiting.timeout" in options:
            raise options.invalid("missed.record.waiting.timeout", "wait.on.missed.record = 'true' beside it")
        lag = _lag(options)
        if waits and lag is not None:
            raise options.invalid("safety.lag", "no 'wait.on.missed.record' beside it: that waits already")
        keys = tuple(key.strip() for key in options.static("primary.key", "").split(",") if key.strip())
        if "cron.expression" in options:
            options.without_effect(("polling.interval",), "no 'cron.expression'")
        text = options.static("start.from", "latest").strip()
        start = text.lower()
        return cls(
            url=url,
            schema=schema or None,
            table=table,
            column=options.static("polling.column"),
            keys=keys or None,
            schedule=Schedule.read(options, context, options.duration("polling.interval", "1", unit="sec")),
            start="earliest" if start == "earliest" else "latest" if start == "latest" else "value",
            value=text,
            lag=lag,
            waits=waits,
            wait=None if wait < 0 else wait,
            timeout=options.duration("timeout", "30 sec"),
        )


def _lag(options: OptionHolder) -> int | Decimal | timedelta | None:
    text = options.optional("safety.lag")
    if text is None:
        return None
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return timedelta(seconds=options.duration("safety.lag"))
    if not number.is_finite() or number < 0:
        raise options.invalid("safety.lag", "a number, or a duration such as '5 sec'")
    return int(number) if number == number.to_integral_value() else number


@dataclass(frozen=True, slots=True)
class ListeningOptions:
    """The options of ``mode = 'listening'``.

    Attributes:
        parameters: what libpq needs to connect, by keyword.
        table: the table, as it is written in SQL.
        operations: the changes to receive, from :data:`OPERATIONS`.
        slot: name of the replication slot.
        publication: name of the publication.
        timeout: seconds of silence after which the connection is lost.
    """

    parameters: dict[str, Any]
    table: str
    operations: frozenset[str]
    slot: str
    publication: str
    timeout: float

    @classmethod
    def read(cls, options: OptionHolder, default_name: Callable[[str], str]) -> ListeningOptions:
        """Read the options.

        Args:
            options: the options.
            default_name: returns the default of the names of slot and publication; its argument is the option.

        Raises:
            SiddhiAppCreationError: an option is missing or invalid, or the database is not PostgreSQL.
        """
        url = _read_url(options)
        if url.get_backend_name() not in ("postgresql", "postgres"):
            raise SiddhiAppCreationError(
                f"{_OWNER} can't listen to '{url.get_backend_name()}': {_LISTENED}",
                code="E326",
                hint="set mode = 'polling' and a polling.column",
            )
        operations = {part.strip().lower() for part in options.static("operation").split(",")}
        if not operations <= set(OPERATIONS):
            raise options.invalid("operation", f"some of {', '.join(OPERATIONS)}, separated by commas")
        if options.static("plugin.name", "pgoutput").lower() != "pgoutput":
            raise options.invalid("plugin.name", "pgoutput, which is part of PostgreSQL")
        slot, publication = (_read_name(options, name, default_name) for name in ("slot.name", "publication.name"))
        timeout = options.duration("timeout", "30 sec")
        parameters = {
            "connect_timeout": str(max(2, round(min(timeout, 10.0)))),
            "application_name": "siddhi",
            **{name: value for name, value in url.query.items() if isinstance(value, str)},
            **url.translate_connect_args(username="user", database="dbname"),
        }
        return cls(parameters, options.static("table.name"), frozenset(operations), slot, publication, timeout)


def _read_name(options: OptionHolder, option: str, default: Callable[[str], str]) -> str:
    name = options.static(option) if option in options else default(option)
    if not re.fullmatch("[a-z0-9_]{1,63}", name):
        raise options.invalid(option, "at most 63 of the letters a to z, digits and _")
    return name
