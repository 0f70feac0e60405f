"""Bind ``define aggregation``: choose the base values of a bucket, from which buckets can be merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.extension.metadata import FunctionMetadata, IncrementalAggregatorMetadata
from siddhi.planner.bind.aggregations.incremental import Base, at_positions, base_text, plan_incremental
from siddhi.planner.bind.aggregations.purge import plan_purge
from siddhi.planner.bind.aggregations.store import SHARD, plan_shard, plan_stores
from siddhi.planner.bind.aggregations.zone import system_zone
from siddhi.planner.bind.annotations import only
from siddhi.planner.bind.handlers import plan_handlers
from siddhi.planner.bind.limits import aggregation_limit
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.scope import SourceScope
from siddhi.planner.plan.aggregations import AggregationPlan, BaseKind, BaseValue, OutputKind, OutputValue
from siddhi.planner.plan.expressions import Attr
from siddhi.planner.plan.nodes import SingleInputPlan, SourceKind, TablePlan
from siddhi.planner.plan.walk import has_aggregate
from siddhi.planner.problems import (
    a_type,
    check_key,
    creation_error,
    duplicate_attribute,
    duplicate_definition,
    located,
    unknown_definition,
    unknown_extension,
    unsupported,
    unsupported_type,
)
from siddhi.query_api.definition import AggregationDefinition, Attribute, Duration
from siddhi.query_api.expression import FunctionCall, Variable
from siddhi.query_api.selection import OutputAttribute
from siddhi.query_api.span import Node, Span
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["TIMESTAMP", "plan_aggregation"]

TIMESTAMP = Attribute("AGG_TIMESTAMP", AttributeType.LONG)
"""The start (ms) of a bucket: the first attribute of every row."""

_EVENT_TIMESTAMP = Attribute("AGG_EVENT_TIMESTAMP", AttributeType.LONG)
_LAST_TIMESTAMP = Attribute("AGG_LAST_EVENT_TIMESTAMP", AttributeType.LONG)
_ORDER = tuple(Duration)


def plan_aggregation(catalog: Catalog, definition: AggregationDefinition) -> None:
    """Add an aggregation and its tables to the catalog.

    Raises:
        SiddhiAppError: the definition is invalid.
    """
    _check_annotations(definition)
    if catalog.is_taken(definition.id):
        raise duplicate_definition(f"'{definition.id}' is already defined", definition)
    scope, input_ = _input(catalog, definition)
    durations = _durations(definition)
    stored = _Stored(catalog, scope, definition)
    tables = tuple(f"{definition.id}_{duration.name}" for duration in durations)
    shard = plan_shard(catalog, definition)
    attributes = tuple(stored.attributes if shard is None else [TIMESTAMP, SHARD, *stored.attributes[1:]])
    stores = plan_stores(catalog, definition, tables, attributes)
    for table in tables:
        if catalog.is_taken(table):
            raise duplicate_definition(
                f"'{table}' is already defined, but aggregation '{definition.id}' needs this name for a table",
                definition,
            )
        times = [position for position, known in enumerate(attributes) if known in (TIMESTAMP, _EVENT_TIMESTAMP)]
        catalog.tables[table] = TablePlan(
            id=table,
            attributes=attributes,
            owner=definition.id,
            store=stores.get(table),
            store_indexes=tuple((position,) for position in times) if stores else (),
            objects=tuple(stored.objects),
            span=definition.span,
        )
    catalog.aggregations[definition.id] = AggregationPlan(
        id=definition.id,
        input=input_,
        by=stored.by,
        group_by=stored.group_by,
        stored=tuple(stored.attributes),
        first_group=stored.first_group,
        base_values=tuple(stored.base_values),
        last=stored.last,
        outputs=tuple(stored.outputs),
        attributes=(TIMESTAMP, *(output.attribute for output in stored.outputs)),
        durations=durations,
        tables=tables,
        zone=catalog.time_zone or system_zone(catalog.properties, definition),
        purge=plan_purge(definition, durations),
        shard=shard,
        extended=stored.extended,
        limit=aggregation_limit(definition, catalog, len(durations), stored=bool(stores)),
        span=definition.span,
    )


def _check_annotations(definition: AggregationDefinition) -> None:
    persisted = only(definition.annotations, "persistedAggregation")
    if persisted is not None and (persisted.element("enable") or "").strip().lower() != "false":
        location = located(persisted, definition)
        raise unsupported(
            "persisted aggregations (@persistedAggregation)",
            location,
            "remove it: @store keeps the rows of every duration",
        )
    key = only(definition.annotations, "PrimaryKey")
    if key is not None:
        raise creation_error(
            "E325",
            "@PrimaryKey is not allowed on an aggregation",
            located(key, definition),
            "remove it: bucket and group identify a row",
        )


def _input(catalog: Catalog, definition: AggregationDefinition) -> tuple[SourceScope, SingleInputPlan]:
    node = definition.input
    location = located(node, definition)
    stream = catalog.streams.get(node.source)
    if stream is None or node.is_inner or node.is_fault:
        error = unknown_definition("stream", node.source, catalog.streams, location)
        if node.source in catalog.tables or node.source in catalog.windows:
            error.hint = f"'{node.source}' is not a stream: an aggregation can read only streams"
        elif node.source in catalog.filled:
            error.hint = f"define stream '{node.source}': aggregations are planned before the query that fills it"
        raise error
    scope = SourceScope(node.source, stream.attributes, what=f"stream '{node.source}'", also=node.alias)
    handlers = plan_handlers(catalog, scope, node.handlers, place="in an aggregation")
    return scope, SingleInputPlan(
        source=node.source,
        kind=SourceKind.STREAM,
        attributes=tuple(scope.attributes),
        source_width=len(stream.attributes),
        before=tuple(handlers.before),
        alias=node.alias,
    )


def _durations(definition: AggregationDefinition) -> tuple[Duration, ...]:
    written = definition.durations
    if not definition.is_range:
        return tuple(duration for duration in _ORDER if duration in written)
    first, last = _ORDER.index(written[0]), _ORDER.index(written[1])
    if first >= last:
        raise creation_error(
            "E325",
            f"'{written[0].value} ... {written[1].value}' is not a valid range: the start must be finer than the end",
            definition,
            f"write 'every {written[1].value} ... {written[0].value}'"
            if first > last
            else f"write 'every {written[0].value}'",
        )
    return _ORDER[first : last + 1]


class _Stored:
    """Collects the attributes of the rows while the selection is bound."""

    def __init__(self, catalog: Catalog, scope: SourceScope, definition: AggregationDefinition) -> None:
        self._catalog = catalog
        self._resolve = Resolver(catalog, scope)
        self._id = definition.id
        self.by = self._by(scope, definition)
        self.attributes = [TIMESTAMP] if self.by is None else [TIMESTAMP, _EVENT_TIMESTAMP]
        check_key("'group by'", definition.selector.group_by, definition, others=1)
        self.group_by = tuple(self._group(scope, variable) for variable in definition.selector.group_by)
        self.first_group = len(self.attributes)
        for attr in self.group_by:
            self._add(Attribute(attr.name, attr.type), definition)
        self.base_values: list[BaseValue] = []
        self.outputs: list[OutputValue] = []
        self.objects: list[tuple[str, str, Span | None]] = []
        self.last: int | None = None
        self.extended = False
        self._known: dict[str, tuple[Base, int]] = {}
        selected = definition.selector.attributes or tuple(
            OutputAttribute(Variable(attribute.name)) for attribute in scope.attributes
        )
        for select in selected:
            self._select(select, located(select, definition))
        if self.by is not None and any(base.kind is BaseKind.LATEST for base in self.base_values):
            self.last = self._add(_LAST_TIMESTAMP, definition)

    def _by(self, scope: SourceScope, definition: AggregationDefinition) -> Attr | None:
        if definition.aggregate_by is None:
            return None
        attr = scope.attribute(definition.aggregate_by)
        if attr.type not in (AttributeType.LONG, AttributeType.STRING):
            raise unsupported_type(
                f"'aggregate by' of aggregation '{definition.id}' reads '{attr.name}', which is {a_type(attr.type)}",
                definition.aggregate_by,
                "it must be a long (ms since the epoch) or a string 'yyyy-MM-dd HH:mm:ss'",
            )
        return attr

    def _group(self, scope: SourceScope, variable: Variable) -> Attr:
        attr = scope.attribute(variable)
        if attr.type is AttributeType.OBJECT:
            raise unsupported_type(f"an aggregation can't group by '{attr.name}', which is an object", variable)
        return attr

    def _add(self, attribute: Attribute, at: Node) -> int:
        """Add a stored attribute and return its position."""
        if any(known.name == attribute.name for known in self.attributes):
            raise duplicate_attribute(
                f"duplicate attribute '{attribute.name}' in the rows of aggregation '{self._id}'",
                at,
                "rename one of them with 'as'",
            )
        self.attributes.append(attribute)
        return len(self.attributes) - 1

    def _select(self, select: OutputAttribute, at: Node) -> None:
        expression = select.expression
        if select.rename is not None:
            name = select.rename
        elif isinstance(expression, Variable):
            name = expression.name
        else:
            raise creation_error("E321", "an expression in select needs a name", at, "write <expression> as <name>")
        if name == TIMESTAMP.name or any(output.attribute.name == name for output in self.outputs):
            raise duplicate_attribute(f"duplicate output attribute '{name}'", at, "rename one of them with 'as'")
        if isinstance(expression, FunctionCall):
            aggregator = self._aggregator(expression, located(expression, at))
            if aggregator is not None:
                self._aggregate(name, aggregator, expression, at)
                return
        typed = self._resolve(expression)
        if isinstance(typed, Attr) and typed in self.group_by:
            position = self.first_group + self.group_by.index(typed)
            self._output(name, typed.type, OutputKind.STORED, position)
            return
        if has_aggregate(typed):
            raise creation_error(
                "E325",
                "an aggregation can't select an expression over aggregators",
                located(expression, at),
                "select the aggregators alone, and compute with them where the aggregation is read",
            )
        position = self._add(Attribute(name, typed.type), at)
        self.base_values.append(BaseValue(BaseKind.LATEST, typed, position))
        if typed.type is AttributeType.OBJECT:
            self.objects.append((name, f"'{name}'", at.span))
        self._output(name, typed.type, OutputKind.STORED, position)

    def _aggregator(self, call: FunctionCall, location: Node) -> IncrementalAggregatorMetadata | None:
        """Return the incremental aggregator that a top-level call names, or None for a function."""
        registry = self._catalog.registry
        name = call.name if call.namespace is None else f"{call.namespace}:{call.name}"
        found = registry.incremental_aggregator(call.namespace, call.name)
        if found is not None or registry.function(call.namespace, call.name) is not None:
            return found
        if registry.aggregator(call.namespace, call.name) is not None:
            raise creation_error(
                "E325",
                f"'{name}' can't be computed incrementally",
                location,
                f"an aggregation supports {', '.join(registry.names(IncrementalAggregatorMetadata))}, "
                "and keeps the latest value of any other expression",
            )
        if name not in self._catalog.functions:
            known = [*self._catalog.functions, *registry.names(FunctionMetadata, IncrementalAggregatorMetadata)]
            error = unknown_extension("function or incremental aggregator", name, known, location)
            kinds = (FunctionMetadata, IncrementalAggregatorMetadata)
            raise self._catalog.permissions.not_found(error, registry, name, *kinds)
        return None

    def _output(self, name: str, type_: AttributeType, kind: OutputKind, position: int, count: int = 0) -> None:
        self.outputs.append(OutputValue(Attribute(name, type_), kind, position, count))

    def _aggregate(self, name: str, aggregator: IncrementalAggregatorMetadata, call: FunctionCall, at: Node) -> None:
        self._catalog.note_use(aggregator)
        location = located(call, at)
        planned = plan_incremental(self._resolve, aggregator, call, location)
        self.extended |= aggregator.builtin is None
        positions: list[int] = []
        for base in planned.bases:
            first = self._base(base, location, aggregator.full_name)
            positions += range(first, first + len(base.cells))
        if planned.expression is None:
            count = positions[-1] if planned.kind is OutputKind.MEAN else 0
            self._output(name, planned.type, planned.kind, positions[0], count)
            return
        expression = at_positions(planned.expression, positions)
        if isinstance(expression, Attr):
            self._output(name, planned.type, OutputKind.STORED, expression.position)
        else:
            self.outputs.append(OutputValue(Attribute(name, planned.type), OutputKind.COMPUTED, expression=expression))

    def _base(self, base: Base, at: Node, owner: str) -> int:
        """Return the first position of a base value, which all aggregators that need it share."""
        name = base.cells[0].name
        if name in self._known:
            known, position = self._known[name]
            if known != base:
                raise creation_error(
                    "E325",
                    f"'{owner}' defines base attribute '{name}' as {base_text(base)}, but it is already {base_text(known)}",
                    at,
                    "rename one of the two base attributes",
                )
            return position
        positions = [self._add(cell, at) for cell in base.cells]
        self._known[name] = base, positions[0]
        self.base_values.append(BaseValue(base.kind, base.argument, positions[0]))
        for cell in base.cells:
            if cell.type is AttributeType.OBJECT:
                what = f"the distinct values of '{owner}'" if base.kind is BaseKind.DISTINCT else f"'{cell.name}'"
                self.objects.append((cell.name, what, at.span))
        return positions[0]
