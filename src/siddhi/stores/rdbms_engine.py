"""The way to a database: the engine of SQLAlchemy, and which of its errors say that the database can't be reached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import StaticPool

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.io.options import OptionHolder
from siddhi.stores.rdbms_numbers import add_functions
from siddhi.stores.rdbms_silence import TIME_LIMIT, SilenceLimit, seconds_of

__all__ = ["driver_limits", "make_engine", "reachable", "sqlstate_of"]

_AWAY = ("08", "40", "53", "55", "57")
"""Classes of SQLSTATE: connection, transaction to be repeated, no resources, object in use, operator intervention."""
_CONNECTING_S = 10.0
"""How long connecting may take at the most."""
_SQLITE_AWAY = ("locked", "unable to open", "disk i/o", "readonly", "disk is full", "busy")


_LONGEST_NAME = 255
"""Bytes of a file's name, on all file systems in use."""
_OF_A_SERVER = ("username", "password", "jdbc.url", "jndi.resource", "datasource")
"""Options that mean some other database than a file of the app's own."""


def make_engine(options: OptionHolder, app: str | None) -> tuple[sa.Engine, SilenceLimit]:
    """The engine of ``url``, ``username``, ``password`` and ``timeout``, and what ends its waiting; nothing is connected yet.

    Args:
        options: of the store.
        app: name of the app, by which a file in the working directory is called where no url is given; None: it has none.

    Raises:
        SiddhiAppCreationError: the url is none, or needed and not given, the time is none, or the driver the url names is not
            installed.
    """
    given = options.static("url") if "url" in options else None
    if given is None:
        _check_may_be_a_file(options, app)
    silence = SilenceLimit(seconds_of(options.static("timeout", TIME_LIMIT)))
    try:
        url = sa.URL.create("sqlite", database=_file_of(app or "")) if given is None else sa.make_url(given)
        if "username" in options:
            url = url.set(username=options.static("username"))
        if "password" in options:
            url = url.set(password=options.static("password"))
        _check_file(url)
        limits = driver_limits(url, silence.seconds, "timeout" in options)
        engine = sa.create_engine(url, pool_pre_ping=url.get_backend_name() != "sqlite", **_pool(url, limits))
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        # Nothing of the url is shown: a password may stand in it.
        raise SiddhiAppCreationError(
            "'url' of store 'rdbms' names no database",
            code="E326",
            hint="as in sqlite:///trades.db or postgresql+psycopg://user@host/name",
        ) from error
    except ModuleNotFoundError as error:
        raise SiddhiAppCreationError(
            f"the driver of the database is not installed: {error}", code="E326", hint="install it with pip"
        ) from error
    if engine.dialect.name == "sqlite":
        _begin_as_told(engine)
    else:
        _end_silence(engine, silence)
    return engine, silence


def _check_may_be_a_file(options: OptionHolder, app: str | None) -> None:
    meant = next((name for name in _OF_A_SERVER if name in options), None)
    if meant is not None:
        raise SiddhiAppCreationError(
            f"store 'rdbms' has '{meant}' but no 'url'",
            code="E326",
            hint="as in url = 'postgresql+psycopg://user@host/name'",
        )
    if app is None:
        raise SiddhiAppCreationError(
            "store 'rdbms' has no 'url', and the app no name by which the file could be found again",
            code="E326",
            hint="write @app:name('...') for a file of this name, or a url such as sqlite:///trades.db",
        )


def _file_of(app: str) -> str:
    """The app's database: no file system takes its name for a path or a hidden file."""
    return f"{quote(app, safe=' ', errors='surrogatepass').replace('.', '%2E')}.db"


def _check_file(url: sa.URL) -> None:
    """Refuse a file of SQLite that no file system can have: it would be waited for, as one that is away."""
    for name in Path(url.database or "").parts if url.get_backend_name() == "sqlite" else ():
        # Beside it lies <name>-journal.
        length = len(name.encode("utf-8", "surrogatepass")) + len("-journal")
        if length > _LONGEST_NAME:
            raise SiddhiAppCreationError(
                f"the file of store 'rdbms' has a name that is too long: SQLite needs {length} bytes for '{name:.20}...', "
                f"file systems take {_LONGEST_NAME}",
                code="E326",
                hint="write a url such as sqlite:///trades.db",
            )


@contextmanager
def reachable() -> Iterator[None]:
    """Says of errors inside, where it makes sense to try again later, that the database can't be reached now.

    Raises:
        ConnectionUnavailableError: it can't be reached.
    """
    try:
        yield
    except DBAPIError as error:
        if error.connection_invalidated or _says_away(error):
            raise ConnectionUnavailableError(f"the database can't be reached: {error.orig}") from error
        raise
    except (ConnectionError, TimeoutError) as error:
        # Some drivers let errors of the network through as they are.
        raise ConnectionUnavailableError(f"the database can't be reached: {error}") from error


def _says_away(error: DBAPIError) -> bool:
    state = sqlstate_of(error.orig)
    if state is not None:
        return state[:2] in _AWAY
    if not isinstance(error, (OperationalError, InterfaceError)):
        return False
    if type(error.orig).__module__.partition(".")[0] == "sqlite3":
        return any(word in str(error.orig).lower() for word in _SQLITE_AWAY)
    return True


def sqlstate_of(error: BaseException | None) -> str | None:
    """The SQLSTATE that a driver gives with an error, in one of the ways that drivers do."""
    given: Any = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    if given is None and error is not None and error.args and isinstance(error.args[0], dict):
        given = error.args[0].get("C")
    return given if isinstance(given, str) else None


def driver_limits(url: sa.URL, seconds: float, given: bool) -> dict[str, Any]:
    """What drivers are told of the limit, where they can be and the url doesn't say it."""
    driver = url.get_driver_name()
    if driver in ("psycopg", "psycopg2"):
        limits: dict[str, Any] = {"connect_timeout": max(1, round(min(seconds, _CONNECTING_S)))}
    elif driver == "pg8000":
        limits = {"timeout": seconds}
    elif driver == "pysqlite" and given:
        limits = {"timeout": seconds}  # for a lock of another; the driver's own limit is 5 s
    else:
        limits = {}
    return {name: value for name, value in limits.items() if name not in url.query}


def _pool(url: sa.URL, limits: dict[str, Any]) -> dict[str, Any]:
    """A database in memory is that of one connection, whatever thread asks."""
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        return {"poolclass": StaticPool, "connect_args": {"check_same_thread": False, **limits}}
    return {"connect_args": limits}


def _end_silence(engine: sa.Engine, silence: SilenceLimit) -> None:
    """Have statements of an engine be ended, here and at the server, that are not answered in time."""

    def connect(connection: Any, record: Any) -> None:  # noqa: ARG001 - called by position
        silence.watch(connection)
        if engine.dialect.name == "postgresql":
            cursor = connection.cursor()
            # Set here, not when connecting: poolers in between refuse what they don't know.
            cursor.execute(f"SET statement_timeout = {max(1, round(silence.seconds * 1000))}")
            cursor.close()
            connection.commit()

    def connecting(dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> None:  # noqa: ARG001
        if silence.hurried and "connect_timeout" in options:
            options["connect_timeout"] = 2  # the shortest that libpq knows

    def heard(*_: Any) -> None:
        silence.heard()

    sa.event.listen(engine, "do_connect", connecting)
    sa.event.listen(engine, "connect", connect)
    sa.event.listen(engine, "before_cursor_execute", heard)
    sa.event.listen(engine, "after_cursor_execute", heard)


def _begin_as_told(engine: sa.Engine) -> None:
    """Let transactions of SQLite begin where SQLAlchemy says, not where the driver guesses: only so do they nest."""

    def connect(connection: Any, record: Any) -> None:  # noqa: ARG001 - called by position
        connection.isolation_level = None
        add_functions(connection)
        # Who reads does not wait for who writes, and a transaction is one write to the disk. Kept in the file.
        connection.execute("PRAGMA journal_mode = WAL").close()

    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    sa.event.listen(engine, "connect", connect)
    sa.event.listen(engine, "begin", begin)
