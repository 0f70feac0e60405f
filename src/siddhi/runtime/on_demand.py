"""On-demand queries of one app: compiled once, cached by their text."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from siddhi.errors import (
    DeadlockError,
    LimitExceededError,
    NotRunningError,
    OnDemandQueryCreationError,
    SiddhiAppError,
    SiddhiParserError,
)

if TYPE_CHECKING:
    from siddhi._core.record.user_event import Event
    from siddhi._core.table.query import OnDemand
    from siddhi._core.table.store import CachedAnswer, StoreAnswer
    from siddhi.runtime.assembly.app import Assembly

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
        self._kept: OrderedDict[str, OnDemand | StoreAnswer | CachedAnswer] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, text: str) -> list[Event]:
        """Run a query and return the rows found; an empty list for a change.

        Raises:
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: the query can't be run, or failed while it ran.
            DeadlockError: a callback waits for this thread.
            LimitExceededError: the query would exceed the limit of a table.
            NotRunningError: the app is shut down.
        """
        query = self._compiled(text)
        try:
            answer = query.run()
            if answer is None:
                # The cached query is running further up the stack: a function it calls runs the same text again.
                answer = self._compile(text).run()
        except _OF_THE_APP:
            raise
        except Exception as error:
            raise OnDemandQueryCreationError(
                f"the on-demand query failed: {type(error).__name__}: {error}",
                source=text,
                app=self._assembly.context.name,
            ) from error
        return answer or []

    def types(self, text: str) -> list[tuple[str, str]]:
        """Return names and types of the result columns of a query; empty for a change.

        Raises:
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: the query can't be run.
        """
        from siddhi.planner.bind.selection import output_attributes

        plan = self._assembly.plan_on_demand(text)
        columns = () if plan.output is not None else plan.selector.columns
        return [(attribute.name, attribute.type.value) for attribute in output_attributes(columns)]

    def _compiled(self, text: str) -> OnDemand | StoreAnswer | CachedAnswer:
        with self._lock:
            query = self._kept.get(text)
            if query is not None:
                self._kept.move_to_end(text)
                return query
        query = self._compile(text)
        with self._lock:
            self._kept[text] = query
            self._kept.move_to_end(text)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return query

    def _compile(self, text: str) -> OnDemand | StoreAnswer | CachedAnswer:
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
