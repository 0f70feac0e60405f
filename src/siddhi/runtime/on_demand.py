"""On-demand queries of one app: compiled once, cached by their text."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from siddhi._core.expression.parameter import ParameterMismatchError
from siddhi.errors import (
    DeadlockError,
    LimitExceededError,
    NotRunningError,
    OnDemandQueryCreationError,
    SiddhiAppError,
    SiddhiParserError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from siddhi.planner.plan.on_demand import ParameterPlan
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.assembly.on_demand import BuiltOnDemand
    from siddhi.runtime.query_rows import QueryRows

__all__ = ["OnDemandQueries"]

_OF_THE_APP = (DeadlockError, LimitExceededError, NotRunningError)
"""Errors that say something of the app, not of the query: they are raised as they are."""

KEPT = 50
"""Maximum number of cached queries; the least recently used one is evicted."""


class OnDemandQueries:
    """Compiles and runs on-demand queries. Any thread may call it; each query runs under the app's lock.

    Args:
        assembly: the app's operators.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._kept: OrderedDict[str, BuiltOnDemand] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, text: str, parameters: dict[str, object]) -> QueryRows:
        """Run a query and return the rows found; none for a change.

        Args:
            text: the query.
            parameters: values of its parameters by name.

        Raises:
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: the query can't be run, or failed while it ran; a parameter is missing, unknown or
                has a wrong type.
            DeadlockError: a callback waits for this thread.
            LimitExceededError: the query would exceed the limit of a table.
            NotRunningError: the app is shut down.
        """
        built = self._compiled(text)
        if parameters and not built.parameters:
            raise self._explained(text, (), parameters)
        try:
            answer = built.query.run(parameters)
            if answer is None:
                # The cached query is running further up the stack: a function it calls runs the same text again.
                answer = self._compile(text).query.run(parameters)
        except _OF_THE_APP:
            raise
        except ParameterMismatchError as error:
            raise self._explained(text, built.parameters, parameters) from error
        except Exception as error:
            raise OnDemandQueryCreationError(
                f"the on-demand query failed: {type(error).__name__}: {error}",
                source=text,
                app=self._assembly.context.name,
            ) from error
        return built.rows(answer or ())

    def _explained(
        self, text: str, declared: tuple[ParameterPlan, ...], given: Mapping[str, object]
    ) -> OnDemandQueryCreationError:
        """Return the error of values that do not fit the parameters of a query."""
        from siddhi.runtime.assembly.parameter_values import mismatch

        message, span, hint = mismatch(declared, given)
        return OnDemandQueryCreationError(
            message, code="E310", span=span, source=text, hint=hint, app=self._assembly.context.name
        )

    def types(self, text: str) -> list[tuple[str, str]]:
        """Return names and types of the result columns of a query; empty for a change.

        Raises:
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: the query can't be run.
        """
        plan = self._assembly.plan_on_demand(text)
        columns = () if plan.output is not None else plan.selector.columns
        return [(column.name, column.expression.type.value) for column in columns]

    def _compiled(self, text: str) -> BuiltOnDemand:
        # Without the lock, which would take a tenth of the time of a lookup by key: each call is atomic.
        query = self._kept.get(text)
        if query is not None:
            try:  # noqa: SIM105 - suppress() takes longer than the query
                self._kept.move_to_end(text)
            except KeyError:
                pass  # another thread has evicted it
            return query
        query = self._compile(text)
        with self._lock:
            self._kept[text] = query
            self._kept.move_to_end(text)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return query

    def _compile(self, text: str) -> BuiltOnDemand:
        try:
            return self._assembly.on_demand(text)
        except (SiddhiParserError, OnDemandQueryCreationError, *_OF_THE_APP):
            raise
        except SiddhiAppError as error:
            raise OnDemandQueryCreationError(
                error.message,
                code=error.code,
                span=error.span,
                source=text,
                hint=error.hint,
                app=self._assembly.context.name,
            ) from error
        except Exception as error:  # raised by a user's store
            raise OnDemandQueryCreationError(
                f"the on-demand query can't be compiled: {type(error).__name__}: {error}",
                source=text,
                app=self._assembly.context.name,
            ) from error
