"""Schema of a table in a database: create it if it does not exist, else check it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.engine.interfaces import Dialect

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.options import OptionHolder
from siddhi.stores.rdbms_sql import COLUMN_TYPES
from siddhi.stores.record_table import TableContext
from siddhi.types import AttributeType

__all__ = ["check_table", "describe_table", "make_table"]

_LONGEST_INDEX = 60
"""Maximum length of an index name in bytes; PostgreSQL's limit is 63."""
_KEY_LENGTH = 254
"""Characters of a string in a key or index of MySQL, as in Siddhi."""
_MYSQL = ("mysql", "mariadb")


def describe_table(options: OptionHolder, context: TableContext, dialect: Dialect) -> sa.Table:
    """Describe the table of an app for a database.

    Raises:
        SiddhiAppCreationError: the database does not allow such a table.
    """
    name = options.static("table.name", context.table)
    schema = options.static("schema", "") or None
    if not name.strip():
        raise _refused("'table.name' of store 'rdbms' is empty", "remove the option, or name a table")
    _check_names(name, context, dialect)
    keys = context.primary_key
    indexed = {context.attributes[i][0] for positions in (keys, *context.indexes) for i in positions}
    lengths = dict.fromkeys(indexed, _KEY_LENGTH) | _lengths(options, context)
    table = sa.Table(
        name,
        sa.MetaData(schema=schema),
        *[
            sa.Column(
                name,
                _column_type(type_, lengths.get(name)),
                primary_key=i in keys,
                nullable=i not in keys,
                autoincrement=False,
            )
            for i, (name, type_) in enumerate(context.attributes)
        ],
    )
    columns = tuple(table.columns)
    for positions in context.indexes:
        wanted = [columns[position] for position in positions]
        sa.Index(_index_name(name, [column.name for column in wanted]), *wanted)
    return table


def _column_type(type_: AttributeType, length: int | None) -> sa.types.TypeEngine[Any]:
    """Return the type of a column. In MySQL a string is compared by its characters, and a key has a length."""
    plain = COLUMN_TYPES[type_]
    if type_ is not AttributeType.STRING:
        return plain
    collation = "utf8mb4_bin"
    of_mysql = mysql.LONGTEXT(collation=collation) if length is None else mysql.VARCHAR(length, collation=collation)
    return plain.with_variant(of_mysql, *_MYSQL)


def _lengths(options: OptionHolder, context: TableContext) -> dict[str, int]:
    """Return the lengths of the option ``field.length``."""
    found: dict[str, int] = {}
    names = {name for name, _ in context.attributes}
    for part in filter(None, options.static("field.length", "").split(",")):
        name, _, length = (piece.strip() for piece in part.partition(":"))
        if name not in names or not (length.isascii() and length.isdecimal() and 0 < int(length) <= 16383):
            raise _refused(
                f"invalid 'field.length' of store 'rdbms': '{part}'",
                "write attributes and lengths, such as 'symbol:100,name:50'",
            )
        found[name] = int(length)
    return found


def make_table(engine: sa.Engine, table: sa.Table) -> None:
    """Create the table if it does not exist, and the indexes whose columns have none yet, whatever its name."""
    with engine.begin() as connection:
        found = sa.inspect(connection)
        if not found.has_table(table.name, table.schema):
            # The indexes follow separately: if the start is interrupted, the next one creates them.
            connection.execute(sa.schema.CreateTable(table))
            indexed: list[Sequence[str | None]] = []
        elif table.name in found.get_view_names(table.schema):
            return
        else:
            indexed = [index["column_names"] for index in found.get_indexes(table.name, table.schema)]
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            if [column.name for column in index.columns] not in indexed:
                index.create(connection)


def check_table(engine: sa.Engine, table: sa.Table, context: TableContext) -> None:
    """Check columns and key of an existing table.

    Raises:
        SiddhiAppCreationError: the table does not match.
    """
    inspector = sa.inspect(engine)
    found = {column["name"]: column["type"] for column in inspector.get_columns(table.name, table.schema)}
    missing = [column.name for column in table.columns if column.name not in found]
    if missing:
        raise _mismatch(table, context, f"has no column {', '.join(missing)}")
    for name, type_ in context.attributes:
        if not _fits(type_, found[name], engine.dialect.name):
            wanted = COLUMN_TYPES[type_].compile(dialect=engine.dialect)
            raise _mismatch(
                table,
                context,
                f"has column {name} of type {found[name]!s}; attribute type {type_.value} requires {wanted}",
            )
    key = {table.columns[context.attributes[position][0]].name for position in context.primary_key}
    if not key or table.name in inspector.get_view_names(table.schema):
        return
    unique: list[Sequence[Any]] = [
        inspector.get_pk_constraint(table.name, table.schema)["constrained_columns"],
        *[one["column_names"] for one in inspector.get_unique_constraints(table.name, table.schema)],
        *[one["column_names"] for one in inspector.get_indexes(table.name, table.schema) if one["unique"]],
    ]
    if not any(set(columns) == key for columns in unique):
        raise _mismatch(table, context, f"has no unique constraint on the primary key {', '.join(sorted(key))}")


def _check_names(name: str, context: TableContext, dialect: Dialect) -> None:
    for text in (name, *[attribute for attribute, _ in context.attributes]):
        if len(text.encode()) > dialect.max_identifier_length:
            raise _refused(
                f"the name '{text}' is longer than the database's limit of {dialect.max_identifier_length} bytes",
                "choose another name with table.name = '...'" if text == name else None,
            )
    if dialect.name != "sqlite":
        return
    seen: dict[str, str] = {}
    for attribute, _ in context.attributes:
        other = seen.setdefault(attribute.lower(), attribute)
        if other != attribute:
            raise _refused(
                f"attributes '{other}' and '{attribute}' of table '{context.table}' are the same column in SQLite", None
            )


def _index_name(table: str, columns: list[str]) -> str:
    """Return an index name that is unique over all columns and tables."""
    plain = "_".join(["ix", table, *columns])
    if len(plain.encode()) <= _LONGEST_INDEX and not any("_" in part for part in (table, *columns)):
        return plain
    digest = hashlib.sha256("\0".join([table, *columns]).encode()).hexdigest()[:10]
    start = plain.encode()[: _LONGEST_INDEX - len(digest) - 1].decode(errors="ignore")
    return f"{start}_{digest}"


def _fits(type_: AttributeType, found: sa.types.TypeEngine[Any], dialect: str) -> bool:
    if isinstance(found, sa.types.NullType):
        return True  # unknown type
    inexact = isinstance(found, sa.Float)
    numeric = isinstance(found, sa.Numeric) and not inexact
    match type_:
        case AttributeType.STRING:
            return isinstance(found, sa.String)
        case AttributeType.BOOL:
            return (
                isinstance(found, sa.Boolean)
                or (dialect == "sqlite" and isinstance(found, (sa.Integer, sa.Numeric)))
                or (dialect in _MYSQL and isinstance(found, mysql.TINYINT))
            )
        case AttributeType.INT:
            return isinstance(found, sa.Integer) and not isinstance(found, sa.SmallInteger)
        case AttributeType.LONG:
            return isinstance(found, sa.BigInteger) or (dialect == "sqlite" and isinstance(found, sa.Integer))
        case AttributeType.FLOAT | AttributeType.DOUBLE:
            # REAL has 4 bytes in most databases, 8 in SQLite.
            return (inexact and (dialect == "sqlite" or not isinstance(found, sa.REAL))) or (
                numeric and dialect == "sqlite"
            )
    return False


def _refused(message: str, hint: str | None) -> SiddhiAppCreationError:
    return SiddhiAppCreationError(message, code="E326", hint=hint)


def _mismatch(table: sa.Table, context: TableContext, why: str) -> SiddhiAppCreationError:
    return SiddhiAppCreationError(
        f"existing table '{table.fullname}' of store 'rdbms' {why}",
        code="E326",
        app=context.app,
        hint="choose another table with table.name = '...'",
    )
