"""Bind temporal queries: those that read only temporal streams and work on lifetimes. All others are classical."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.planner.bind.annotations import only
from siddhi.planner.bind.operators import widen
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.selection import output_attributes, plan_selector
from siddhi.planner.bind.temporal.keyed import keyed_match, without_key
from siddhi.planner.bind.temporal.scope import LifetimeNames, TemporalJoinScope, TemporalMatchScope, TemporalSourceScope
from siddhi.planner.bind.temporal.windows import plan_window
from siddhi.planner.plan.expressions import (
    Arithmetic,
    Attr,
    Call,
    Comparison,
    Const,
    InTable,
    TypedExpression,
    Widen,
)
from siddhi.planner.plan.graph import sources_of
from siddhi.planner.plan.nodes import PartitionPlan, QueryPlan, SelectorPlan, SourceKind, StreamOrigin
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.temporal import (
    END,
    FOREVER,
    LIFETIME_SLOT,
    TEMPORAL_WINDOWS,
    AlterLifetimePlan,
    AntiJoinPlan,
    ClipPlan,
    MatchPlan,
    ShiftPlan,
    TemporalFilterPlan,
    TemporalInputPlan,
    TemporalJoinPlan,
    TemporalQueryPlan,
    TemporalStepPlan,
    TemporalStreamPlan,
    WindowKind,
)
from siddhi.planner.plan.walk import conjuncts, has_aggregate, walk
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import MOST_OF_A_KEY, check_key, close_to, creation_error, located
from siddhi.query_api.expression import CompareOperator, Expression, FunctionCall, MathOperator, Variable
from siddhi.query_api.input import (
    Filter,
    Input,
    JoinInput,
    SingleInput,
    StreamFunction,
    Trigger,
    WindowHandler,
)
from siddhi.query_api.query import Query
from siddhi.query_api.selection import InsertInto, OutputEventType
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog, Source
    from siddhi.planner.bind.temporal.keyed import KeyedStreams

__all__ = ["plan_temporal_query", "warn_of_mixed_inputs"]

_OPERATORS = ("shift", "alterDuration", "alterLifetime", "toPoint", "clip", "clipByNext", "pointToSignal", "antiJoin")
_LONGS = (AttributeType.INT, AttributeType.LONG)


def plan_temporal_query(
    catalog: Catalog, query: Query, name: str, position: int, keyed: KeyedStreams | None = None
) -> TemporalQueryPlan | None:
    """Bind a query, or return None if it is classical.

    Args:
        position: index of the query, or of its partition, among the executions of the app.
        keyed: the streams with a key of its partition; None: it is outside partitions.

    Raises:
        SiddhiAppError: the query is temporal and invalid, or it mixes temporal and classical parts.
    """
    sides = _sides(query.input)
    temporal = [side for side in sides if _is_temporal(catalog, side)]
    forms = [form for side in sides for form in _temporal_forms(catalog, side)]
    if forms and len(temporal) < len(sides):
        classical = next(side for side in sides if side not in temporal)
        raise _mixed(forms[0], *_no_lifetimes(catalog, classical.source, f"stream '{classical.source}'"))
    if isinstance(query.input, JoinInput) and len(temporal) == 1 and not _reads_classical_state(catalog, query.input):
        other = next(side for side in sides if side not in temporal)
        if all(side.window is None for side in sides):
            raise creation_error(
                "E313",
                f"a join without windows needs two temporal streams, and stream '{other.source}' is classical",
                located(other, query),
                f"declare '{other.source}' with @temporal(...), or give both sides a window",
            )
    if not sides or len(temporal) < len(sides):
        return None
    reason = _classical_reason(catalog, query, sides, in_partition=keyed is not None)
    if reason is None:
        plan = _Binder(catalog, query, name, position, keyed).bound()
        if plan is not None:
            return plan
        reason = "it aggregates in a filter, or it aggregates, groups, orders or limits without a temporal window, or reads a table"
    if forms:
        raise _mixed(forms[0], f"the query is classical: {reason}", "do it in a second query on the output of this one")
    if isinstance(query.input, JoinInput) and all(side.window is None for side in sides):
        raise _classical_join(query, query.input, reason)
    return None


def warn_of_mixed_inputs(catalog: Catalog, executions: Iterable[QueryPlan | PartitionPlan]) -> None:
    """Record a warning for each query that reads a temporal stream, and a classical one that no query fills."""
    for execution in executions:
        for query in (execution,) if isinstance(execution, QueryPlan) else execution.queries:
            inputs = query.input.slots if isinstance(query.input, PatternPlan) else sources_of(query)
            named = (catalog.streams.get(one.source) for one in inputs if one.kind is SourceKind.STREAM)
            found = [stream for stream in named if stream is not None and stream.origin is not StreamOrigin.TRIGGER]
            temporal = [stream.id for stream in found if stream.temporal is not None]
            outside = [stream.id for stream in found if stream.temporal is None and stream.id not in catalog.filled]
            if temporal and outside:
                catalog.note(
                    AppWarning(
                        f"query '{query.name}' reads temporal stream '{temporal[0]}', whose events wait for a CTI, and classical "
                        f"stream '{outside[0]}', whose events don't: its results depend on the order of arrival",
                        query.span,
                        f"declare '{outside[0]}' with @temporal(model = 'point')",
                    )
                )


def _sides(node: Input) -> list[SingleInput]:
    if isinstance(node, SingleInput):
        return [node]
    return [node.left, node.right] if isinstance(node, JoinInput) else []


def _is_temporal(catalog: Catalog, side: SingleInput) -> bool:
    if side.is_inner:
        stream = None if catalog.inner is None else catalog.inner.get(f"#{side.source}")
    else:
        stream = None if side.is_fault or side.source in catalog.windows else catalog.streams.get(side.source)
    return stream is not None and stream.temporal is not None


def _temporal_forms(catalog: Catalog, side: SingleInput) -> Iterator[Node]:
    """Yield the handlers that only temporal streams have."""
    for handler in side.handlers:
        call = handler.call if isinstance(handler, (StreamFunction, WindowHandler)) else None
        if call is None:
            continue
        is_operator = isinstance(handler, StreamFunction) and call.namespace == "temporal"
        is_window = isinstance(handler, WindowHandler) and _is_window(catalog, call)
        if is_operator or is_window:
            yield located(call, handler)


def _is_window(catalog: Catalog, call: FunctionCall) -> bool:
    """Return whether a call names a temporal window, and no window of an extension."""
    return call.namespace is None and call.name in TEMPORAL_WINDOWS and catalog.registry.window(None, call.name) is None


def _mixed(at: Node, problem: str, hint: str) -> Exception:
    call = at if isinstance(at, FunctionCall) else None
    what = "a temporal operator" if call is None else f"'{call.name}' is a temporal operator"
    return creation_error("E313", f"{what}, and {problem}", at, hint)


def _no_lifetimes(catalog: Catalog, id_: str, what: str) -> tuple[str, str]:
    """Return why a source has no lifetimes, and what to do."""
    corrected = next((stream.id for stream in catalog.streams.values() if stream.correction is not None), None)
    if corrected is None:
        return f"{what} is classical", f"declare '{id_}' with @temporal(...)"
    own = id_ == corrected or (id_ in catalog.streams and catalog.streams[id_].correction is not None)
    why = (
        "has the policy 'correct', which"
        if own
        else f"is classical, in an app that corrects late events of '{corrected}'; this"
    )
    return (
        f"{what} {why} is for classical queries: its events have no lifetimes",
        "put the temporal queries into an app of their own, with policy 'error', 'drop' or 'adjust' and CTIs",
    )


def _classical_join(query: Query, join: JoinInput, reason: str) -> Exception:
    """Return the error of a join of lifetimes that is classical: windows that keep nothing give nothing."""
    at = located(join, query)
    if join.trigger is not Trigger.BOTH:
        return creation_error(
            "E313",
            "a join of temporal streams without windows can't be unidirectional: lifetimes decide when there is a result",
            at,
            "remove 'unidirectional', or give both sides a window, which makes the join classical",
        )
    return creation_error(
        "E313",
        f"a join of temporal streams without windows can't be classical, and this one is: {reason}",
        at,
        "insert the matches into a stream, and do it in a second query on that; or give both sides a window",
    )


def _reads_classical_state(catalog: Catalog, join: JoinInput) -> bool:
    """Return whether a side is a table, named window or aggregation."""
    return any(
        side.source in catalog.tables or side.source in catalog.windows or side.source in catalog.aggregations
        for side in (join.left, join.right)
    )


def _classical_reason(catalog: Catalog, query: Query, sides: list[SingleInput], *, in_partition: bool) -> str | None:
    """Return what makes a query on temporal streams classical, as far as its form says."""
    if query.rate is not None:
        return "it has an output rate"
    if (
        not isinstance(query.output, InsertInto)
        or (query.output.is_inner and not in_partition)
        or query.output.is_fault
    ):
        return "its output is not a stream"
    if not query.output.is_inner and query.output.target in {*catalog.tables, *catalog.windows}:
        return f"it inserts into '{query.output.target}', whose rows have no lifetimes"
    if query.output.event_type not in (None, OutputEventType.CURRENT):
        return "it selects expired events"
    for side in sides:
        for handler in side.handlers:
            if isinstance(handler, WindowHandler) and handler.call.name not in TEMPORAL_WINDOWS:
                return f"it has the classical window '{handler.call.name}'"
            if isinstance(handler, StreamFunction) and handler.call.namespace != "temporal":
                return f"it has the stream function '{handler.call.name}'"
    if isinstance(query.input, JoinInput) and (
        any(side.window is not None for side in sides) or query.input.trigger is not Trigger.BOTH
    ):
        return "its join has a window or is unidirectional"
    return None


class _Binder:
    """Binds one temporal query."""

    def __init__(self, catalog: Catalog, query: Query, name: str, position: int, keyed: KeyedStreams | None) -> None:
        self._keyed = keyed
        self._after: list[TypedExpression] = []  # filters behind the window
        self._catalog = catalog
        self._query = query
        self._name = name
        self._position = position

    def bound(self) -> TemporalQueryPlan | None:
        """Return the plan; None: the query is classical."""
        query = self._query
        join = None
        window: WindowHandler | None = None
        scope: TemporalSourceScope | TemporalJoinScope
        if isinstance(query.input, JoinInput):
            sides = [self._side(side, slot) for slot, side in enumerate((query.input.left, query.input.right))]
            scope = TemporalJoinScope([side for side, _ in sides])
            condition = (
                None if query.input.on is None else Resolver(self._catalog, scope).condition("'on'", query.input.on)
            )
            inputs = tuple(plan for _, plan in sides)
            join = TemporalJoinPlan(query.input.type, keyed_match(_match(condition), *(plan.key for plan in inputs)))
        else:
            assert isinstance(query.input, SingleInput)
            window = query.input.window
            source, plan = self._side(query.input, 0)
            scope = source.seeing(LifetimeNames(end=window is None, window=window is not None))
            inputs = (plan,)
        assert isinstance(query.output, InsertInto)
        selector = plan_selector(
            self._catalog, scope, query.selector, label=query.output.target, several_inputs=join is not None, at=query
        )
        of_inputs = [*_expressions(inputs, join), *self._after]
        if any(has_aggregate(expression) for expression in of_inputs):
            return None
        expressions = [*selector.expressions(), *of_inputs]
        if any(isinstance(node, InTable) for expression in expressions for node in walk(expression)):
            return None
        self._refuse_clock(expressions)
        if selector.offset is not None:
            raise creation_error(
                "E326", "'offset' in a temporal query is not supported yet", located(query.selector, query), "remove it"
            )
        key = None if self._keyed is None else self._keyed.key_of(inputs, join, located(query.input, query))
        planned = None
        if window is not None:
            assert isinstance(query.input, SingleInput)
            fixed = frozenset[int]() if self._keyed is None else self._keyed.fixed(query.input)
            planned, selector = plan_window(self._catalog, scope, window, selector, query, tuple(self._after), fixed)
            if key is not None:
                assert isinstance(key, Attr)
                planned = replace(planned, group_by=(*planned.group_by, key.position))
            if self._keyed is not None and planned.kind is WindowKind.COUNT_BY_START:
                self._keyed.has_idle_state = True
                planned = replace(planned, purge=self._keyed.purge)
        elif selector.has_aggregates or selector.group_by or selector.order_by or selector.limit is not None:
            return None
        self._refuse_annotations()
        target, is_inner = self._target(selector)
        if is_inner and self._keyed is not None and key is not None:
            target, selector = self._keyed.id_of(target), self._keyed.with_key(selector, key)
        return TemporalQueryPlan(
            name=self._name,
            position=self._position,
            inputs=inputs,
            join=join,
            window=planned,
            selector=selector,
            target=target,
            reads_end=_reads_end(selector.expressions()),
            annotations=query.annotations,
            span=query.span,
        )

    def _side(self, node: SingleInput, slot: int) -> tuple[TemporalSourceScope, TemporalInputPlan]:
        """Bind the handlers of a stream before its window."""
        source = self._catalog.source(node.source, node, is_inner=node.is_inner)
        plan = self._input(source)
        own = TemporalSourceScope(source.label, source.attributes, what=source.what, also=node.alias)
        steps: list[TemporalStepPlan] = []
        seen_window = False
        for handler in node.handlers:
            if isinstance(handler, WindowHandler):
                if seen_window:
                    raise creation_error("E314", "a stream can have at most one window in a query", handler)
                seen_window = True
            elif isinstance(handler, Filter):
                condition = Resolver(self._catalog, own).condition("a filter", handler.condition, handler)
                if seen_window:
                    self._after.append(condition)
                else:
                    steps.append(TemporalFilterPlan(condition))
            else:
                assert isinstance(handler, StreamFunction)
                at = located(handler.call, handler)
                if seen_window:
                    raise creation_error(
                        "E326",
                        f"'temporal:{handler.call.name}' behind a window has no meaning: results get their lifetimes from the window",
                        at,
                        "write it before the window, or in a second query on the output of this one",
                    )
                steps += self._operator(handler.call, at, own, plan)
        label = node.alias if node.alias is not None else source.label
        scope = TemporalSourceScope(label, source.attributes, what=source.what, slot=slot)
        return scope, replace(plan, steps=tuple(steps))

    def _input(self, source: Source) -> TemporalInputPlan:
        """Return a stream without steps."""
        if self._keyed is None:
            return TemporalInputPlan(source.label, source.attributes)
        stream, attributes, key = self._keyed.resolve(source)
        return TemporalInputPlan(stream, attributes, key=key)

    def _operator(
        self, call: FunctionCall, at: Node, scope: TemporalSourceScope, left: TemporalInputPlan
    ) -> list[TemporalStepPlan]:
        """Bind one ``#temporal:`` handler of a stream."""
        arguments = call.arguments
        if call.name == "shift":
            self._count(call, at, 1)
            return [ShiftPlan(self._constant(call, arguments[0], at, scope))]
        if call.name == "toPoint":
            self._count(call, at, 0)
            return [AlterLifetimePlan(None, Const(AttributeType.LONG, 1), reads_end=False)]
        if call.name == "alterDuration":
            self._count(call, at, 1)
            return [self._alter(None, arguments[0], scope, at)]
        if call.name == "alterLifetime":
            self._count(call, at, 2)
            return [self._alter(arguments[0], arguments[1], scope, at)]
        if call.name in ("clipByNext", "pointToSignal"):
            check_key("a key", arguments, at, others=left.key is not None)
            clip = ClipPlan(keyed_match(self._own_keys(arguments, scope), left.key, left.key), None)
            return [self._signal(), clip] if call.name == "pointToSignal" else [clip]
        if call.name in ("clip", "antiJoin"):
            return [self._against(call, at, scope, left)]
        raise creation_error(
            "E302",
            f"unknown temporal operator 'temporal:{call.name}'",
            at,
            close_to(call.name, _OPERATORS) or f"the operators are {', '.join(_OPERATORS)}",
        )

    def _signal(self) -> AlterLifetimePlan:
        """Return the lifetime of a reading that is the last one of its key: without end, or until the key is idle."""
        if self._keyed is None or self._keyed.purge is None:
            return AlterLifetimePlan(None, None, reads_end=False)
        self._keyed.has_idle_state = True
        return AlterLifetimePlan(None, Const(AttributeType.LONG, self._keyed.purge.idle_period_ms), reads_end=False)

    def _alter(
        self, start: Expression | None, duration: Expression, scope: TemporalSourceScope, at: Node
    ) -> AlterLifetimePlan:
        new_start = None if start is None else self._long(Resolver(self._catalog, scope)(start), start, at)
        if new_start is not None and any(
            isinstance(node, Attr) and node.slot != LIFETIME_SLOT for node in walk(new_start)
        ):
            raise creation_error(
                "E303",
                "the new start can be computed from eventStart() only",
                located(start or at, at),
                "CTIs move with it",
            )
        resolver = Resolver(self._catalog, scope.seeing(LifetimeNames(end=True)))
        length = self._long(resolver(duration), duration, at)
        reads_end = _reads_end([length])
        infinite = isinstance(length, Const) and length.value == FOREVER
        return AlterLifetimePlan(new_start, None if infinite else length, reads_end, at.span)

    def _own_keys(self, arguments: tuple[Expression, ...], scope: TemporalSourceScope) -> MatchPlan:
        keys = []
        for argument in arguments:
            key = Resolver(self._catalog, scope)(argument)
            if not isinstance(key, Attr) or key.slot == LIFETIME_SLOT:
                raise creation_error(
                    "E303", "a key must be an attribute of the stream", argument, "write clipByNext(id)"
                )
            keys.append(key.position)
        return MatchPlan(tuple(keys), tuple(keys))

    def _against(
        self, call: FunctionCall, at: Node, scope: TemporalSourceScope, left: TemporalInputPlan
    ) -> TemporalStepPlan:
        arguments = call.arguments
        if len(arguments) not in (1, 2) or not isinstance(arguments[0], Variable) or arguments[0].source is not None:
            raise creation_error(
                "E303",
                f"temporal:{call.name}() takes a stream and a condition",
                at,
                f"write #temporal:{call.name}(B, id == B.id)",
            )
        # An argument can't be written with '#', so an inner stream is meant where no other source has the name.
        name, inner = arguments[0].name, self._catalog.inner or {}
        is_inner = f"#{name}" in inner and not self._catalog.is_taken(name)
        other = self._catalog.source(name, located(arguments[0], at), is_inner=is_inner)
        stream = (inner if is_inner else self._catalog.streams).get(other.label)
        if other.kind not in (SourceKind.STREAM, SourceKind.INNER) or stream is None or stream.temporal is None:
            problem, hint = _no_lifetimes(self._catalog, other.label, other.what)
            raise creation_error(
                "E313",
                f"temporal:{call.name}() needs a temporal stream, and {problem}",
                located(arguments[0], at),
                hint,
            )
        condition = None
        if len(arguments) == 2:
            right = TemporalSourceScope(name, other.attributes, what=other.what, slot=1)
            rows = TemporalSourceScope(scope.label, scope.attributes, what=scope.what, also=scope.also)
            resolver = Resolver(self._catalog, TemporalMatchScope(rows, right))
            condition = resolver.condition("the condition", arguments[1], at)
        against = self._input(other)
        if left.key is None and against.key is not None:
            raise without_key(left.source, at)
        match = keyed_match(_match(condition), left.key, against.key)
        if call.name == "clip":
            return ClipPlan(match, against.source, against.attributes)
        return AntiJoinPlan(match, against.source, against.attributes)

    def _long(self, expression: TypedExpression, written: Expression, at: Node) -> TypedExpression:
        if expression.type not in _LONGS:
            raise creation_error(
                "E303", f"a time must be an int or a long in milliseconds, not {expression.type}", located(written, at)
            )
        return widen(expression, AttributeType.LONG)

    def _constant(self, call: FunctionCall, argument: Expression, at: Node, scope: TemporalSourceScope) -> int:
        value = _folded(Resolver(self._catalog, scope)(argument))
        if value is None:
            raise creation_error(
                "E303", f"temporal:{call.name}() takes a constant time", located(argument, at), "write shift(15 min)"
            )
        return value

    @staticmethod
    def _count(call: FunctionCall, at: Node, count: int) -> None:
        if len(call.arguments) != count:
            raise creation_error(
                "E303",
                f"temporal:{call.name}() takes {count} argument{'' if count == 1 else 's'}, not {len(call.arguments)}",
                at,
            )

    def _refuse_clock(self, expressions: Iterable[TypedExpression]) -> None:
        for expression in expressions:
            for node in walk(expression):
                if isinstance(node, Call) and node.function.reads_clock:
                    raise creation_error(
                        "E303",
                        f"'{node.function.full_name}' reads the clock, which temporal queries do not have",
                        self._query,
                        "use eventStart()",
                    )

    def _refuse_annotations(self) -> None:
        for annotation in self._query.annotations:
            if annotation.name.lower() == "limit":
                raise creation_error(
                    "E326",
                    "@limit of a temporal query is not supported yet",
                    located(annotation, self._query),
                    "bound lifetimes with alterDuration or clip",
                )
        only(self._query.annotations, "info")

    def _target(self, selector: SelectorPlan) -> tuple[str, bool]:
        """Return the stream of the output, and whether it is an inner one; define it, or check that it is temporal."""
        output = self._query.output
        assert isinstance(output, InsertInto)
        at = located(output, self._query)
        inner = self._catalog.inner if output.is_inner else None
        streams = self._catalog.streams if inner is None else inner
        known = (output.target if inner is None else f"#{output.target}") in streams
        kind, label = self._catalog.insert_target(
            output.target, output_attributes(selector.columns), at, is_inner=output.is_inner
        )
        assert kind in (SourceKind.STREAM, SourceKind.INNER)  # others make the query classical
        stream = streams[label]
        if stream.temporal is None and known:
            raise creation_error(
                "E313",
                f"the query is temporal, and stream '{label}' is classical",
                at,
                f"define '{label}' with @temporal(...), or leave the definition out",
            )
        if stream.temporal is None:
            streams[label] = replace(stream, temporal=TemporalStreamPlan())
        if stream.sources:
            raise creation_error(
                "E313",
                f"temporal stream '{label}' has a source: no query can insert into it",
                at,
                "receive into another stream, and write a second query from it into this one",
            )
        own = (f"#{side.source}" if side.is_inner else side.source for side in _sides(self._query.input))
        if label in own:
            raise creation_error(
                "E313", f"a temporal query can't insert into its own input '{label}'", at, "use another name"
            )
        return label, kind is SourceKind.INNER


def _expressions(inputs: tuple[TemporalInputPlan, ...], join: TemporalJoinPlan | None) -> Iterator[TypedExpression]:
    """Yield the expressions of the steps and of the join."""
    matches = [] if join is None else [join.match]
    for plan in inputs:
        for step in plan.steps:
            if isinstance(step, TemporalFilterPlan):
                yield step.condition
            elif isinstance(step, AlterLifetimePlan):
                yield from (each for each in (step.start, step.duration) if each is not None)
            elif isinstance(step, (ClipPlan, AntiJoinPlan)):
                matches.append(step.match)
    yield from (match.condition for match in matches if match.condition is not None)


def _reads_end(expressions: Iterable[TypedExpression]) -> bool:
    """Return whether an expression reads the end of a lifetime."""
    nodes = (node for expression in expressions for node in walk(expression))
    return any(isinstance(node, Attr) and node.slot == LIFETIME_SLOT and node.position == END for node in nodes)


def _match(condition: TypedExpression | None) -> MatchPlan:
    """Return the keys of an equi-join, as many as a key can have; the condition stays whole, since null equals nothing."""
    pairs = []
    for part in conjuncts(condition):
        if (
            isinstance(part, Comparison)
            and part.operator is CompareOperator.EQUAL
            and isinstance(part.left, Attr)
            and isinstance(part.right, Attr)
            and part.left.type is part.right.type
            and {part.left.slot, part.right.slot} == {0, 1}
        ):
            left, right = (part.left, part.right) if part.left.slot == 0 else (part.right, part.left)
            pairs.append((left.position, right.position))
    del pairs[MOST_OF_A_KEY - 1 :]  # and the key of a partition
    return MatchPlan(tuple(left for left, _ in pairs), tuple(right for _, right in pairs), condition)


def _folded(expression: TypedExpression) -> int | None:
    """Return the value of a constant expression of whole numbers, or None."""
    if isinstance(expression, Const) and expression.type in _LONGS:
        return int(expression.value)
    if isinstance(expression, Widen):
        return _folded(expression.operand)
    if isinstance(expression, Arithmetic) and expression.type in _LONGS:
        left, right = _folded(expression.left), _folded(expression.right)
        if left is None or right is None:
            return None
        if expression.operator is MathOperator.ADD:
            return left + right
        if expression.operator is MathOperator.SUBTRACT:
            return left - right
        if expression.operator is MathOperator.MULTIPLY:
            return left * right
    return None
