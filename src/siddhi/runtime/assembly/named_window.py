"""Named window plan → input junction, window, and output junction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from siddhi._core.expression.logic import make_and
from siddhi._core.query.entry import QueryEntry, RecordCopier
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.lookup import Searchable
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.window.batch import BatchWindow
from siddhi._core.window.lookup import EventIndex, IndexProbe, NumberedEvents, RangeProbe, WindowScan
from siddhi._core.window.named import WindowPublisher
from siddhi.planner.plan.access import JoinLookup, WindowEqualityLookup, WindowRangeLookup, attribute_of
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.nodes import NamedWindowPlan
from siddhi.planner.plan.walk import calls_python
from siddhi.query_api.selection import OutputEventType
from siddhi.runtime.assembly.chain import ALL_BITS
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.types import layout_of
from siddhi.runtime.assembly.unsupported import not_supported
from siddhi.runtime.assembly.windows import WindowSite, build_window

__all__ = ["BuiltNamedWindow"]


class BuiltNamedWindow:
    """One named window: queries insert into ``input``; readers and callbacks subscribe to ``output``; joins and on-demand
    queries :meth:`search` it. It is shared by all partition keys.

    Args:
        plan: the window.
        context: the app's context.
        pool: pool of the inserted records, shared with streams of the same types.
        scripts: compiled ``define function`` bodies by name.

    Attributes:
        stateful: its operators with state, by name.
    """

    def __init__(
        self,
        plan: NamedWindowPlan,
        context: AppContext,
        pool: EventPool,
        scripts: Mapping[str, Callable[..., object]] | None = None,
    ) -> None:
        self.plan = plan
        self.layout: Layout = layout_of(plan.attributes)
        self.input = StreamJunction(context, plan.id, self.layout, pool)
        # Records of its own: expiry and numbering change them, which is not allowed for records of a stream.
        own = EventPool(self.layout)
        self.output = StreamJunction(context, plan.id, self.layout, own)
        self._window = build_window(
            plan.window,
            WindowSite(
                context,
                own,
                {position: position for position in range(self.layout.width)},
                stamps=True,
                keeps_expired=True,
                span=plan.span,
                scripts=scripts or {},
            ),
        )
        self._publisher = WindowPublisher(
            context,
            self.output,
            plan.output is not OutputEventType.EXPIRED,
            plan.output is not OutputEventType.CURRENT,
        )
        self._window.next = self._publisher
        self._numbered: NumberedEvents | None = None
        self._finding = context.meter("Windows", plan.id, "find")
        self._indexes: dict[tuple[tuple[str, int], ...], EventIndex] = {}
        copier = RecordCopier(self.layout, own, list(range(self.layout.width)))
        self.entry = QueryEntry(context, (), copier, self._window, self.input, ALL_BITS)
        self.input.subscribe(self.entry)
        self.stateful: dict[str, Processor] = {"publisher": self._publisher, "window": self._window}
        self._window.make_state(0)

    def search(
        self,
        on: TypedExpression | None,
        lookup: JoinLookup | None,
        slot: int,
        builder: ExpressionBuilder,
        filters: Sequence[TypedExpression] = (),
        *,
        tells: bool = True,
    ) -> Searchable:
        """Build a search of the window's events.

        Args:
            on: the condition; None: every event matches.
            lookup: the access; None: a scan.
            slot: event slot of the window's events in ``on``.
            builder: has the cells of all slots; ``slot`` is a numbered event slot.
            filters: further conditions over the window's event alone, which they read in slot 0.
            tells: a batch window notes the search, which changes the timestamps of expired events: as joins do in Siddhi.

        Raises:
            SiddhiAppCreationError: this kind of window can't be searched.
        """
        if not self._window.is_searchable:
            raise not_supported(f"searching the window '{self.plan.window.window.full_name}' is", self.plan.span)
        row_slot = builder.slots[slot].source
        if not isinstance(row_slot, int):
            raise TypeError("the slot of a window's event must be numbered")
        own = ExpressionBuilder({0: Cells(self.layout, source=row_slot)}, builder.scripts, make_in=builder.make_in)
        conditions = list(own.build_all(filters))
        residual = lookup.residual if isinstance(lookup, WindowEqualityLookup) else on
        if residual is not None:
            conditions.insert(0, builder.build(residual))
        condition = reduce(make_and, conditions) if conditions else None
        python = any(calls_python(part) for part in (residual, *filters) if part is not None)
        if isinstance(lookup, WindowEqualityLookup):
            numbered, index = self._index(lookup.key)
            return self._metered(
                IndexProbe(numbered, index, builder.build_all(lookup.probe), row_slot, condition, python)
            )
        tells = tells and isinstance(self._window, BatchWindow)
        scan = WindowScan(self._window, row_slot, condition, shared=True, tells=tells, calls_python=python)
        if not isinstance(lookup, WindowRangeLookup) or condition is None:
            return self._metered(scan)
        numbered, index = self._index((lookup.key,))
        bounds = tuple((builder.build(bound.value), bound.is_low, bound.inclusive) for bound in lookup.bounds)
        return self._metered(RangeProbe(numbered, index, bounds, row_slot, condition, scan, python))

    def _metered(self, search: Searchable) -> Searchable:
        search.meter = self._finding
        return search

    def _index(self, key: tuple[TypedExpression, ...]) -> tuple[NumberedEvents, EventIndex]:
        """Return the index of a key; searches by the same key share it."""
        if self._numbered is None:
            self._numbered = NumberedEvents(self._window, isinstance(self._window, BatchWindow), shared=True)
            self._publisher.hold(self._numbered)
        attributes = [attribute_of(part) for part in key]
        name = tuple((str(part.type), attribute.position) for part, attribute in zip(key, attributes, strict=True))
        index = self._indexes.get(name)
        if index is None:
            cells = Cells(self.layout, source=0)
            parts = ExpressionBuilder(dict.fromkeys((a.slot for a in attributes), cells), {}).build_all(key)
            index = EventIndex(parts, 0, False)
            self._indexes[name] = index
            self._numbered.add_index(index)
        return self._numbered, index
