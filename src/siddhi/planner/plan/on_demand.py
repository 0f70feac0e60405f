"""The plan of an on-demand query: a find in a table, named window or aggregation, or a change of a table."""

from __future__ import annotations

from siddhi._frozen import field, frozen
from siddhi.planner.plan.access import TableAccess
from siddhi.planner.plan.aggregations import AggregationReadPlan
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.nodes import OutputPlan, SelectionOperator, SelectorPlan, SourceKind
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Span
from siddhi.types import AttributeType

__all__ = ["OnDemandPlan", "ParameterPlan"]


@frozen
class ParameterPlan:
    """A parameter, ``:name``: its values have this type."""

    name: str
    type: AttributeType
    span: Span | None = field(default=None, compare=False, shown=False)


@frozen(kw_only=True)
class OnDemandPlan:
    """Either a find (``store`` and ``kind`` set, no ``output``) or a change of a table (``output`` set).

    The condition of a find reads the row of a table in TABLE_SLOT, or the event of a window or aggregation in slot 0. The
    selection of a find reads slot 0. The selection of a change computes the one event of its output; ``has_event`` is False
    without a selection.

    Attributes:
        access: how a find in a table finds its rows; None for other queries.
        selection: the operator of the selection.
        parameters: the parameters, in the order of their positions in PARAMETER_SLOT.
    """

    store: str | None = None
    kind: SourceKind | None = None
    attributes: tuple[Attribute, ...] = ()
    condition: TypedExpression | None = None
    reading: AggregationReadPlan | None = None
    selector: SelectorPlan
    output: OutputPlan | None = None
    has_event: bool = True
    access: TableAccess | None = None
    selection: SelectionOperator = SelectionOperator.SELECTOR
    parameters: tuple[ParameterPlan, ...] = ()
