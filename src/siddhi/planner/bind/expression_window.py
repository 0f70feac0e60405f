"""Bind the condition of an expression window: an expression inside a string.

It reads the current event (unqualified names), the oldest and newest buffered event (``first.x``, ``last.x``), and can
call aggregators over the events of the window.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.errors import SiddhiAppError, SiddhiParserError
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.scope import Scope, SourceScope, written_source
from siddhi.planner.plan.expressions import FIRST_SLOT, LAST_SLOT, Attr, TypedExpression
from siddhi.planner.problems import creation_error, out_of_scope
from siddhi.query_api.definition import Attribute
from siddhi.query_api.expression import Variable
from siddhi.query_api.span import Node, Span

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["plan_window_condition"]


def plan_window_condition(
    catalog: Catalog, attributes: Iterable[Attribute], text: str, at: Node | None = None
) -> TypedExpression:
    """Return the typed condition in ``text``, over events with these attributes.

    Args:
        at: the literal that contains the text; errors are located inside it.

    Raises:
        SiddhiAppCreationError: the text is not a condition over the attributes.
    """
    # Imported here: it loads the parse tables, which apps built from objects may not need.
    from siddhi.query_compiler import parse_expression

    try:
        return Resolver(catalog, _WindowScope(tuple(attributes))).condition(
            "the condition of a window", parse_expression(text)
        )
    except SiddhiParserError as error:
        location = _inside(at, error.span)
        raise creation_error("E322", f"invalid condition of the window: {error.message}", location) from error
    except SiddhiAppError as error:
        error.span = _inside(at, error.span)
        raise


class _WindowScope(Scope):
    """The current event, and the first and last event of the window."""

    def __init__(self, attributes: tuple[Attribute, ...]) -> None:
        what = "the events of the window"
        self._current = SourceScope(None, attributes, what=what)
        self._ends = {
            "first": SourceScope("first", attributes, what=what, slot=FIRST_SLOT),
            "last": SourceScope("last", attributes, what=what, slot=LAST_SLOT),
        }

    def find(self, name: str) -> Attr | None:
        return self._current.find(name)

    def attribute(self, variable: Variable) -> Attr:
        source = written_source(variable)
        if source is None:
            return self._current.attribute(variable)
        if source not in self._ends:
            raise out_of_scope(source, self._ends, variable)
        return self._ends[source].attribute(variable)

    def every_attribute(self) -> tuple[Attr, ...]:
        return self._current.every_attribute()

    def event_slot(self, reference: str) -> int | None:
        return self._ends[reference].slot if reference in self._ends else None

    @property
    def has_event_references(self) -> bool:
        return True


def _inside(at: Node | None, span: Span | None) -> Span | None:
    """Return the span in the app of a span inside the text of a one-line literal."""
    outer = None if at is None else at.span
    if outer is None or span is None or outer.line != outer.end_line or span.line != 1:
        return outer
    start = outer.column + 1 + span.column
    end = outer.column + 1 + span.end_column if span.end_line == 1 else outer.end_column
    if not start < outer.end_column:
        return outer
    return replace(outer, column=start, end_column=min(max(end, start + 1), outer.end_column))
