"""Scopes of temporal queries: names of attributes, and the functions of lifetimes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.extension.metadata import AggregatorMetadata, FunctionMetadata
from siddhi.planner.bind.scope import MultiScope, SourceScope
from siddhi.planner.plan.expressions import Aggregate, Attr, Call, Const, TypedExpression
from siddhi.planner.plan.temporal import END, FOREVER, LIFETIME_SLOT, RANK, START
from siddhi.planner.problems import a_type, creation_error
from siddhi.query_api.expression import Constant, FunctionCall, Variable
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.resolver import Resolver

__all__ = ["LifetimeNames", "TemporalJoinScope", "TemporalMatchScope", "TemporalSourceScope", "TimeWeightedAvg"]

_LONGS = (AttributeType.INT, AttributeType.LONG)


def _floor(time: int, grid: int) -> int:
    return max(time // grid * grid, -FOREVER - 1)


def _ceil(time: int, grid: int) -> int:
    return min(-(-time // grid) * grid, FOREVER)


_GRID = {
    name: FunctionMetadata(namespace="temporal", name=name, implementation=function, returns=AttributeType.LONG)
    for name, function in (("floor", _floor), ("ceil", _ceil))
}
TimeWeightedAvg = {
    covered: AggregatorMetadata(
        namespace="temporal",
        name="timeWeightedAvg",
        builtin="timeWeightedAvgCovered" if covered else "timeWeightedAvg",
        returns=AttributeType.DOUBLE,
    )
    for covered in (False, True)
}
"""The aggregator: over the window, and (True) over the time that values cover."""


class LifetimeNames:
    """The functions of lifetimes that can be called in one clause.

    Args:
        end: whether the end is known.
        window: whether the clause is the selection of a temporal window.
        join: whether it belongs to a join.
    """

    def __init__(self, *, end: bool = False, window: bool = False, join: bool = False) -> None:
        self._end = end
        self._window = window
        self._selects = window or join

    def call(self, resolve: Resolver, node: FunctionCall) -> TypedExpression | None:
        """Return the call of a function of lifetimes, or None if it is none.

        Raises:
            SiddhiAppCreationError: the function can't be called here, or has other arguments.
        """
        name = node.name if node.namespace is None else f"{node.namespace}:{node.name}"
        if name in ("eventStart", "eventTimestamp") and not node.arguments:
            return Attr(AttributeType.LONG, LIFETIME_SLOT, START, "eventStart()")
        if name == "eventEnd":
            _require(node, 0)
            if not self._end:
                raise creation_error(
                    "E303",
                    "eventEnd() can be read in the duration of alterDuration and alterLifetime, and in the selection of a query "
                    "without window and join only: elsewhere the end may still move",
                    node,
                    "select it in a second query on the output of this one"
                    if self._selects
                    else "receive the ends with runtime.add_temporal_callback()",
                )
            return Attr(AttributeType.LONG, LIFETIME_SLOT, END, "eventEnd()")
        if node.namespace != "temporal":
            return None
        if node.name == "infinity":
            _require(node, 0)
            return Const(AttributeType.LONG, FOREVER)
        if node.name in _GRID:
            return self._on_grid(resolve, node)
        if node.name in ("rank", "timeWeightedAvg") and not self._window:
            raise creation_error(
                "E303",
                f"{name}() belongs to a temporal window",
                node,
                "add #window.snapshot(), #window.tumbling(...) or #window.hopping(...)",
            )
        if node.name == "rank":
            _require(node, 0)
            return Attr(AttributeType.LONG, LIFETIME_SLOT, RANK, "temporal:rank()")
        if node.name == "timeWeightedAvg":
            return self._time_weighted(resolve, node)
        return None

    def _on_grid(self, resolve: Resolver, node: FunctionCall) -> TypedExpression:
        _require(node, 2)
        time, grid = (resolve(argument) for argument in node.arguments)
        if time.type not in _LONGS or not isinstance(grid, Const) or grid.type not in _LONGS or int(grid.value) <= 0:
            raise creation_error(
                "E303",
                f"temporal:{node.name}() takes a time and a positive constant, in milliseconds",
                node,
                f"write temporal:{node.name}(eventStart(), 1 hour)",
            )
        return Call(AttributeType.LONG, _GRID[node.name], (time, grid))

    def _time_weighted(self, resolve: Resolver, node: FunctionCall) -> TypedExpression:
        if len(node.arguments) not in (1, 2):
            _require(node, 1)
        argument = resolve(node.arguments[0])
        if not argument.type.is_numeric:
            raise creation_error(
                "E303", f"temporal:timeWeightedAvg() takes a number, not {a_type(argument.type)}", node
            )
        mode = node.arguments[1] if len(node.arguments) == 2 else Constant("window", AttributeType.STRING)
        if not isinstance(mode, Constant) or mode.value not in ("window", "covered"):
            raise creation_error(
                "E303", "the second argument of temporal:timeWeightedAvg() must be 'window' or 'covered'", node
            )
        return Aggregate(AttributeType.DOUBLE, TimeWeightedAvg[mode.value == "covered"], (argument,))


class TemporalSourceScope(SourceScope):
    """One temporal stream."""

    lifetimes = LifetimeNames()

    def call(self, resolve: Resolver, node: FunctionCall) -> TypedExpression | None:
        return self.lifetimes.call(resolve, node)

    def seeing(self, lifetimes: LifetimeNames) -> TemporalSourceScope:
        """Return this scope with other functions of lifetimes."""
        scope = TemporalSourceScope(self.label, self.attributes, what=self.what, slot=self.slot, also=self.also)
        scope.lifetimes = lifetimes
        return scope


class TemporalJoinScope(MultiScope):
    """Two temporal streams."""

    def call(self, resolve: Resolver, node: FunctionCall) -> TypedExpression | None:
        return LifetimeNames(join=True).call(resolve, node)


class TemporalMatchScope(MultiScope):
    """The streams of ``clip`` and ``antiJoin``: unqualified names belong to the left one, and the name of a stream that is
    matched with itself to the right one."""

    def __init__(self, left: SourceScope, right: SourceScope) -> None:
        super().__init__((right, left))
        self._left = left

    def attribute(self, variable: Variable) -> Attr:
        return self._left.attribute(variable) if variable.source is None else super().attribute(variable)

    def find(self, name: str) -> Attr | None:
        return self._left.at(name)

    def call(self, resolve: Resolver, node: FunctionCall) -> TypedExpression | None:
        if node.namespace is None and node.name in ("eventStart", "eventEnd", "eventTimestamp"):
            raise creation_error(
                "E303",
                f"{node.name}() can't be read in the condition of clip and antiJoin: it compares attributes of two rows, and the "
                "operator their lifetimes",
                node,
                "filter the stream in a query before"
                if node.name == "eventEnd"
                else "select it into an attribute in a query before",
            )
        return LifetimeNames().call(resolve, node)


def _require(node: FunctionCall, count: int) -> None:
    if len(node.arguments) != count:
        name = node.name if node.namespace is None else f"{node.namespace}:{node.name}"
        raise creation_error(
            "E303", f"{name}() takes {count} argument{'' if count == 1 else 's'}, not {len(node.arguments)}", node
        )
