"""On-demand queries on tables, named windows and aggregations."""

from __future__ import annotations

from siddhi._frozen import frozen
from siddhi.query_api.expression import Expression
from siddhi.query_api.selection import Output, Selector
from siddhi.query_api.span import Node

__all__ = ["OnDemandQuery", "StoreInput"]


@frozen
class StoreInput(Node):
    """``from store [as alias] [on condition] [within ... per ...]``."""

    store: str
    alias: str | None = None
    on: Expression | None = None
    within: tuple[Expression, ...] = ()
    per: Expression | None = None


@frozen(kw_only=True)
class OnDemandQuery(Node):
    """A find query has ``input`` and no ``output``; insert, update and delete queries have ``output`` and no ``input``."""

    input: StoreInput | None = None
    selector: Selector
    output: Output | None = None
