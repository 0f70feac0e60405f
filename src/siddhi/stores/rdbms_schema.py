"""The table of a database that a table of an app is kept in: made where it does not exist, checked where it does."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.options import OptionHolder
from siddhi.stores.rdbms_sql import COLUMN_TYPES
from siddhi.stores.record_table import TableContext
from siddhi.types import AttributeType

__all__ = ["check_table", "describe_table", "make_table"]

_LONGEST_INDEX = 60
"""Bytes of the name of an index: what PostgreSQL takes, and a little less."""


def describe_table(options: OptionHolder, context: TableContext, dialect: Dialect) -> sa.Table:
    """The table that is wanted.

    Raises:
        SiddhiAppCreationError: the database can't have such a table.
    """
    name = options.static("table.name", context.table)
    schema = options.static("schema", "") or None
    if not name.strip():
        raise _refused("'table.name' of store 'rdbms' is empty", "leave it out, or name a table")
    _check_names(name, context, dialect)
    keys = context.primary_key
    table = sa.Table(
        name,
        sa.MetaData(schema=schema),
        *[
            sa.Column(name, COLUMN_TYPES[type_], primary_key=i in keys, nullable=i not in keys, autoincrement=False)
            for i, (name, type_) in enumerate(context.attributes)
        ],
    )
    columns = tuple(table.columns)
    for positions in context.indexes:
        wanted = [columns[position] for position in positions]
        sa.Index(_index_name(name, [column.name for column in wanted]), *wanted)
    return table


def make_table(engine: sa.Engine, table: sa.Table) -> None:
    """Make the table where there is none, and those of its indexes that are not there, by whatever name."""
    with engine.begin() as connection:
        found = sa.inspect(connection)
        if not found.has_table(table.name, table.schema):
            # Without its indexes, which follow: a start that was cut short in between makes them the next time.
            connection.execute(sa.schema.CreateTable(table))
            there: list[Sequence[str | None]] = []
        elif table.name in found.get_view_names(table.schema):
            return
        else:
            there = [index["column_names"] for index in found.get_indexes(table.name, table.schema)]
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            if [column.name for column in index.columns] not in there:
                index.create(connection)


def check_table(engine: sa.Engine, table: sa.Table, context: TableContext) -> None:
    """See whether the table that is there can be worked with.

    Raises:
        SiddhiAppCreationError: it can't.
    """
    inspector = sa.inspect(engine)
    found = {column["name"]: column["type"] for column in inspector.get_columns(table.name, table.schema)}
    missing = [column.name for column in table.columns if column.name not in found]
    if missing:
        raise _unfit(table, context, f"has no column {', '.join(missing)}")
    for name, type_ in context.attributes:
        if not _fits(type_, found[name], engine.dialect.name):
            wanted = COLUMN_TYPES[type_].compile(dialect=engine.dialect)
            raise _unfit(
                table,
                context,
                f"has the column {name} of type {found[name]!s}; type {type_.value} needs {wanted}",
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
        raise _unfit(table, context, f"does not keep {', '.join(sorted(key))} unique, which is the primary key here")


def _check_names(name: str, context: TableContext, dialect: Dialect) -> None:
    for text in (name, *[attribute for attribute, _ in context.attributes]):
        if len(text.encode()) > dialect.max_identifier_length:
            raise _refused(
                f"the name '{text}' is longer than the {dialect.max_identifier_length} bytes that the database takes",
                "give the table another name with table.name = '...'" if text == name else None,
            )
    if dialect.name != "sqlite":
        return
    seen: dict[str, str] = {}
    for attribute, _ in context.attributes:
        other = seen.setdefault(attribute.lower(), attribute)
        if other != attribute:
            raise _refused(f"columns '{other}' and '{attribute}' of table '{context.table}' are one in SQLite", None)


def _index_name(table: str, columns: list[str]) -> str:
    """A name that no other index has: not one of other columns, nor of another table."""
    plain = "_".join(["ix", table, *columns])
    if len(plain.encode()) <= _LONGEST_INDEX and not any("_" in part for part in (table, *columns)):
        return plain
    told = hashlib.sha256("\0".join([table, *columns]).encode()).hexdigest()[:10]
    start = plain.encode()[: _LONGEST_INDEX - len(told) - 1].decode(errors="ignore")
    return f"{start}_{told}"


def _fits(type_: AttributeType, found: sa.types.TypeEngine[Any], dialect: str) -> bool:
    if isinstance(found, sa.types.NullType):
        return True  # it says nothing
    inexact = isinstance(found, sa.Float)
    numeric = isinstance(found, sa.Numeric) and not inexact
    match type_:
        case AttributeType.STRING:
            return isinstance(found, sa.String)
        case AttributeType.BOOL:
            return isinstance(found, sa.Boolean) or (
                dialect == "sqlite" and isinstance(found, (sa.Integer, sa.Numeric))
            )
        case AttributeType.INT:
            return isinstance(found, sa.Integer) and not isinstance(found, sa.SmallInteger)
        case AttributeType.LONG:
            return isinstance(found, sa.BigInteger) or (dialect == "sqlite" and isinstance(found, sa.Integer))
        case AttributeType.FLOAT | AttributeType.DOUBLE:
            # Of 4 bytes in most databases; of 8, as all others, in SQLite.
            return (inexact and (dialect == "sqlite" or not isinstance(found, sa.REAL))) or (
                numeric and dialect == "sqlite"
            )
    return False


def _refused(message: str, hint: str | None) -> SiddhiAppCreationError:
    return SiddhiAppCreationError(message, code="E326", hint=hint)


def _unfit(table: sa.Table, context: TableContext, why: str) -> SiddhiAppCreationError:
    return SiddhiAppCreationError(
        f"table '{table.fullname}' of the database {why}",
        code="E326",
        app=context.app,
        hint="name another table with table.name = '...'",
    )
