"""Connection to a database: SQLAlchemy's engine, and which of its errors mean that the database can't be reached."""

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
from siddhi.stores.rdbms_timeout import TIME_LIMIT, StatementTimeout, seconds_of

__all__ = ["driver_limits", "make_engine", "reachable", "sqlstate_of"]

_UNAVAILABLE = ("08", "40", "53", "55", "57")
"""Classes of SQLSTATE: connection, transaction rollback, insufficient resources, object in use, operator intervention."""
_CONNECTING_S = 10.0
"""Maximum time of connecting."""
_SQLITE_UNAVAILABLE = ("locked", "unable to open", "disk i/o", "readonly", "disk is full", "busy")


_LONGEST_NAME = 255
"""Maximum length of a file name in bytes, on all common file systems."""
_SERVER_OPTIONS = ("username", "password", "jdbc.url", "jndi.resource", "datasource")
"""Options of a database server, which need a url."""


def make_engine(options: OptionHolder, app: str | None) -> tuple[sa.Engine, StatementTimeout]:
    """Make the engine of ``url``, ``username``, ``password`` and ``timeout``, and its statement timeout; do not connect.

    Args:
        options: options of the store.
        app: name of the app, which names a file in the working directory if there is no url; None: it has no name.

    Raises:
        SiddhiAppCreationError: the url is invalid, or required and missing, the timeout is invalid, or the driver is not
            installed.
    """
    given = options.static("url") if "url" in options else None
    if given is None:
        _check_file_database(options, app)
    timeout = StatementTimeout(seconds_of(options.static("timeout", TIME_LIMIT)))
    try:
        url = sa.URL.create("sqlite", database=_file_of(app or "")) if given is None else sa.make_url(given)
        if "username" in options:
            url = url.set(username=options.static("username"))
        if "password" in options:
            url = url.set(password=options.secret("password"))
        _check_file(url)
        limits = driver_limits(url, timeout.seconds, "timeout" in options)
        engine = sa.create_engine(url, pool_pre_ping=url.get_backend_name() != "sqlite", **_pool(url, limits))
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        # The url is not shown: it may contain a password.
        raise SiddhiAppCreationError(
            "invalid 'url' of store 'rdbms': expected a database URL of SQLAlchemy",
            code="E326",
            hint="write a URL such as sqlite:///trades.db or postgresql+psycopg://user@host/name",
        ) from error
    except ModuleNotFoundError as error:
        raise SiddhiAppCreationError(
            f"the database driver of store 'rdbms' is not installed: {error}",
            code="E326",
            hint="pip install pymysql" if "pymysql" in str(error) else "install it with pip",
        ) from error
    if engine.dialect.name == "sqlite":
        _control_transactions(engine)
    else:
        _set_timeout(engine, timeout)
    return engine, timeout


def _check_file_database(options: OptionHolder, app: str | None) -> None:
    option = next((name for name in _SERVER_OPTIONS if name in options), None)
    if option is not None:
        raise SiddhiAppCreationError(
            f"store 'rdbms' has the option '{option}' but no 'url'",
            code="E326",
            hint="add url = 'postgresql+psycopg://user@host/name'",
        )
    if app is None:
        raise SiddhiAppCreationError(
            "store 'rdbms' has no 'url', and the app has no name for a database file",
            code="E326",
            hint="add @app:name('...') for a file of this name, or a url such as sqlite:///trades.db",
        )


def _file_of(app: str) -> str:
    """Return the file name of the app's database; it is neither a path nor hidden on any file system."""
    return f"{quote(app, safe=' ', errors='surrogatepass').replace('.', '%2E')}.db"


def _check_file(url: sa.URL) -> None:
    """Refuse a file name of SQLite that is too long: opening it would be retried indefinitely."""
    for name in Path(url.database or "").parts if url.get_backend_name() == "sqlite" else ():
        # SQLite also creates <name>-journal.
        length = len(name.encode("utf-8", "surrogatepass")) + len("-journal")
        if length > _LONGEST_NAME:
            raise SiddhiAppCreationError(
                f"the file name '{name:.20}...' of store 'rdbms' is too long: SQLite needs {length} bytes, "
                f"file systems allow {_LONGEST_NAME}",
                code="E326",
                hint="use a shorter url, such as sqlite:///trades.db",
            )


@contextmanager
def reachable() -> Iterator[None]:
    """Turn errors of the block that may go away later into ConnectionUnavailableError.

    Raises:
        ConnectionUnavailableError: the database can't be reached now.
    """
    try:
        yield
    except DBAPIError as error:
        if error.connection_invalidated or _is_unavailable(error):
            raise ConnectionUnavailableError(f"the database can't be reached: {error.orig}") from error
        raise
    except (ConnectionError, TimeoutError) as error:
        # Some drivers do not wrap network errors.
        raise ConnectionUnavailableError(f"the database can't be reached: {error}") from error


def _is_unavailable(error: DBAPIError) -> bool:
    state = sqlstate_of(error.orig)
    if state is not None:
        return state[:2] in _UNAVAILABLE
    if not isinstance(error, (OperationalError, InterfaceError)):
        return False
    if type(error.orig).__module__.partition(".")[0] == "sqlite3":
        return any(word in str(error.orig).lower() for word in _SQLITE_UNAVAILABLE)
    return True


def sqlstate_of(error: BaseException | None) -> str | None:
    """Return the SQLSTATE of an error, wherever its driver stores it; None if it has none."""
    given: Any = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    if given is None and error is not None and error.args and isinstance(error.args[0], dict):
        given = error.args[0].get("C")
    return given if isinstance(given, str) else None


def driver_limits(url: sa.URL, seconds: float, given: bool) -> dict[str, Any]:
    """Return the timeout arguments of a driver, unless the url sets them."""
    driver = url.get_driver_name()
    if driver in ("psycopg", "psycopg2", "pymysql"):
        limits: dict[str, Any] = {"connect_timeout": max(1, round(min(seconds, _CONNECTING_S)))}
    elif driver == "pg8000":
        limits = {"timeout": seconds}
    elif driver == "pysqlite" and given:
        limits = {"timeout": seconds}  # waiting for a lock; the driver's default is 5 s
    else:
        limits = {}
    return {name: value for name, value in limits.items() if name not in url.query}


def _pool(url: sa.URL, limits: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for the connection pool: an in-memory database has one connection for all threads."""
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        return {"poolclass": StaticPool, "connect_args": {"check_same_thread": False, **limits}}
    return {"connect_args": limits}


def _set_timeout(engine: sa.Engine, timeout: StatementTimeout) -> None:
    """Set the statement timeout of an engine, in this process and at the server."""

    def connect(connection: Any, record: Any) -> None:  # noqa: ARG001 - called by position
        timeout.watch(connection)
        if engine.dialect.name == "postgresql":
            cursor = connection.cursor()
            # Set here, not as a connection option: connection poolers refuse options that they don't know.
            cursor.execute(f"SET statement_timeout = {max(1, round(timeout.seconds * 1000))}")
            cursor.close()
            connection.commit()

    def connecting(dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> None:  # noqa: ARG001
        if timeout.hurried and "connect_timeout" in options:
            options["connect_timeout"] = 2  # the minimum of libpq

    def heard(*_: Any) -> None:
        timeout.heard()

    sa.event.listen(engine, "do_connect", connecting)
    sa.event.listen(engine, "connect", connect)
    sa.event.listen(engine, "before_cursor_execute", heard)
    sa.event.listen(engine, "after_cursor_execute", heard)


def _control_transactions(engine: sa.Engine) -> None:
    """Let SQLAlchemy begin the transactions of SQLite instead of the driver, so that savepoints work."""

    def connect(connection: Any, record: Any) -> None:  # noqa: ARG001 - called by position
        connection.isolation_level = None
        add_functions(connection)
        # WAL: readers do not wait for writers, and a transaction is one write to the disk. The file keeps the mode.
        connection.execute("PRAGMA journal_mode = WAL").close()

    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    sa.event.listen(engine, "connect", connect)
    sa.event.listen(engine, "begin", begin)
