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
from siddhi._frozen import frozen
from siddhi.planner.plan.access import KeyLookup, TableAccess
from siddhi.planner.plan.expressions import TABLE_SLOT, InTable, TypedExpression
from siddhi.planner.plan.nodes import TablePlan
from siddhi.planner.plan.walk import has_aggregate
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.limits import key_limit
from siddhi.runtime.assembly.stores.stores import StoreTable
from siddhi.runtime.assembly.tables.access import build_access
from siddhi.runtime.assembly.types import layout_of
from siddhi.runtime.assembly.unsupported import not_supported

__all__ = ["BuiltSearch", "Tables", "chosen"]


@frozen
class BuiltSearch:
    """A search, and what the condition compares the whole primary key with, by position, where that is all it asks."""

    search: TableSearch
    key: dict[int, TypedExpression]


class Tables:
    """The tables of an app.

    Args:
        plans: what the app defines.
        context: the app's.
        pool_of: the pool that records of a layout's types share.
        make_store: makes the table of a plan with a store, from its pool and layout.

    Attributes:
        stores: the tables kept elsewhere, by id.
    """

    def __init__(
        self,
        plans: Iterable[TablePlan],
        context: AppContext,
        pool_of: Callable[[Layout], EventPool],
        make_store: Callable[[TablePlan, EventPool, Layout], StoreTable] | None = None,
    ) -> None:
        self._plans = {plan.id: plan for plan in plans}
        self._context = context
        self._tables: dict[str, Table] = {}
        self.stores: dict[str, StoreTable] = {}
        for plan in self._plans.values():
            layout = layout_of(plan.attributes)
            if plan.store is None:
                table = Table(context, plan.id, pool_of(layout), layout, plan.primary_key, plan.indexes)
                if plan.limit is not None:
                    where, rows = f"table '{plan.id}'", plan.limit.rows
                    table.limit = key_limit(context.name, where, "rows", "table.rows", plan.limit, rows, None)
                self._tables[plan.id] = table
            else:
                assert make_store is not None
                self.stores[plan.id] = make_store(plan, pool_of(layout), layout)

    def __getitem__(self, id_: str) -> Table:
        """A table kept in memory."""
        return self._tables[id_]

    def __contains__(self, id_: object) -> bool:
        return id_ in self._plans

    def layout(self, id_: str) -> Layout:
        """Of the rows of a table."""
        return self.stores[id_].layout if id_ in self.stores else self._tables[id_].layout

    def pool(self, id_: str) -> EventPool:
        """Of the rows of a table."""
        return self.stores[id_].pool if id_ in self.stores else self._tables[id_].pool

    def pending(self, id_: str) -> Tables:
        """A table of the attributes of one kept in memory, empty and without its key: for rows that are not added yet."""
        table = self._tables[id_]
        made = Tables((), self._context, lambda _: table.pool)
        made._plans[id_] = self._plans[id_].pending()
        made._tables[id_] = Table(self._context, id_, table.pool, table.layout, ())
        return made

    def states(self) -> dict[str, TableState]:
        """What a snapshot saves, by table."""
        return {id_: TableState(table) for id_, table in self._tables.items()}

    def in_memory(self) -> Mapping[str, Table]:
        """The tables in memory, by id."""
        return self._tables

    def keyed(self) -> list[Table]:
        """The tables in memory that have a primary key."""
        return [table for table in self._tables.values() if table.primary_key]

    def make_in(self, node: InTable, builder: ExpressionBuilder) -> Executor:
        """The executor of ``condition in table``; the condition sees what the builder sees, and the row."""
        row = Cells(self.layout(node.table), source="row")
        inside = builder.with_slots({TABLE_SLOT: row})
        access = chosen(node.access)
        if node.table in self.stores:
            store = self.stores[node.table]
            question = store.question(node.condition, access, inside, Binding.IN_FRAME)
            if store.cache is None:
                return make_in_store(question, node.table)
            memory = store.mirror.search(node.table, access, inside, Binding.IN_FRAME).search
            return make_in_cached(CachedQuery(store.cache, memory, question), node.table)
        search = self.search(node.table, access, inside, Binding.IN_FRAME).search
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
        """A table as one side of a join.

        Args:
            table: its id.
            condition: of the join; None: every row matches.
            access: how its rows are found.
            builder: of the join's expressions; it reads the row from the event slot.
            slot: the event slot of the row.
            read: positions of the attributes that are read of what is found; None: all.
        """
        if table in self.stores:
            store = self.stores[table]
            asked = StoreSearchable(store.question(condition, access, builder, Binding.IN_SLOT, slot, read), slot)
            if store.cache is None:
                return self._metered(asked, table)
            mirror = store.mirror.searchable(table, condition, access, builder, slot)
            return self._metered(CachedSearchable(store.cache, mirror, asked), table)
        built = self.search(table, access, builder, Binding.IN_SLOT, slot)
        return self._metered(TableSearchable(built.search, slot), table)

    def _metered(self, search: Searchable, table: str) -> Searchable:
        search.meter = self._context.meter("Tables", table, "find")
        return search

    def rows(
        self, table: str, condition: TypedExpression | None, access: TableAccess, builder: ExpressionBuilder
    ) -> Searchable:
        """A table as what an on-demand query asks: the builder reads the row as the current event."""
        if table in self.stores:
            store = self.stores[table]
            asked = StoreSearchable(store.question(condition, access, builder, Binding.AS_EVENT), 0)
            if store.cache is None:
                return self._metered(asked, table)
            mirror = store.mirror.rows(table, condition, access, builder)
            return self._metered(CachedSearchable(store.cache, mirror, asked), table)
        return self._metered(TableSearchable(self.search(table, access, builder, Binding.AS_EVENT).search, 0), table)

    def search(
        self,
        table: str,
        access: TableAccess,
        builder: ExpressionBuilder,
        binding: Binding,
        row_slot: int = TABLE_SLOT,
    ) -> BuiltSearch:
        """Compile a condition over a table kept in memory.

        Args:
            table: its id.
            access: the condition, taken apart.
            builder: sees the row in ``row_slot`` where the binding puts it, and everything else.
            binding: where the row is read from.
            row_slot: the slot by which the condition calls the row.

        Raises:
            SiddhiAppCreationError: the condition aggregates.
        """
        plan = self._plans[table]
        if any(has_aggregate(part) for part in (*access.gates, *access.whole)):
            raise not_supported("aggregates in conditions over tables are", plan.span)
        lookup = access.lookup
        whole = _all_of(access.whole, builder)
        search = TableSearch(
            self._tables[table],
            None if lookup is None else build_access(self._tables[table], lookup, builder.build),
            _all_of(access.gates, builder),
            whole if access.rest == access.whole else _all_of(access.rest, builder),
            whole,
            int(binding),
            row_slot if binding is Binding.IN_SLOT else 0,
        )
        key: dict[int, TypedExpression] = {}
        if isinstance(lookup, KeyLookup) and not access.rest:
            key = dict(zip(plan.primary_key, lookup.values, strict=True))
        return BuiltSearch(search, key)


def chosen(access: TableAccess | None) -> TableAccess:
    """The access that a rule of the planner has filled in."""
    assert access is not None, "no rule has chosen how the rows of a table are found"
    return access


def _all_of(parts: tuple[TypedExpression, ...], builder: ExpressionBuilder) -> Executor | None:
    made: Executor | None = None
    for part in parts:
        executor = builder.build(part)
        made = executor if made is None else make_and(made, executor)
    return made
