"""Tables with stores: the stores, and their searches and changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from siddhi._core.expression.executor import Executor
from siddhi._core.expression.logic import make_and
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.table.output import TableSink
from siddhi._core.table.search import Binding
from siddhi._core.table.store import Parameters, StoreQuery, StoreSink, event_of
from siddhi._core.table.table import Table
from siddhi.errors import SiddhiAppCreationError, SiddhiAppError
from siddhi.io.options import Option, OptionHolder, Template
from siddhi.planner.plan.access import KeyLookup, TableAccess
from siddhi.planner.plan.connectors import CachePlan, StoreErrorAction, StorePlan
from siddhi.planner.plan.expressions import TABLE_SLOT, And, Attr, TypedExpression
from siddhi.planner.plan.nodes import Action, OutputPlan, TablePlan
from siddhi.planner.plan.walk import conjuncts, has_aggregate, substitute, walk
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.expressions import ExpressionBuilder
from siddhi.runtime.assembly.stores.changes import RunningChange
from siddhi.runtime.assembly.stores.expressions import StoreExpressions
from siddhi.runtime.assembly.unsupported import not_supported
from siddhi.runtime.connectors.retry import RetryScheduler
from siddhi.runtime.connectors.store_cache import StoreCache
from siddhi.runtime.connectors.table import StoreRuntime
from siddhi.runtime.connectors.table_cache import CachePolicy, RowCache
from siddhi.runtime.connectors.table_gather import WriteGather
from siddhi.runtime.errors.faults import FaultHandling
from siddhi.stores.built_in import make_store
from siddhi.stores.expression import Attribute, UnsupportedExpressionError
from siddhi.stores.queryable import QueryableRecordTable, Selection
from siddhi.stores.record_table import Parameters as Values
from siddhi.stores.record_table import Record, RecordTable, TableContext
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.runtime.assembly.tables.tables import Tables

__all__ = ["StoreTable"]

logger = logging.getLogger("siddhi")


class StoreTable:
    """A table with a store.

    Args:
        plan: the plan, which has a store.
        context: the app's context.
        pool: pool of the records of its rows.
        layout: names and types of its attributes.
        faults: saves failed changes for ``on.error = 'STORE'``.
        retries: schedules reconnects.
        gathers: whether changes are buffered until the end of a batch.

    Attributes:
        pool: as passed.
        layout: as passed.
        attributes: attributes of the table.
        store: the user's store.
        cache: the cache of ``@cache``; None: there is none.
        mirror: with ``@cache``, the in-memory table with all rows while they fit.
        runtime: the running store.
        current_change: events of the change that is running; None: there is none.

    Raises:
        SiddhiAppError: the store rejects its options or the table.
    """

    def __init__(
        self,
        plan: TablePlan,
        context: AppContext,
        pool: EventPool,
        layout: Layout,
        faults: FaultHandling,
        retries: RetryScheduler,
        *,
        gathers: bool = True,
    ) -> None:
        assert plan.store is not None
        self.pool = pool
        self.layout = layout
        self._plan = plan
        self._context = context
        self.attributes = plan.attributes
        self._dropped: set[int] = set()
        self.current_change: RunningChange | None = None
        self.store = _make(plan, plan.store, context, self._refuse, self._refuse_change)
        store = plan.store
        self.cache: StoreCache | None = None
        self.runtime = StoreRuntime(
            self.store,
            f"app '{context.name}', store '{store.store.full_name}' of table '{plan.id}'",
            retries,
            (lambda error, events, occurrence, payload: faults.save(error, plan.id, events, occurrence, payload))
            if store.on_error is StoreErrorAction.STORE
            else None,
        )
        self.runtime.span = store.span
        if store.on_error is StoreErrorAction.STORE and not faults.has_store:
            logger.error(
                "app '%s', table '%s': on.error = 'STORE' has no effect without an error store: call manager.set_error_store(...)",
                context.name,
                plan.id,
            )
        if gathers:
            self.runtime.gather = WriteGather(self._report)
        if store.cache is not None:
            self.mirror = self._in_memory(lambda _: pool)
            self.cache = self._make_cache(store.cache, self.mirror[plan.id])
            self.runtime.on_connect = self.cache.load
            self.runtime.on_failure = self.cache.invalidate

    def _make_cache(self, plan: CachePlan, mirror: Table) -> StoreCache:
        mirror.quiet = True  # the store reports refused rows
        context, key = self._context, self._plan.primary_key
        policy = CachePolicy(plan.policy)
        return StoreCache(
            plan.size,
            self.runtime,
            tuple((attribute.name, attribute.type) for attribute in self.attributes),
            (lambda row: tuple([row[position] for position in key])) if key else None,
            mirror,
            RowCache(plan.size, policy, plan.retention_ms, plan.purge_ms, lambda: context.now),
            plan.retention_ms,
            plan.purge_ms,
            lambda: context.now,
        )

    def add(self, records: Sequence[Record]) -> None:
        """Add rows to the store and to the cache by key."""
        self._dropped.clear()
        self.runtime.add(records)
        if self.cache is None or self.cache.whole:
            return
        for record in records:
            if id(record) not in self._dropped:
                self.cache.put(record)

    def reflected(self, sink: StoreSink, plan: OutputPlan, build: Callable[[Tables], TableSink]) -> StoreSink:
        """Let a change of the store be made in its cache, too.

        Args:
            sink: the operator that changes the store.
            plan: the output clause.
            build: builds the operator that changes in-memory tables.
        """
        if self.cache is not None:
            # An in-memory table does not rehash rows whose composite key changes; a store moves or refuses them.
            moves = len(self._plan.primary_key) > 1 and any(
                set_.position in self._plan.primary_key for set_ in plan.set or ()
            )
            by_key = _key(plan.access) is not None and plan.action is Action.UPDATE_OR_INSERT
            sink.reflect_in(self.cache, None if moves and not by_key else build(self.mirror))
        return sink

    @property
    def takes_each(self) -> bool:
        """Whether the store supports ``update or insert`` of many events that arrived one by one."""
        return type(self.store).update_or_add_each is not RecordTable.update_or_add_each

    def query(
        self,
        condition: TypedExpression | None,
        access: TableAccess,
        builder: ExpressionBuilder,
        binding: Binding,
        row_slot: int = TABLE_SLOT,
        read: tuple[int, ...] | None = None,
    ) -> StoreQuery:
        """Build a search of the store. The engine tests the parts of the condition that the store can't, on the rows found.

        Args:
            condition: the condition; None: every row matches.
            access: the planned access of the condition.
            builder: has the cells of all slots; ``row_slot`` reads the row by the binding.
            binding: where the row is read from.
            row_slot: slot of the row in the condition.
            read: positions of the attributes read from the rows found, other than by the condition; None: all. Other
                attributes may be null.

        Raises:
            SiddhiAppCreationError: the condition has aggregates.
        """
        if condition is not None and has_aggregate(condition):
            raise not_supported("aggregates in conditions over tables are", self._plan.span)
        key = _key(access)
        if key is not None and self.cache is not None:
            values, wanted, others = key
            compiled, expressions, residual = self._split(wanted, row_slot)
            if not residual:
                return self._cached(values, compiled, expressions, others, builder, binding, row_slot)
        compiled, expressions, residual = self._split(condition, row_slot)
        tested = _all_of(residual, builder)
        runtime = self.runtime
        return StoreQuery(
            self.pool,
            self.layout,
            parameters_of(expressions, builder),
            self._finder(compiled, None if read is None else {*read, *_read_by(residual, row_slot)}),
            lambda values: runtime.contains(compiled, values),
            tested,
            int(binding),
            row_slot if binding is Binding.IN_SLOT else 0,
        )

    def _finder(
        self, compiled: Any, read: set[int] | None
    ) -> Callable[[dict[str, object]], Iterable[Sequence[object]]]:
        """Return a function that finds rows; with a store that selects, attributes that are not read are null."""
        runtime, store, attributes = self.runtime, self.store, self.attributes
        if read is None or len(read) == len(attributes) or not isinstance(store, QueryableRecordTable):
            return lambda values: runtime.find(compiled, values)
        positions = sorted(read) or [0]
        columns = tuple((attributes[p].name, Attribute(attributes[p].type, attributes[p].name, p)) for p in positions)
        try:
            selection = store.compile_selection(Selection(columns))
        except UnsupportedExpressionError:
            return lambda values: runtime.find(compiled, values)
        nothing: list[object] = [None] * len(attributes)

        def find(values: dict[str, object]) -> list[Sequence[object]]:
            found: list[Sequence[object]] = []
            for selected in runtime.ask(lambda: list(store.query(compiled, selection, values))):
                row = nothing.copy()
                for position, value in zip(positions, selected, strict=True):
                    row[position] = value
                found.append(row)
            return found

        return find

    def _cached(
        self,
        key: tuple[TypedExpression, ...],
        compiled: Any,
        expressions: StoreExpressions,
        others: tuple[TypedExpression, ...],
        builder: ExpressionBuilder,
        binding: Binding,
        row_slot: int,
    ) -> StoreQuery:
        """Build a lookup by primary key: it reads the cache first, then the store, and caches the row."""
        names, runtime = tuple(expressions.parameters), self.runtime
        assert self.cache is not None
        cache = self.cache.rows
        keys = KeyParameters(key, expressions)

        def find(values: dict[str, object]) -> list[Sequence[object]]:
            of = keys.of(values)
            row = cache.get(of)
            if row is None:
                rows = runtime.find(compiled, {name: values[name] for name in names})
                if len(rows) == 1:
                    cache.put(of, tuple(rows[0]))
                return rows
            return [row]

        return StoreQuery(
            self.pool,
            self.layout,
            parameters_of(expressions, builder),
            find,
            lambda values: bool(find(values)),
            _all_of(others, builder),
            int(binding),
            row_slot if binding is Binding.IN_SLOT else 0,
        )

    def changing(
        self, access: TableAccess | None, expressions: StoreExpressions
    ) -> Callable[[list[dict[str, object]]], list[dict[str, object]]]:
        """Return a function to call before a change: it evicts rows that the change may touch from the cache, and returns
        the parameters for the store."""
        if self.cache is None:
            return lambda bound: bound
        cache = self.cache.rows
        names = tuple(expressions.parameters)
        key = _key(access)
        keys = None if key is None else KeyParameters(key[0], expressions)

        def forget(bound: list[dict[str, object]]) -> list[dict[str, object]]:
            if keys is None:
                cache.clear()
            else:
                for values in bound:
                    cache.drop(keys.of(values))
            return [{name: values[name] for name in names} for values in bound]

        return forget

    def compile_change(
        self, condition: TypedExpression | None, sets: dict[int, TypedExpression], span: Span | None
    ) -> tuple[Any, dict[int, Any], StoreExpressions]:
        """Compile a change: return the condition, the assigned values, and the expressions with their parameters.

        Raises:
            SiddhiAppCreationError: the store does not support the change.
        """
        expressions = StoreExpressions(self._plan.attributes, TABLE_SLOT)
        try:
            compiled = None if condition is None else self._compile(condition, expressions)
            values = {position: self._value(value, expressions) for position, value in _as_of_before(sets).items()}
        except UnsupportedExpressionError as error:
            raise SiddhiAppCreationError(
                f"store '{self._name}' does not support this change of table '{self._plan.id}': {error}",
                code="E327",
                span=span,
                hint="the store evaluates 'on' and 'set': compute their values in the select clause of the query",
            ) from error
        return compiled, values, expressions

    def pending(self, pool_of: Callable[[Layout], EventPool]) -> Tables:
        """Make an empty in-memory table of the same plan, for rows to be added later."""
        return self._in_memory(pool_of)

    def _in_memory(self, pool_of: Callable[[Layout], EventPool]) -> Tables:
        from siddhi.runtime.assembly.tables.tables import Tables

        return Tables([self._plan.in_memory()], self._context, pool_of)

    @property
    def _name(self) -> str:
        assert self._plan.store is not None
        return self._plan.store.store.full_name

    def _split(
        self, condition: TypedExpression | None, row_slot: int
    ) -> tuple[Any, StoreExpressions, tuple[TypedExpression, ...]]:
        """Split a condition: return the part compiled by the store, its parameters, and the residual predicate."""
        parts = tuple(conjuncts(condition))
        taken = tuple(part for part in parts if self._takes(part, row_slot))
        expressions = StoreExpressions(self._plan.attributes, row_slot)
        compiled = None
        if taken:
            whole = reduce(lambda left, right: And(AttributeType.BOOL, left, right), taken)
            compiled = self._compile(whole, expressions)
        return compiled, expressions, tuple(part for part in parts if not any(part is one for one in taken))

    def _takes(self, part: TypedExpression, row_slot: int) -> bool:
        try:
            self._compile(part, StoreExpressions(self._plan.attributes, row_slot))
        except UnsupportedExpressionError:
            return False
        return True

    def _compile(self, condition: TypedExpression, expressions: StoreExpressions) -> Any:
        try:
            return self.store.compile_condition(expressions.make(condition))
        except RecursionError as error:
            raise UnsupportedExpressionError("the expression is nested too deeply") from error

    def _value(self, value: TypedExpression, expressions: StoreExpressions) -> Any:
        try:
            return self.store.compile_value(expressions.make(value))
        except RecursionError as error:
            raise UnsupportedExpressionError("the expression is nested too deeply") from error

    def _report(self, error: Exception, record: Record) -> None:
        self._context.handle(error, f"table '{self._plan.id}'", [Event(-1, record)])

    def _refuse(self, record: Record, why: str) -> None:
        self._dropped.add(id(record))
        if self.cache is not None:
            self.cache.refuse()
        fits = len(record) == self.layout.width
        self._report_dropped("a row for", event_of(tuple(record), self.layout) if fits else Event(-1, record), why)

    def _refuse_change(self, values: Values, why: str) -> None:
        if self.cache is not None:
            self.cache.refuse()
        found = None if self.current_change is None else self.current_change.event(values)
        self._report_dropped("a change of", Event(-1, tuple(values.values())) if found is None else found, why)

    def _report_dropped(self, what: str, event: Event, why: str) -> None:
        error = ValueError(f"{what} table '{self._plan.id}' is dropped: {why}")
        self._context.handle(error, f"table '{self._plan.id}'", [event])


def _key(
    access: TableAccess | None,
) -> tuple[tuple[TypedExpression, ...], TypedExpression, tuple[TypedExpression, ...]] | None:
    """Return the values of the whole primary key in a condition, the part with the key, and the other parts; or None."""
    if access is None or not isinstance(access.lookup, KeyLookup):
        return None
    key = reduce(lambda left, right: And(AttributeType.BOOL, left, right), access.exact)
    return access.lookup.values, key, (*access.row_free, *access.residual)


def _as_of_before(sets: dict[int, TypedExpression]) -> dict[int, TypedExpression]:
    """Return the assignments over the row before the change: reads of attributes assigned earlier are substituted."""
    done: dict[int, TypedExpression] = {}
    for position, value in sets.items():
        done[position] = substitute(
            value, lambda node: done.get(node.position) if isinstance(node, Attr) and node.slot == TABLE_SLOT else None
        )
    return done


class KeyParameters:
    """The values of a primary key as additional parameters.

    Args:
        key: the values of the key's attributes, in order.
        expressions: the expressions to which the parameters are added.
    """

    def __init__(self, key: tuple[TypedExpression, ...], expressions: StoreExpressions) -> None:
        self._names = [f"key{i}" for i in range(len(key))]
        expressions.parameters.update(zip(self._names, key, strict=True))

    def of(self, values: dict[str, object]) -> tuple[object, ...]:
        """Return the key from the values of parameters."""
        return tuple([values[name] for name in self._names])


def _read_by(parts: Iterable[TypedExpression], row_slot: int) -> set[int]:
    """Return the positions of the attributes of the row that expressions read."""
    return {node.position for part in parts for node in walk(part) if isinstance(node, Attr) and node.slot == row_slot}


def _all_of(parts: tuple[TypedExpression, ...], builder: ExpressionBuilder) -> Executor | None:
    made: Executor | None = None
    for part in parts:
        executor = builder.build(part)
        made = executor if made is None else make_and(made, executor)
    return made


def parameters_of(expressions: StoreExpressions, builder: ExpressionBuilder) -> Parameters:
    """Build the executors of parameters."""
    return Parameters(tuple(expressions.parameters), builder.build_all(tuple(expressions.parameters.values())))


def _check_objects(plan: TablePlan, store: StorePlan) -> None:
    for attribute in plan.attributes:
        if attribute.type is not AttributeType.OBJECT:
            continue
        found = f"'{attribute.name}' of table '{plan.id}'", store.span
        for name, words, span in plan.objects:
            if name == attribute.name:
                found = f"{words} in aggregation '{plan.owner}'", span or store.span
        raise SiddhiAppCreationError(
            f"store '{store.store.full_name}' does not support the type object, which {found[0]} has",
            code="E326",
            span=found[1],
            hint="remove the attribute, or keep the table in memory without @store",
        )


def _make(
    plan: TablePlan,
    store: StorePlan,
    context: AppContext,
    refuse: Callable[[Record, str], None],
    refuse_change: Callable[[Values, str], None],
) -> RecordTable:
    """Make and initialize the store of a table."""
    about = TableContext(
        app=context.name,
        table=plan.id,
        attributes=tuple((attribute.name, attribute.type) for attribute in plan.attributes),
        primary_key=plan.primary_key,
        indexes=plan.store_indexes,
        refuse=refuse,
        config=store.config,
        is_named=store.app_is_named,
        refuse_change=refuse_change,
    )
    options = OptionHolder(
        f"store '{store.store.full_name}'",
        [
            Option(option.name, tuple(Template(template.parts) for template in option.templates))
            for option in store.options
        ],
    )
    try:
        made = make_store(store.store)
        if not made.keeps_objects:
            _check_objects(plan, store)
        made.init(options, about)
    except SiddhiAppError as error:
        raise error.located(span=store.span) from error.__cause__
    except Exception as error:
        raise SiddhiAppCreationError(
            f"store '{store.store.full_name}' failed to initialize: {type(error).__name__}: {error}",
            code="E326",
            span=store.span,
        ) from error
    return made
