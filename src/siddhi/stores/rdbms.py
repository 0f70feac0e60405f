"""``@store(type = 'rdbms')``: a table in an SQL database, through SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.options import OptionHolder
from siddhi.stores.expression import And, Attribute, Comparison, Expression, Parameter
from siddhi.stores.queryable import QueryableRecordTable, Selection
from siddhi.stores.rdbms_copy import copier
from siddhi.stores.rdbms_engine import make_engine, reachable
from siddhi.stores.rdbms_schema import check_table, describe_table, make_table
from siddhi.stores.rdbms_sql import SqlExpressions
from siddhi.stores.rdbms_violation import Violation, violation_of
from siddhi.stores.record_table import Parameters, Record, TableContext
from siddhi.types import AttributeType

__all__ = ["RdbmsTable"]

_COPY_FROM = 50
"""Number of rows from which COPY is faster than INSERT."""
_STATEMENT_ROWS = 1000
"""Maximum number of rows in a statement."""

_Refused = list[Callable[[], None]]
"""Calls that report dropped rows and changes, to be made after the transaction."""


class _Condition:
    """A condition as SQL, with the statements that use it."""

    def __init__(self, source: Expression | None, clause: sa.ColumnElement[bool] | None) -> None:
        self.source = source
        self.clause = clause
        self.statements: dict[str, Any] = {}


class _Value:
    """A value as SQL."""

    def __init__(self, source: Expression, sql: sa.ColumnElement[Any]) -> None:
        self.source = source
        self.sql = sql


class RdbmsTable(QueryableRecordTable):
    """One table of a database. It is created if it does not exist; its rows survive the app."""

    keeps_objects = False

    def init(self, options: OptionHolder, context: TableContext) -> None:
        self._context = context
        self._engine, self._timeout = make_engine(options, context.app if context.is_named else None)
        self._table = describe_table(options, context, self._engine.dialect)
        self._columns = tuple(self._table.columns)
        prefix = "given_"
        while any(column.name.startswith(prefix) for column in self._columns):
            prefix += "_"
        self._prefix = prefix
        self._expressions = SqlExpressions(self._columns, prefix, self._engine.dialect.name)
        self._all_rows = _Condition(None, None)
        self._insert = sa.insert(self._table)
        self._insert_new = self._make_insert_new()
        self._copy = copier(self._engine, self._table)

    # --- lifecycle

    def connect(self) -> None:
        self._engine.dispose()  # broken connections must not be reused
        try:
            with self._timeout.kept(), reachable():
                make_table(self._engine, self._table)
                check_table(self._engine, self._table, self._context)
        except SQLAlchemyError as error:
            raise SiddhiAppCreationError(
                f"can't create or check table '{self._table.fullname}' of store 'rdbms': {_reason(error)}",
                code="E326",
                app=self._context.app,
            ) from error

    def hurry(self) -> None:
        self._timeout.hurry()

    def disconnect(self) -> None:
        self._timeout.end()
        self._engine.dispose()

    # --- compiling

    def compile_condition(self, condition: Expression) -> _Condition:
        return _Condition(condition, self._expressions.condition(condition))

    def compile_value(self, value: Expression) -> _Value:
        return _Value(value, self._expressions.value(value))

    def compile_selection(self, selection: Selection) -> sa.Select[Any]:
        value = self._expressions.value
        statement: sa.Select[Any] = sa.select(*[value(column).label(name) for name, column in selection.columns])
        statement = statement.select_from(self._table)
        if selection.group_by:
            statement = statement.group_by(*[value(key) for key in selection.group_by])
        elif selection.aggregates:
            statement = statement.having(sa.func.count() > 0)
        for key, descends in selection.order_by:
            by = self._sorted_by(key)
            statement = statement.order_by(value(key).is_(None), by.desc() if descends else by.asc())
        if selection.limit is not None:
            statement = statement.limit(selection.limit)
        elif selection.offset and self._engine.dialect.name == "sqlite":
            statement = statement.limit(-1)
        return statement.offset(selection.offset) if selection.offset else statement

    def _sorted_by(self, key: Expression) -> Any:
        by = self._expressions.value(key)
        if key.type is AttributeType.STRING and self._engine.dialect.name == "postgresql":
            return sa.collate(by, "C")  # by code point, as in the engine
        return by

    # --- reading

    def find(self, condition: _Condition | None, parameters: Parameters) -> Sequence[Sequence[Any]]:
        condition = condition or self._all_rows
        statement = condition.statements.get("find")
        if statement is None:
            statement = condition.statements["find"] = self._where(sa.select(*self._columns), condition)
        with self._transaction() as connection:
            rows: Sequence[Sequence[Any]] = connection.execute(statement, self._bound(parameters)).all()
        return rows

    def contains(self, condition: _Condition | None, parameters: Parameters) -> bool:
        condition = condition or self._all_rows
        statement = condition.statements.get("contains")
        if statement is None:
            one: sa.Select[Any] = sa.select(sa.literal_column("1")).select_from(self._table)
            statement = condition.statements["contains"] = self._where(one, condition).limit(1)
        with self._transaction() as connection:
            row: Sequence[Any] | None = connection.execute(statement, self._bound(parameters)).first()
        return row is not None

    def query(
        self, condition: _Condition | None, selection: sa.Select[Any], parameters: Parameters
    ) -> Sequence[Sequence[Any]]:
        statement = self._where(selection, condition or self._all_rows)
        with self._transaction() as connection:
            rows: Sequence[Sequence[Any]] = connection.execute(statement, self._bound(parameters)).all()
        return rows

    # --- changing

    def add(self, records: Sequence[Record]) -> None:
        with self._refusing() as refused:
            if len(records) == 1:
                self._add_one(records[0], refused)
                return
            with self._transaction() as connection:
                self._add(connection, records, refused)

    def delete(self, condition: _Condition | None, parameters: Sequence[Parameters]) -> None:
        condition = condition or self._all_rows
        statement = condition.statements.get("delete")
        if statement is None:
            statement = condition.statements["delete"] = self._where(sa.delete(self._table), condition)
        with self._transaction() as connection:
            self._execute(connection, statement, [self._bound(values) for values in parameters])

    def update(
        self, condition: _Condition | None, parameters: Sequence[Parameters], sets: Mapping[int, _Value]
    ) -> None:
        statement = self._update(condition or self._all_rows, sets)
        bound = [self._bound(values) for values in parameters]
        with self._refusing() as refused, self._transaction() as connection:
            try:
                with connection.begin_nested():
                    self._execute(connection, statement, bound)
            except DBAPIError as error:
                if violation_of(error) is Violation.OTHER:
                    raise
                # One change would duplicate a key: make the others.
                for values, shown in zip(bound, parameters, strict=True):
                    self._change(connection, statement, values, shown, sets, refused)

    def update_or_add(
        self,
        condition: _Condition | None,
        parameters: Sequence[Parameters],
        sets: Mapping[int, _Value],
        records: Sequence[Record],
        reduce: Callable[[Iterable[int]], Sequence[Record]],
    ) -> None:
        condition = condition or self._all_rows
        upsert = self._upsert(condition, sets)
        if upsert is not None:
            self._update_or_add_by_key(upsert, parameters, records)
            return
        with self._refusing() as refused, self._transaction() as connection:
            statement = self._update(condition, sets)
            missing = [
                position
                for position, values in enumerate(parameters)
                if not self._change(connection, statement, self._bound(values), values, sets, refused)
            ]
            if missing:
                # A later event may change the row that an earlier one adds.
                added = reduce(missing) if len(missing) > 1 else [records[missing[0]]]
                self._add(connection, added, refused)

    def _update_or_add_by_key(self, upsert: Any, parameters: Sequence[Parameters], records: Sequence[Record]) -> None:
        with self._refusing() as refused:
            added = [
                (record, self._row(record) | self._bound(values))
                for values, record in zip(parameters, records, strict=True)
                if not self._lacks_key(record, refused)
            ]
            try:
                with self._transaction() as connection:
                    self._execute(connection, upsert, [values for _, values in added])
            except DBAPIError as error:
                if violation_of(error) is not Violation.DUPLICATE:
                    raise
                # Another unique constraint is violated: add the others.
                with self._transaction() as connection:
                    for record, values in added:
                        try:
                            with connection.begin_nested():
                                connection.execute(upsert, values)
                        except DBAPIError as one:
                            if violation_of(one) is not Violation.DUPLICATE:
                                raise
                            refused.append(partial(self._context.refuse, record, _reason(one)))

    def update_or_add_each(
        self,
        condition: _Condition | None,
        parameters: Sequence[Parameters],
        sets: Mapping[int, _Value],
        records: Sequence[Record],
    ) -> None:
        condition = condition or self._all_rows
        upsert = self._upsert(condition, sets)
        if upsert is not None:
            self._update_or_add_by_key(upsert, parameters, records)
            return
        statement = self._update(condition, sets)
        with self._refusing() as refused, self._transaction() as connection:
            for values, record in zip(parameters, records, strict=True):
                if not self._change(connection, statement, self._bound(values), values, sets, refused):
                    self._add(connection, [record], refused)

    def _execute(self, connection: sa.Connection, statement: Any, bound: Sequence[dict[str, Any]]) -> None:
        # In several statements, so that each is answered within the statement timeout.
        for start in range(0, len(bound), _STATEMENT_ROWS):
            connection.execute(statement, bound[start : start + _STATEMENT_ROWS])

    def _add_one(self, record: Record, refused: _Refused) -> None:
        """Add a single row; it needs no savepoint."""
        if self._lacks_key(record, refused):
            return
        try:
            with self._transaction() as connection:
                connection.execute(self._insert, self._row(record))
        except DBAPIError as error:
            if not self._is_taken(record, error):
                raise
            refused.append(partial(self._context.refuse, record, _reason(error)))

    def _is_taken(self, record: Record, error: DBAPIError, connection: sa.Connection | None = None) -> bool:
        """Return whether adding a row failed because its key exists; otherwise the event has failed."""
        violation = violation_of(error)
        if violation is not Violation.UNKNOWN or not self._context.primary_key:
            return violation is Violation.DUPLICATE
        if connection is None:
            with self._transaction() as connection:
                return self._is_taken(record, error, connection)
        key = [self._columns[position] == record[position] for position in self._context.primary_key]
        statement: sa.Select[Any] = sa.select(sa.literal_column("1")).select_from(self._table).where(*key).limit(1)
        return connection.execute(statement).first() is not None

    def _add(self, connection: sa.Connection, records: Sequence[Record], refused: _Refused) -> None:
        whole = [record for record in records if not self._lacks_key(record, refused)]
        for start in range(0, len(whole), _STATEMENT_ROWS):
            self._add_together(connection, whole[start : start + _STATEMENT_ROWS], refused)

    def _add_together(self, connection: sa.Connection, records: Sequence[Record], refused: _Refused) -> None:
        try:
            with connection.begin_nested():
                if self._copy is not None and len(records) >= _COPY_FROM:
                    self._copy(connection, records)
                else:
                    connection.execute(self._insert, [self._row(record) for record in records])
        except DBAPIError as error:
            if violation_of(error) in (Violation.OTHER, Violation.NULL):
                raise
            if len(records) == 1:
                if not self._is_taken(records[0], error, connection):
                    raise
                refused.append(partial(self._context.refuse, records[0], _reason(error)))
            elif not self._add_new(connection, records, refused, _reason(error)):
                # Not a duplicate key, or the database does not say which row failed: add both halves separately.
                middle = len(records) // 2
                self._add_together(connection, records[:middle], refused)
                self._add_together(connection, records[middle:], refused)

    def _add_new(self, connection: sa.Connection, records: Sequence[Record], refused: _Refused, why: str) -> bool:
        """Add the first row of each key that does not exist; return whether the database can."""
        if self._insert_new is None:
            return False
        keys = self._context.primary_key
        first: dict[Record, Record] = {}
        for record in records:
            first.setdefault(tuple([record[position] for position in keys]), record)
        try:
            with connection.begin_nested():
                rows = connection.execute(self._insert_new, [self._row(record) for record in first.values()])
                added = {id(first[tuple(row)]) for row in rows}
        except KeyError:
            return False
        except DBAPIError as error:
            if violation_of(error) in (Violation.OTHER, Violation.NULL):
                raise
            return False
        refused += [partial(self._context.refuse, record, why) for record in records if id(record) not in added]
        return True

    def _change(
        self,
        connection: sa.Connection,
        statement: sa.Update,
        values: dict[str, Any],
        shown: Parameters,
        sets: Mapping[int, _Value],
        refused: _Refused,
    ) -> bool:
        """Change rows for one event; return whether any matched."""
        try:
            with connection.begin_nested():
                changed: int = connection.execute(statement, values).rowcount
                return changed > 0
        except DBAPIError as error:
            why = self._refusal(error, shown, sets)
            if why is None:
                raise
            refused.append(partial(self._context.refuse_change, shown, why))
            return True

    def _refusal(self, error: DBAPIError, shown: Parameters, sets: Mapping[int, _Value]) -> str | None:
        """Return why a change violates the primary key; None: the error is another one, and the event has failed."""
        violation = violation_of(error)
        keys = [position for position in self._context.primary_key if position in sets]
        if violation in (Violation.NULL, Violation.UNKNOWN):
            for position in keys:
                source = sets[position].source
                if isinstance(source, Parameter) and shown.get(source.name) is None:
                    return f"its primary key {self._columns[position].name} is null"
        if violation is Violation.DUPLICATE or (violation is Violation.UNKNOWN and keys):
            return _reason(error)
        return None

    def _lacks_key(self, record: Record, refused: _Refused) -> bool:
        for position in self._context.primary_key:
            if record[position] is None:
                refused.append(
                    partial(self._context.refuse, record, f"its primary key {self._columns[position].name} is null")
                )
                return True
        return False

    @contextmanager
    def _refusing(self) -> Iterator[_Refused]:
        """Collect dropped rows and changes; report them after the block."""
        refused: _Refused = []
        yield refused
        for report in refused:
            report()

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with self._timeout.kept(), reachable(), self._engine.begin() as connection:
            yield connection

    # --- statements

    def _bound(self, parameters: Parameters) -> dict[str, Any]:
        return {self._prefix + name: value for name, value in parameters.items()}

    def _row(self, record: Record) -> dict[str, Any]:
        return {column.name: value for column, value in zip(self._columns, record, strict=True)}

    def _where(self, statement: Any, condition: _Condition) -> Any:
        return statement if condition.clause is None else statement.where(condition.clause)

    def _update(self, condition: _Condition, sets: Mapping[int, _Value]) -> sa.Update:
        statement: sa.Update | None = condition.statements.get("update")
        if statement is None:
            changed = {self._columns[position]: value.sql for position, value in sets.items()}
            statement = self._where(sa.update(self._table), condition).values(changed)
            condition.statements["update"] = statement
        assert statement is not None
        return statement

    def _make_insert_new(self) -> Any:
        """Make the statement that adds rows with new keys and returns the keys; None: the database has none."""
        dialect = self._engine.dialect
        if not self._context.primary_key:
            return None
        insert: Any
        if dialect.name == "postgresql":
            insert = postgresql.insert
        elif dialect.name == "sqlite" and dialect.dbapi is not None and dialect.dbapi.sqlite_version_info >= (3, 35):
            insert = sqlite.insert
        else:
            return None
        elements = [self._columns[position] for position in self._context.primary_key]
        return insert(self._table).on_conflict_do_nothing(index_elements=elements).returning(*elements)

    def _upsert(self, condition: _Condition, sets: Mapping[int, _Value]) -> Any:
        """Return an upsert statement if the condition is on the primary key and the key is not changed; else None."""
        if "upsert" not in condition.statements:
            condition.statements["upsert"] = self._make_upsert(condition, sets)
        return condition.statements["upsert"]

    def _make_upsert(self, condition: _Condition, sets: Mapping[int, _Value]) -> Any:
        keys = self._context.primary_key
        if not keys or condition.source is None or _compared_key(condition.source) != set(keys):
            return None
        if any(_output(sets[position].source) != position for position in keys if position in sets):
            return None
        insert: Any
        if self._engine.dialect.name == "sqlite":
            insert = sqlite.insert
        elif self._engine.dialect.name == "postgresql":
            insert = postgresql.insert
        else:
            return None
        statement = insert(self._table)
        others = {
            self._columns[position].name: (
                value.sql
                if (output := _output(value.source)) is None
                else statement.excluded[self._columns[output].name]
            )
            for position, value in sets.items()
            if position not in keys
        }
        elements = [self._columns[position] for position in keys]
        if not others:
            return statement.on_conflict_do_nothing(index_elements=elements)
        return statement.on_conflict_do_update(index_elements=elements, set_=others)


def _compared_key(condition: Expression) -> set[int] | None:
    """Return the attributes compared with the event's attribute of the same name if a condition tests nothing else."""
    found: set[int] = set()
    for part in condition.operands if isinstance(condition, And) else (condition,):
        if not (isinstance(part, Comparison) and part.operator == "=="):
            return None
        sides = (part.left, part.right) if isinstance(part.left, Attribute) else (part.right, part.left)
        if not isinstance(sides[0], Attribute) or _output(sides[1]) != sides[0].position:
            return None
        found.add(sides[0].position)
    return found


def _output(value: Expression) -> int | None:
    return value.output if isinstance(value, Parameter) else None


def _reason(error: SQLAlchemyError) -> str:
    given: Any = getattr(error, "orig", None) or error
    if given.args and isinstance(given.args[0], dict):  # pg8000 passes the fields of the server's message
        return str(given.args[0].get("M", given))
    return str(given)
