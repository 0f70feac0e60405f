"""Kind of constraint violation of a database error, as far as the driver tells."""

from __future__ import annotations

import sqlite3
from enum import Enum
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError

from siddhi.stores.rdbms_engine import sqlstate_of

__all__ = ["Violation", "violation_of"]


class Violation(Enum):
    """Cause of an error: a duplicate of a primary key or unique column, a null in a column without nulls, a constraint of
    unknown kind, another error."""

    DUPLICATE = "duplicate"
    NULL = "null"
    UNKNOWN = "unknown"
    OTHER = "other"


_STATES = {"23505": Violation.DUPLICATE, "23502": Violation.NULL}
_ANY_CONSTRAINT = "23000"
"""SQLSTATE of databases that don't distinguish kinds of constraints."""
_MYSQL: dict[Any, Violation] = {
    1062: Violation.DUPLICATE,
    1586: Violation.DUPLICATE,
    1048: Violation.NULL,
    1364: Violation.NULL,
}
"""ER_DUP_ENTRY, ER_DUP_ENTRY_WITH_KEY_NAME, ER_BAD_NULL_ERROR, ER_NO_DEFAULT_FOR_FIELD."""
_MYSQL_DRIVERS = ("MySQLdb", "pymysql", "mysql", "mariadb", "asyncmy", "aiomysql")
_SQLITE: dict[Any, Violation] = {
    getattr(sqlite3, f"SQLITE_CONSTRAINT_{name}", None): violation
    for name, violation in {
        "PRIMARYKEY": Violation.DUPLICATE,
        "UNIQUE": Violation.DUPLICATE,
        "ROWID": Violation.DUPLICATE,
        "NOTNULL": Violation.NULL,
    }.items()
}
_SQLITE_TEXTS = {"UNIQUE constraint failed": Violation.DUPLICATE, "NOT NULL constraint failed": Violation.NULL}


def violation_of(error: DBAPIError) -> Violation:
    """Return the cause of an error."""
    given: Any = error.orig
    state = sqlstate_of(given)
    if state is not None and state != _ANY_CONSTRAINT:
        return _STATES.get(state, Violation.OTHER)
    driver = type(given).__module__.partition(".")[0]
    if driver == "sqlite3":
        code = getattr(given, "sqlite_errorcode", None)
        if code is not None:
            return _SQLITE.get(code, Violation.OTHER)
        # Python 3.10 has only the text.
        return next((found for words, found in _SQLITE_TEXTS.items() if words in str(given)), Violation.OTHER)
    if not isinstance(error, IntegrityError):
        return Violation.OTHER
    if driver in _MYSQL_DRIVERS:
        number = getattr(given, "errno", None) or (given.args[0] if given.args else None)
        return _MYSQL.get(number, Violation.OTHER)
    return Violation.UNKNOWN
