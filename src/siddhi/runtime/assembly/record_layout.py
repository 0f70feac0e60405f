"""Layouts of the records of one source: the stream's own, one widened by stream functions, that of the window."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi._core.query.entry import RecordCopier
from siddhi._core.record.event import EventPool, Layout
from siddhi.planner.plan.nodes import HandlerPlan, SingleInputPlan, StreamFunctionPlan
from siddhi.query_api.definition import Attribute
from siddhi.runtime.assembly.expressions import Cells
from siddhi.runtime.assembly.types import layout_of

__all__ = ["RecordLayout"]


class RecordLayout:
    """Location of attributes in the records at one point of the chain.

    Attributes:
        layout: layout of the record_layout.
        pool: pool of the record_layout; None: the stream owns it, so that the query may neither change nor retain it.
        cell_of: cell by attribute position; None: the cell number is the position.
    """

    def __init__(self, layout: Layout, pool: EventPool | None = None, cell_of: dict[int, int] | None = None) -> None:
        self.layout = layout
        self.pool = pool
        self.cell_of = cell_of

    @property
    def cells(self) -> Cells:
        """Cells for expressions evaluated here."""
        return Cells(self.layout, self.cell_of)

    def cell(self, position: int) -> int:
        """Return the cell of an attribute."""
        return position if self.cell_of is None else self.cell_of[position]

    def widened(self, input_: SingleInputPlan, handlers: Sequence[HandlerPlan]) -> tuple[RecordLayout, RecordCopier]:
        """Return the layout of the query's own records: every attribute, and those that the handlers append."""
        width = input_.source_width + len(appended_by(handlers))
        return self._next(input_, tuple(range(width)), ())

    def kept(self, input_: SingleInputPlan) -> tuple[RecordLayout, RecordCopier]:
        """Return the layout of the window: the attributes read after it, and those that the handlers there append."""
        return self._next(input_, input_.window_layout, appended_by(input_.after))

    def _next(
        self, input_: SingleInputPlan, positions: tuple[int, ...], added: tuple[Attribute, ...]
    ) -> tuple[RecordLayout, RecordCopier]:
        attributes = [input_.attributes[position] for position in positions] + list(added)
        pool = EventPool(layout_of(attributes))
        first_added = len(input_.attributes) - len(added)
        cell_of = {position: cell for cell, position in enumerate(positions)}
        cell_of |= {first_added + i: len(positions) + i for i in range(len(added))}
        sources = [self.cell(position) if position < self._width() else -1 for position in positions]
        copier = RecordCopier(self.layout, pool, [*sources, *[-1] * len(added)])
        return RecordLayout(pool.layout, pool, cell_of), copier

    def _width(self) -> int:
        """Return the number of attributes that exist here; later positions are appended further on."""
        return self.layout.width if self.cell_of is None else max(self.cell_of, default=-1) + 1


def appended_by(handlers: Sequence[HandlerPlan]) -> tuple[Attribute, ...]:
    """Return the attributes that stream functions among the handlers append, in order."""
    return tuple(
        attribute for handler in handlers if isinstance(handler, StreamFunctionPlan) for attribute in handler.appended
    )
