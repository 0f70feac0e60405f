"""Which constraint of a database a change breaks, as far as its driver says."""

from __future__ import annotations

import sqlite3
from enum import Enum
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError

from siddhi.stores.rdbms_engine import sqlstate_of

__all__ = ["Violation", "violation_of"]


class Violation(Enum):
    """What an error is about: a primary key or what else is unique is taken, a null where none may be, some constraint that the
    driver does not tell, something else."""

    TAKEN = "taken"
    NULL = "null"
    UNTOLD = "untold"
    OTHER = "other"


_STATES = {"23505": Violation.TAKEN, "23502": Violation.NULL}
_ANY_CONSTRAINT = "23000"
"""SQLSTATE of databases that don't tell constraints apart by it."""
_MYSQL: dict[Any, Violation] = {
    1062: Violation.TAKEN,
    1586: Violation.TAKEN,
    1048: Violation.NULL,
    1364: Violation.NULL,
}
"""ER_DUP_ENTRY, ER_DUP_ENTRY_WITH_KEY_NAME, ER_BAD_NULL_ERROR, ER_NO_DEFAULT_FOR_FIELD."""
_MYSQL_DRIVERS = ("MySQLdb", "pymysql", "mysql", "mariadb", "asyncmy", "aiomysql")
_SQLITE: dict[Any, Violation] = {
    getattr(sqlite3, f"SQLITE_CONSTRAINT_{name}", None): violation
    for name, violation in {
        "PRIMARYKEY": Violation.TAKEN,
        "UNIQUE": Violation.TAKEN,
        "ROWID": Violation.TAKEN,
        "NOTNULL": Violation.NULL,
    }.items()
}
_SQLITE_WORDS = {"UNIQUE constraint failed": Violation.TAKEN, "NOT NULL constraint failed": Violation.NULL}


def violation_of(error: DBAPIError) -> Violation:
    """What an error is about."""
    given: Any = error.orig
    state = sqlstate_of(given)
    if state is not None and state != _ANY_CONSTRAINT:
        return _STATES.get(state, Violation.OTHER)
    driver = type(given).__module__.partition(".")[0]
    if driver == "sqlite3":
        code = getattr(given, "sqlite_errorcode", None)
        if code is not None:
            return _SQLITE.get(code, Violation.OTHER)
        # Python 3.10 gives no more than the text.
        return next((found for words, found in _SQLITE_WORDS.items() if words in str(given)), Violation.OTHER)
    if not isinstance(error, IntegrityError):
        return Violation.OTHER
    if driver in _MYSQL_DRIVERS:
        number = getattr(given, "errno", None) or (given.args[0] if given.args else None)
        return _MYSQL.get(number, Violation.OTHER)
    return Violation.UNTOLD
