"""Stand-in for the planner's separability and fragments, until they are there."""

from __future__ import annotations

from dataclasses import dataclass

from siddhi.planner.expressions import Attr
from siddhi.planner.nodes import JoinPlan, PartitionPlan, Plan, QueryPlan, SingleInputPlan, SourceKind, ValueKeyPlan
from siddhi.query_api.span import Span


@dataclass(frozen=True)
class KeyExpression:
    text: str
    attribute: str | None
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class KeyPart:
    by: tuple[tuple[str, KeyExpression], ...]
    type: str


@dataclass(frozen=True)
class Element:
    name: str
    kind: str
    inputs: tuple[str, ...]
    tables: tuple[str, ...]
    outputs: tuple[str, ...]
    stateful: bool
    keys: tuple[KeyPart, ...] | None
    reason: str = ""
    span: Span | None = None
    chunk_sensitive: bool = False
    emits_chunks: bool = False
    deterministic: bool = True
    endless: str = ""
    carries: tuple[tuple[str, str, str], ...] = ()


def separability(plan: Plan) -> tuple[Element, ...]:
    found = [
        Element(
            name=w.id,
            kind="window",
            inputs=(w.id,),
            tables=(),
            outputs=(w.id,),
            stateful=True,
            keys=(),
            reason="a named window",
        )
        for w in plan.windows.values()
    ]
    found += [
        Element(
            name=a.id,
            kind="aggregation",
            inputs=(a.input.source,),
            tables=(),
            outputs=(a.id,),
            stateful=True,
            keys=(),
            reason="an aggregation",
        )
        for a in plan.aggregations.values()
    ]
    found += [
        Element(
            name=t.id,
            kind="trigger",
            inputs=(),
            tables=(),
            outputs=(t.id,),
            stateful=True,
            keys=(),
            reason="a trigger drives the clock",
            span=t.span,
        )
        for t in plan.triggers.values()
    ]
    for execution in plan.executions:
        if isinstance(execution, QueryPlan):
            found.append(_query(execution))
        else:
            found.append(_partition(execution))
    return tuple(found)


def _sides(query: QueryPlan) -> list[tuple[str, SourceKind]]:
    if isinstance(query.input, SingleInputPlan):
        return [(query.input.source, query.input.kind)]
    if isinstance(query.input, JoinPlan):
        return [(side.source, side.kind) for side in (query.input.left, query.input.right)]
    return [(slot.source, slot.kind) for slot in query.input.slots]


def _query(query: QueryPlan) -> Element:
    sides = _sides(query)
    inputs = tuple(dict.fromkeys(name for name, kind in sides if kind is not SourceKind.TABLE))
    tables = tuple(name for name, kind in sides if kind is SourceKind.TABLE)
    out = query.output
    stateless = (
        isinstance(query.input, SingleInputPlan)
        and query.input.window is None
        and not query.selector.has_aggregates
        and not query.selector.group_by
        and query.rate is None
    )
    if out.kind is SourceKind.TABLE:
        tables += (out.target,)
        stateless = False
    carries = tuple(
        (c.name, inputs[0], c.expression.name)
        for c in query.selector.columns
        if stateless and isinstance(c.expression, Attr)
    )
    return Element(
        name=query.name,
        kind="query",
        inputs=inputs,
        tables=tables,
        outputs=(out.target,) if out.kind is not SourceKind.TABLE else (),
        stateful=not stateless,
        keys=None if stateless else (),
        reason="" if stateless else "it looks at all rows",
        span=query.span,
        carries=carries,
        emits_chunks=not stateless,
        chunk_sensitive=query.selector.has_aggregates,
    )


def _partition(partition: PartitionPlan) -> Element:
    elements = [_query(q) for q in partition.queries]
    inputs = tuple(
        dict.fromkeys(
            n
            for e, q in zip(elements, partition.queries, strict=True)
            for n, k in _sides(q)
            if k not in (SourceKind.INNER, SourceKind.TABLE)
        )
    )
    values = [k for k in partition.keys if isinstance(k, ValueKeyPlan)]
    from siddhi.planner.expression_text import expression_text

    keys: tuple[KeyPart, ...] = ()
    if len(values) == len(partition.keys):
        keys = (
            KeyPart(
                tuple(
                    (
                        k.stream,
                        KeyExpression(
                            expression_text(k.expression, {}),
                            k.expression.name if isinstance(k.expression, Attr) else None,
                        ),
                    )
                    for k in values
                ),
                "string",
            ),
        )
    return Element(
        name=partition.name,
        kind="partition",
        inputs=inputs,
        tables=tuple(t for e in elements for t in e.tables),
        outputs=tuple(
            dict.fromkeys(
                q.output.target for q in partition.queries if q.output.kind not in (SourceKind.INNER, SourceKind.TABLE)
            )
        ),
        stateful=True,
        keys=keys,
        reason="" if values else "ranges may overlap",
        span=partition.span,
    )
