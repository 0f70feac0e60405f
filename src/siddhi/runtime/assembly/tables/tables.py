"""Table plans → tables, and conditions over them → searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from siddhi._core.expression.executor import Executor
from siddhi._core.expression.logic import make_and
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.lookup import Searchable
from siddhi._core.table.search import Binding, TableSearch, TableSearchable, make_in
from siddhi._core.table.store import CachedQuery, CachedSearchable, StoreSearchable, make_in_cached, make_in_store
from siddhi._core.table.table import Table, TableState
from siddhi.planner.plan.access import TableAccess
from siddhi.planner.plan.expressions import TABLE_SLOT, InTable, TypedExpression
from siddhi.planner.plan.nodes import TablePlan
from siddhi.planner.plan.walk import has_aggregate
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.limits import key_limit
from siddhi.runtime.assembly.stores.stores import StoreTable
from siddhi.runtime.assembly.tables.access import build_access
from siddhi.runtime.assembly.types import layout_of
from siddhi.runtime.assembly.unsupported import not_supported

__all__ = ["Tables", "chosen"]


class Tables:
    """The tables of an app.

    Args:
        plans: the plans of the tables.
        context: the app's context.
        pool_of: returns the pool shared by records of a layout's types.
        make_store: makes a table with a store from its plan, pool and layout.
        kept: returns the table in memory that goes on as this one; None: there is none.

    Attributes:
        stores: the tables with a store, by id.
    """

    def __init__(
        self,
        plans: Iterable[TablePlan],
        context: AppContext,
        pool_of: Callable[[Layout], EventPool],
        make_store: Callable[[TablePlan, EventPool, Layout], StoreTable] | None = None,
        kept: Callable[[str], Table | None] = lambda _: None,
    ) -> None:
        self._plans = {plan.id: plan for plan in plans}
        self._context = context
        self._tables: dict[str, Table] = {}
        self.stores: dict[str, StoreTable] = {}
        for plan in self._plans.values():
            layout = layout_of(plan.attributes)
            if plan.store is None and (running := kept(plan.id)) is not None:
                self._tables[plan.id] = running
            elif plan.store is None:
                table = Table(context, plan.id, pool_of(layout), layout, plan.primary_key, plan.indexes)
                if plan.limit is not None:
                    where, rows = f"table '{plan.id}'", plan.limit.rows
                    table.limit = key_limit(context.name, where, "rows", "table.rows", plan.limit, rows, None)
                self._tables[plan.id] = table
            else:
                assert make_store is not None
                self.stores[plan.id] = make_store(plan, pool_of(layout), layout)

    def __getitem__(self, id_: str) -> Table:
        """Return an in-memory table."""
        return self._tables[id_]

    def __contains__(self, id_: object) -> bool:
        return id_ in self._plans

    def layout(self, id_: str) -> Layout:
        """Return the layout of a table's rows."""
        return self.stores[id_].layout if id_ in self.stores else self._tables[id_].layout

    def pool(self, id_: str) -> EventPool:
        """Return the pool of a table's rows."""
        return self.stores[id_].pool if id_ in self.stores else self._tables[id_].pool

    def pending(self, id_: str) -> Tables:
        """Make an empty table with the attributes of an in-memory one and no primary key, for rows to be added later."""
        table = self._tables[id_]
        made = Tables((), self._context, lambda _: table.pool)
        made._plans[id_] = self._plans[id_].pending()
        made._tables[id_] = Table(self._context, id_, table.pool, table.layout, ())
        return made

    def states(self) -> dict[str, TableState]:
        """Return the state of each in-memory table, for snapshots."""
        return {id_: TableState(table) for id_, table in self._tables.items()}

    def in_memory(self) -> Mapping[str, Table]:
        """Return the in-memory tables by id."""
        return self._tables

    def keyed(self) -> list[Table]:
        """Return the in-memory tables with a primary key."""
        return [table for table in self._tables.values() if table.primary_key]

    def make_in(self, node: InTable, builder: ExpressionBuilder) -> Executor:
        """Build the executor of ``condition in table``; the condition reads the slots of the builder, and the row."""
        row = Cells(self.layout(node.table), source="row")
        inside = builder.with_slots({TABLE_SLOT: row})
        access = chosen(node.access)
        if node.table in self.stores:
            store = self.stores[node.table]
            query = store.query(node.condition, access, inside, Binding.IN_FRAME)
            if store.cache is None:
                return make_in_store(query, node.table)
            memory = store.mirror.search(node.table, access, inside, Binding.IN_FRAME)
            return make_in_cached(CachedQuery(store.cache, memory, query), node.table)
        search = self.search(node.table, access, inside, Binding.IN_FRAME)
        search.meter = self._context.meter("Tables", node.table, "contains")
        return make_in(search)

    def searchable(
        self,
        table: str,
        condition: TypedExpression | None,
        access: TableAccess,
        builder: ExpressionBuilder,
        slot: int,
        read: tuple[int, ...] | None = None,
    ) -> Searchable:
        """Build the search of a table as one side of a join.

        Args:
            table: id of the table.
            condition: condition of the join; None: every row matches.
            access: the planned access.
            builder: builder of the join's expressions; it reads the row from the event slot.
            slot: event slot of the row.
            read: positions of the attributes read from the rows found; None: all.
        """
        if table in self.stores:
            store = self.stores[table]
            rows = StoreSearchable(store.query(condition, access, builder, Binding.IN_SLOT, slot, read), slot)
            if store.cache is None:
                return self._metered(rows, table)
            mirror = store.mirror.searchable(table, condition, access, builder, slot)
            return self._metered(CachedSearchable(store.cache, mirror, rows), table)
        return self._metered(TableSearchable(self.search(table, access, builder, Binding.IN_SLOT, slot), slot), table)

    def _metered(self, search: Searchable, table: str) -> Searchable:
        search.meter = self._context.meter("Tables", table, "find")
        return search

    def rows(
        self, table: str, condition: TypedExpression | None, access: TableAccess, builder: ExpressionBuilder
    ) -> Searchable:
        """Build the search of a table by an on-demand query; the builder reads the row as the current event."""
        if table in self.stores:
            store = self.stores[table]
            rows = StoreSearchable(store.query(condition, access, builder, Binding.AS_EVENT), 0)
            if store.cache is None:
                return self._metered(rows, table)
            mirror = store.mirror.rows(table, condition, access, builder)
            return self._metered(CachedSearchable(store.cache, mirror, rows), table)
        return self._metered(TableSearchable(self.search(table, access, builder, Binding.AS_EVENT), 0), table)

    def search(
        self,
        table: str,
        access: TableAccess,
        builder: ExpressionBuilder,
        binding: Binding,
        row_slot: int = TABLE_SLOT,
    ) -> TableSearch:
        """Build the search of an in-memory table.

        Args:
            table: id of the table.
            access: the planned access.
            builder: has the cells of all slots; ``row_slot`` reads the row by the binding.
            binding: where the row is read from.
            row_slot: slot of the row in the condition.

        Raises:
            SiddhiAppCreationError: the condition has aggregates.
        """
        plan = self._plans[table]
        if any(has_aggregate(part) for part in (*access.row_free, *access.row_predicates)):
            raise not_supported("aggregates in conditions over tables are", plan.span)
        lookup = access.lookup
        predicate = _all_of(access.row_predicates, builder)
        return TableSearch(
            self._tables[table],
            None if lookup is None else build_access(self._tables[table], lookup, builder.build),
            _all_of(access.row_free, builder),
            predicate if access.residual == access.row_predicates else _all_of(access.residual, builder),
            predicate,
            int(binding),
            row_slot if binding is Binding.IN_SLOT else 0,
        )


def chosen(access: TableAccess | None) -> TableAccess:
    """Return the access that a rule of the planner has chosen."""
    assert access is not None, "no rule has chosen the access of a table"
    return access


def _all_of(parts: tuple[TypedExpression, ...], builder: ExpressionBuilder) -> Executor | None:
    made: Executor | None = None
    for part in parts:
        executor = builder.build(part)
        made = executor if made is None else make_and(made, executor)
    return made
