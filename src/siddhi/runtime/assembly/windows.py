"""Window plans → window operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from siddhi._core.expression.executor import Executor
from siddhi._core.python.operators import PythonStep
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window
from siddhi._core.window.batch import ChunkBatchWindow, LengthBatchWindow, TimeBatchWindow
from siddhi._core.window.cron import CronWindow
from siddhi._core.window.expression import FIRST, LAST, BufferCondition, ExpressionBatchWindow, ExpressionWindow
from siddhi._core.window.external_batch import ExternalTimeBatchWindow
from siddhi._core.window.frequent import FrequentWindow, LossyFrequentWindow
from siddhi._core.window.python import PythonWindow
from siddhi._core.window.session import SessionWindow
from siddhi._core.window.sort import SortWindow
from siddhi._core.window.time import DelayWindow, ExternalTimeWindow
from siddhi._frozen import field, frozen
from siddhi.errors import SiddhiAppCreationError
from siddhi.extension.processors import RESET
from siddhi.planner.bind.cron import parse_cron
from siddhi.planner.bind.parameters import constants_of
from siddhi.planner.plan.expressions import FIRST_SLOT, LAST_SLOT, Attr, Const, TypedExpression
from siddhi.planner.plan.nodes import WindowPlan
from siddhi.planner.problems import MOST_OF_A_KEY
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.unsupported import not_supported

__all__ = ["WindowSite", "build_window"]


@frozen
class WindowSite:
    """Build context of a window.

    Attributes:
        context: the app's context.
        pool: pool of the window's records.
        cell_of: cell by attribute position.
        stamps: whether the time at which events expire is read.
        keeps_expired: whether the batch released last is emitted as expired.
        span: position of the query, for errors.
        partitioned: whether the query is inside a partition.
        scripts: compiled ``define function`` bodies by name.
        selected: positions of the attributes that the query selects unchanged; None: all of them.
        width: number of cells that the window fills; later ones are appended after it. None: all of them.
    """

    context: AppContext
    pool: EventPool
    cell_of: dict[int, int]
    stamps: bool
    keeps_expired: bool
    span: Span | None
    partitioned: bool = False
    scripts: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    selected: tuple[int, ...] | None = None
    width: int | None = None

    def expressions(self) -> ExpressionBuilder:
        """Make a builder of expressions over the current event and the first and last event of the window."""
        return ExpressionBuilder(
            {
                0: Cells(self.pool.layout, self.cell_of),
                FIRST_SLOT: Cells(self.pool.layout, self.cell_of, FIRST),
                LAST_SLOT: Cells(self.pool.layout, self.cell_of, LAST),
            },
            self.scripts,
        )


def build_window(plan: WindowPlan, site: WindowSite) -> Window:
    """Build the operator of a window.

    Raises:
        SiddhiAppCreationError: this engine does not support the window, or an argument is invalid.
    """
    if hasattr(plan.window.implementation, "compiled"):
        return _unique(site, plan)
    if plan.window.implementation is not None:
        return _python(site, plan)
    build = _BUILDERS.get(plan.window.builtin or "") if plan.window.operator is None else _operator
    if build is None:
        raise not_supported(f"the window '{plan.window.full_name}' is", site.span)
    try:
        return build(site, plan)
    except ValueError as error:
        raise SiddhiAppCreationError(str(error), code="E305", span=site.span) from error


def _python(site: WindowSite, plan: WindowPlan) -> Window:
    window, full = plan.window, site.pool.layout
    layout = full if site.width is None else Layout(full.names[: site.width], full.types[: site.width])
    step = PythonStep(
        site.context,
        site.pool,
        layout,
        window.implementation,
        f"{window.title} '{window.full_name}'",
        site.expressions().build_all(plan.arguments),
        tuple(constants_of(plan.arguments)),
        0,
        RESET,
    )
    return PythonWindow(step, site.pool, window.batch, window.searchable)


def _unique(site: WindowSite, plan: WindowPlan) -> Window:
    """Build the compiled form of a window of ``unique`` that slides."""
    from siddhi._core.window.unique import UniqueWindow  # most apps have none

    kind = plan.window.implementation.compiled
    has_number = kind in ("length", "time")
    number = _value(plan.arguments[-1]) if has_number else 0
    keys = site.expressions().build_all(plan.arguments[:-1] if has_number else plan.arguments)
    length, duration = (number, 0) if kind == "length" else (0, number)
    return UniqueWindow(site.context, site.pool, keys, kind == "first", length, duration, site.stamps)


def _operator(site: WindowSite, plan: WindowPlan) -> Window:
    """Build a window by the class that its metadata names."""
    module, _, name = (plan.window.operator or "").rpartition(".")
    class_ = getattr(import_module(f"siddhi._core.window.{module}"), name)
    window: Window = class_(site.context, site.pool, *_constants(plan), stamps=site.stamps)
    return window


def _constants(plan: WindowPlan) -> Sequence[Any]:
    return [argument.value for argument in plan.arguments if isinstance(argument, Const)]


def _external_time(site: WindowSite, plan: WindowPlan) -> Window:
    timestamp, _ = plan.arguments
    if not isinstance(timestamp, Attr):
        raise TypeError("the timestamp of externalTime must be an attribute")
    (duration,) = _constants(plan)
    return ExternalTimeWindow(site.context, site.pool, site.cell_of[timestamp.position], duration, site.stamps)


def _length_batch(site: WindowSite, plan: WindowPlan) -> Window:
    length, *streams = _constants(plan)
    return LengthBatchWindow(site.context, site.pool, length, site.keeps_expired, any(streams), site.stamps)


def _time_batch(site: WindowSite, plan: WindowPlan) -> Window:
    duration, *optional = _constants(plan)
    streams = any(value for value in optional if isinstance(value, bool))
    start = next((value for value in optional if not isinstance(value, bool)), None)
    return TimeBatchWindow(site.context, site.pool, duration, start, site.keeps_expired, streams, site.stamps)


def _batch(site: WindowSite, plan: WindowPlan) -> Window:
    constants = _constants(plan)
    return ChunkBatchWindow(
        site.context,
        site.pool,
        constants[0] if constants else 0,
        site.keeps_expired,
        site.stamps,
        not site.partitioned,
    )


def _delay(site: WindowSite, plan: WindowPlan) -> Window:
    (duration,) = _constants(plan)
    return DelayWindow(site.context, site.pool, duration)


def _sort(site: WindowSite, plan: WindowPlan) -> Window:
    length = _constants(plan)[0]
    cells: list[int] = []
    descending: list[bool] = []
    for argument in plan.arguments[1:]:
        if isinstance(argument, Const):
            descending[-1] = str(argument.value).lower() == "desc"
        else:
            cells.append(_cell(site, argument))
            descending.append(False)
    return SortWindow(site.context, site.pool, length, cells, descending, site.stamps)


def _external_time_batch(site: WindowSite, plan: WindowPlan) -> Window:
    timestamp, duration, *optional = plan.arguments
    start = optional[0] if optional else None
    timeout = _value(optional[1]) if len(optional) > 1 else 0
    replaces = len(optional) > 2 and bool(_value(optional[2]))
    return ExternalTimeBatchWindow(
        site.context,
        site.pool,
        _cell(site, timestamp),
        _value(duration),
        _value(start) if isinstance(start, Const) else None,
        None if start is None or isinstance(start, Const) else _cell(site, start),
        timeout,
        replaces,
        site.keeps_expired,
        site.stamps,
    )


def _session(site: WindowSite, plan: WindowPlan) -> Window:
    gap, *latency = _constants(plan)
    keys = [_cell(site, argument) for argument in plan.arguments if not isinstance(argument, Const)]
    return SessionWindow(site.context, site.pool, gap, keys[0] if keys else None, latency[0] if latency else 0)


def _cron(site: WindowSite, plan: WindowPlan) -> Window:
    (text,) = _constants(plan)
    return CronWindow(site.context, site.pool, parse_cron(text).next_after, site.stamps)


def _frequent(site: WindowSite, plan: WindowPlan) -> Window:
    (length,) = _constants(plan)
    return FrequentWindow(site.context, site.pool, length, _key_cells(site, plan), site.stamps)


def _lossy_frequent(site: WindowSite, plan: WindowPlan) -> Window:
    support, *error = _constants(plan)
    return LossyFrequentWindow(
        site.context,
        site.pool,
        support,
        error[0] if error else support / 10,
        _key_cells(site, plan),
        site.stamps,
    )


def _key_cells(site: WindowSite, plan: WindowPlan) -> list[int]:
    """Return the cells of the attributes to count by.

    Without arguments Siddhi counts by the attributes that the query selects unchanged, without computed columns.
    """
    named = [_cell(site, argument) for argument in plan.arguments if not isinstance(argument, Const)]
    if named:
        return named
    if site.selected is None:
        cells = sorted(site.cell_of.values())
    else:
        cells = [site.cell_of[position] for position in dict.fromkeys(site.selected)]
    if len(cells) > MOST_OF_A_KEY:
        what = f"window '{plan.window.full_name}' counting by more than {MOST_OF_A_KEY} attributes"
        raise not_supported(
            f"{what} is", site.span, f"name the attributes to count by: {plan.window.full_name}(…, attribute)"
        )
    return cells


def _expression(site: WindowSite, plan: WindowPlan) -> Window:
    condition, text = _condition(site, plan)
    return ExpressionWindow(site.context, site.pool, condition, text, _conditions(site, plan), site.stamps)


def _expression_batch(site: WindowSite, plan: WindowPlan) -> Window:
    condition, text = _condition(site, plan)
    includes = site.expressions().build(plan.arguments[1]) if len(plan.arguments) > 1 else None
    streams = len(plan.arguments) > 2 and bool(_value(plan.arguments[2]))
    return ExpressionBatchWindow(
        site.context, site.pool, condition, text, _conditions(site, plan), includes, streams, site.stamps
    )


def _condition(site: WindowSite, plan: WindowPlan) -> tuple[BufferCondition | None, Executor | None]:
    """Build the condition of an expression window, or the executor that returns its text."""
    if plan.condition is None:
        return None, site.expressions().build(plan.arguments[0])
    return _make_condition(site, plan.condition, None), None


def _conditions(site: WindowSite, plan: WindowPlan) -> Callable[[str], BufferCondition] | None:
    """Return a function that builds a condition from its text, if events carry the text."""
    plan_condition = plan.plan_condition
    if plan_condition is None:
        return None
    return lambda text: _make_condition(site, plan_condition(text), text)


def _make_condition(site: WindowSite, condition: TypedExpression, text: str | None) -> BufferCondition:
    builder = site.expressions()
    return BufferCondition(site.context, builder.build(condition), builder.aggregators, text)


def _cell(site: WindowSite, argument: TypedExpression) -> int:
    if not isinstance(argument, Attr):
        raise TypeError("expected an attribute")
    return site.cell_of[argument.position]


def _value(argument: TypedExpression) -> Any:
    if not isinstance(argument, Const):
        raise TypeError("expected a literal")
    return argument.value


_BUILDERS: dict[str, Callable[[WindowSite, WindowPlan], Window]] = {
    "batch": _batch,
    "cron": _cron,
    "delay": _delay,
    "expression": _expression,
    "expressionBatch": _expression_batch,
    "externalTime": _external_time,
    "externalTimeBatch": _external_time_batch,
    "frequent": _frequent,
    "lengthBatch": _length_batch,
    "lossyFrequent": _lossy_frequent,
    "session": _session,
    "sort": _sort,
    "timeBatch": _time_batch,
}
