"""Typed expressions → executors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.aggregate.distinct import make as make_distinct
from siddhi._core.aggregate.python import make_python_aggregator
from siddhi._core.aggregate.sum import make as make_sum
from siddhi._core.expression.arithmetic import make_arithmetic, make_widen
from siddhi._core.expression.compare import make_comparison
from siddhi._core.expression.executor import (
    Executor,
    make_constant,
    make_event_timestamp,
    make_slot_is_null,
    make_variable,
)
from siddhi._core.expression.logic import make_and, make_is_null, make_not, make_or
from siddhi._core.expression.parameter import ParameterExecutor, make_parameter
from siddhi._core.expression.python import make_python_function
from siddhi._core.record.event import Layout
from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import (
    PARAMETER_SLOT,
    Aggregate,
    And,
    Arithmetic,
    Attr,
    Call,
    Comparison,
    Const,
    EventReference,
    InTable,
    IsNull,
    IsNullEvent,
    Not,
    Or,
    ScriptCall,
    TypedExpression,
    Widen,
)
from siddhi.planner.plan.walk import conjuncts, disjuncts
from siddhi.query_api.definition import FunctionDefinition
from siddhi.runtime.assembly.types import type_code
from siddhi.runtime.assembly.unsupported import not_supported
from siddhi.runtime.functions.builtin import make_builtin

__all__ = ["Cells", "ExpressionBuilder", "make_aggregator"]


@frozen
class Cells:
    """Location of the attributes of one event slot.

    Attributes:
        layout: layout of the record.
        cell_of: cell by attribute position; None: the cell number is the position.
        source: ``"event"`` (the current event), ``"output"``, ``"row"`` or the number of an event slot.
    """

    layout: Layout
    cell_of: Mapping[int, int] | None = None
    source: str | int = "event"

    def variable(self, position: int) -> Executor:
        """Make the executor that reads an attribute."""
        cell = position if self.cell_of is None else self.cell_of[position]
        return make_variable(self.layout, cell, self.source)


@dataclass(slots=True)
class ExpressionBuilder:
    """Builds the executors of one clause of a query.

    Attributes:
        slots: cells by event slot, including OUTPUT_SLOT and TABLE_SLOT.
        scripts: compiled ``define function`` bodies by name.
        removes: whether EXPIRED events can reach the aggregators.
        make_in: builds ``condition in table``; None: tables are not available here.
        aggregators: the aggregators made so far, in order of evaluation.
        parameters: the executors made so far of the parameters of an on-demand query, by position.
    """

    slots: Mapping[int, Cells]
    scripts: Mapping[str, Callable[..., object]]
    removes: bool = True
    make_in: Callable[[InTable, ExpressionBuilder], Executor] | None = None
    aggregators: list[Aggregator] = field(default_factory=list)
    parameters: list[list[ParameterExecutor]] = field(default_factory=list)

    def build(self, node: TypedExpression) -> Executor:
        """Build the executor of an expression."""
        chain: list[Widen | Arithmetic | Comparison] = []
        while isinstance(
            node, (Widen, Arithmetic, Comparison)
        ):  # a loop, so that thousands of operands need no recursion
            chain.append(node)
            node = node.operand if isinstance(node, Widen) else node.left
        made = self._build(node)
        while chain:
            step = chain.pop()
            if isinstance(step, Widen):
                made = make_widen(made, type_code(step.type))
            elif isinstance(step, Arithmetic):
                made = make_arithmetic(step.operator.value, made, self.build(step.right))
            else:
                made = make_comparison(step.operator.value, made, self.build(step.right))
        return made

    def _build(self, node: TypedExpression) -> Executor:
        """Build the executor of an expression other than arithmetic and comparisons."""
        match node:
            case Const():
                return make_constant(node.value, type_code(node.type))
            case Attr():
                return self._attribute(node)
            case And():
                return _combine(make_and, [self.build(part) for part in conjuncts(node)])
            case Or():
                return _combine(make_or, [self.build(part) for part in disjuncts(node)])
            case Not():
                return make_not(self.build(node.operand))
            case IsNull():
                return make_is_null(self.build(node.operand))
            case IsNullEvent():
                return self._is_null_event(node)
            case Call():
                return self._call(node)
            case ScriptCall():
                return self._script(node.definition, node.arguments)
            case Aggregate():
                return self._aggregate(node)
            case InTable():
                if self.make_in is None:
                    raise not_supported("'in' is here", None)
                return self.make_in(node, self)
        raise TypeError(f"no executor for {type(node).__name__}")

    def build_all(self, nodes: Sequence[TypedExpression]) -> tuple[Executor, ...]:
        """Build the executors of several expressions, in order."""
        built = []
        for node in nodes:
            built.append(self.build(node))  # noqa: PERF401 - a loop, not one more frame for each nested call
        return tuple(built)

    def with_slots(self, slots: Mapping[int, Cells]) -> ExpressionBuilder:
        """Return a builder with additional slots; both collect their aggregators in one list."""
        merged = {**self.slots, **slots}
        return ExpressionBuilder(merged, self.scripts, self.removes, self.make_in, self.aggregators, self.parameters)

    def _attribute(self, node: Attr) -> Executor:
        if node.slot == PARAMETER_SLOT:
            made = make_parameter(type_code(node.type))
            self.parameters[node.position].append(made)
            return made
        if node.index is not None:
            raise not_supported("indexed references to events are", None)
        return self.slots[node.slot].variable(node.position)

    def _is_null_event(self, node: IsNullEvent) -> Executor:
        cells = self.slots[node.slot]
        if isinstance(cells.source, int) and node.index is None:
            return make_slot_is_null(cells.source)
        # The event of a single input is never null.
        return make_constant(False, type_code(node.type))

    def _call(self, node: Call) -> Executor:
        function = node.function
        if function.builtin == "eventEnd":
            return make_constant(None, type_code(node.type))  # of a classical query
        if function.builtin == "eventTimestamp" and node.arguments:
            reference = node.arguments[0]
            if isinstance(reference, EventReference):
                source = self.slots[reference.slot].source
                return make_event_timestamp(source if isinstance(source, int) else None)
        arguments = self.build_all(node.arguments)
        if function.builtin is not None:
            return make_builtin(function, arguments, type_code(node.type))
        return make_python_function(function.implementation, arguments, type_code(node.type), function.full_name)

    def _script(self, definition: FunctionDefinition, arguments: Sequence[TypedExpression]) -> Executor:
        return make_python_function(
            self.scripts[definition.id], self.build_all(arguments), type_code(definition.return_type), definition.id
        )

    def _aggregate(self, node: Aggregate) -> Executor:
        arguments = self.build_all(node.arguments)
        aggregator = node.aggregator
        made: Aggregator
        if aggregator.builtin is not None:
            made = make_aggregator(aggregator.builtin, arguments, type_code(node.type), self.removes)
        elif hasattr(aggregator.implementation, "compiled") and (
            self.removes or not hasattr(aggregator.implementation, "without_removal")
        ):
            made = _compiled(aggregator.implementation.compiled, arguments)
        else:
            factory = aggregator.implementation
            if not self.removes:  # what needs no values of earlier events then keeps none
                factory = getattr(factory, "without_removal", factory)
            made = make_python_aggregator(factory, arguments, type_code(node.type), aggregator.full_name)
        self.aggregators.append(made)
        return made


def _compiled(name: str, arguments: tuple[Executor, ...]) -> Aggregator:
    """Make the compiled form of an aggregator of the library."""
    if name == "ema":
        from siddhi._core.aggregate.technical import make as make_indicator

        return make_indicator("plain ema", arguments)
    if name in ("first", "last"):
        from siddhi._core.aggregate.arrival import make as make_arrival

        return make_arrival(name, arguments[0])
    from siddhi._core.aggregate.ordered import make as make_ordered

    return make_ordered(name, arguments)


def make_aggregator(builtin: str, arguments: tuple[Executor, ...], type_: int, removes: bool = True) -> Aggregator:
    """Make a built-in aggregator.

    Args:
        builtin: its name in SiddhiQL.
        arguments: executors of its arguments.
        type_: :class:`TypeCode` of the result.
        removes: whether EXPIRED events can reach it; otherwise min and max keep only the extremum.
    """
    made: Aggregator
    if builtin in ("sum", "avg", "count"):
        made = make_sum(builtin, arguments)
    elif builtin in ("min", "max", "minForever", "maxForever"):
        from siddhi._core.aggregate.extremum import make as make_extremum

        made = make_extremum(builtin, arguments, removes)
    elif builtin in ("distinctCount", "unionSet"):
        made = make_distinct(builtin, arguments)
    elif builtin.startswith("ta:"):
        from siddhi._core.aggregate.technical import make as make_indicator

        made = make_indicator(builtin.removeprefix("ta:"), arguments)
    elif builtin in ("stdDev", "and", "or"):
        from siddhi._core.aggregate.statistics import make as make_statistics

        made = make_statistics(builtin, arguments)
    else:
        raise ValueError(f"unknown built-in aggregator '{builtin}'")
    if made.type != type_:
        raise TypeError(f"{made.description} has type {made.type}, not {type_}")
    return made


_FEW = 16


def _combine(join: Callable[[Executor, Executor], Executor], parts: list[Executor]) -> Executor:
    """Join operands into one executor that evaluates them from left to right; long chains become trees.

    A tree bounds the stack: executors call their operands, and each ``or`` over a block takes 4 KB of stack.
    """
    if len(parts) > _FEW:
        middle = len(parts) // 2
        return join(_combine(join, parts[:middle]), _combine(join, parts[middle:]))
    made = parts[0]
    for part in parts[1:]:
        made = join(made, part)
    return made
