"""Queries that are added to and removed from a running app alone: nothing else of the app is planned or built again.

This is possible for queries over one stream which share no state with others (:func:`siddhi.planner.added.is_alone`). What
follows from the whole text elsewhere is kept beside the plan here, and changed with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from siddhi._frozen import replace
from siddhi.errors import SiddhiAppError
from siddhi.planner.added import AddedQueries, is_alone, units_of, with_batches
from siddhi.planner.distribution.statements import Statements, executions_by_name
from siddhi.planner.plan.graph import Unit, aggregation_unit, sources_of, unit_of
from siddhi.planner.plan.nodes import (
    Action,
    PartitionPlan,
    Plan,
    PredicateIndex,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
    StreamOrigin,
    StreamPlan,
)
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.warnings import passes_all_on
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.selection import InsertInto
from siddhi.query_api.span import moved
from siddhi.query_compiler.parser import parse
from siddhi.query_compiler.source import Source, blanked

if TYPE_CHECKING:
    from siddhi.planner.plan.filing import Filing

__all__ = ["Addition", "Ledger", "Planner", "Removal", "kept_of"]

_DEFINITION = "define stream `siddhi added` (a int);\n"
"""Makes queries alone an app."""
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_END = re.compile(r"\s*;")
_MOST_BLANK = 1 << 20
"""Characters of removed queries in the text of an app, after which it is written anew."""

_PARTS = ("source ", "sink ", "mapper of ", "buffer of ", "limit of ", "limits of ", "purge of ")
"""Beginnings of the labels of elements that are parts of others."""

Planner = Callable[[Plan, list[tuple[str, Query]], dict[str, Counter[int]]], AddedQueries | None]


class Addition(NamedTuple):
    """Queries to add: the plan of the app with them, their plans and nodes."""

    plan: Plan
    queries: tuple[QueryPlan, ...]
    nodes: tuple[Query, ...]
    is_closed: bool
    """Whether a semicolon ends it."""
    warnings: tuple[AppWarning, ...]


class Removal(NamedTuple):
    """A query to remove: the plan of the app without it, its plan, and where it stands in the text."""

    plan: Plan
    query: QueryPlan
    number: int
    """Of the executions before it."""
    begin: int
    end: int


class Ledger:
    """What the plan of an app and its text say in many places, so that a query more or less need not be looked for.

    Args:
        plan: the plan.

    Attributes:
        plan: the present plan.
    """

    def __init__(self, plan: Plan) -> None:
        app = plan.app
        assert app.source is not None
        self.plan = plan
        self._source = Source(app.source)
        self._is_closed = self._closes(self._source.extent(app.executions[-1])[1])
        self._blank = 0
        self._nodes: dict[str, Query | Partition] = dict(executions_by_name(plan))
        self._plans: dict[str, QueryPlan | PartitionPlan] = {found.name: found for found in plan.executions}
        self._count = sum(len(node.queries) if isinstance(node, Partition) else 1 for node in app.executions)
        # The nodes whose names depend on the number of queries before them; the app keeps them alive.
        self._numbered = {id(node) for node in app.executions if _is_numbered(node)}
        self._inner = {
            query.name for found in plan.executions if isinstance(found, PartitionPlan) for query in found.queries
        }
        # Writers by stream in text order, and the number of readers.
        self._writers: dict[str, dict[str, None]] = {}
        self._readers: Counter[str] = Counter()
        self._filed: dict[str, Counter[tuple[int, object]]] = {}
        self._values: dict[str, Counter[int]] = {}
        for aggregation in plan.aggregations.values():
            self._readers.update(aggregation_unit(aggregation).reads)
        for execution in plan.executions:
            self._note(execution)
        self._units: dict[str, Unit] | None = None
        self._statements: Statements | None = None

    @staticmethod
    def fits(plan: Plan) -> bool:
        """Return whether queries of an app can be added and removed alone."""
        app = plan.app
        return (
            plan.policy is None
            and app.source is not None
            and app.open_comment is None
            and bool(app.executions)
            and not plan.temporal_queries
            and all(stream.temporal is None and stream.correction is None for stream in plan.streams.values())
        )

    # --- adding

    def addition(self, text: str, planned: Planner) -> Addition | None:
        """Plan queries that are added behind the others.

        Args:
            text: their text.
            planned: plans them.

        Returns:
            None: the app has to be changed as a whole, which also reports the errors of the text.
        """
        text = text.strip()
        try:
            added = parse(_DEFINITION + text, environment=("*",))
        except SiddhiAppError:
            return None
        nodes = added.executions
        if added.annotations or added.open_comment is not None or len(added.definitions) != 1 or added.source is None:
            return None
        if not nodes or not all(isinstance(node, Query) for node in nodes):
            return None
        part = added.source[len(_DEFINITION) :]
        source = Source(added.source)
        if source.extent(nodes[0])[0] != len(_DEFINITION):
            return None  # a comment before it
        lead = "\n" if self._is_closed else "\n;\n"
        try:
            queries = [
                moved(node, self._source.lines + lead.count("\n") - 2) for node in nodes if isinstance(node, Query)
            ]
        except RecursionError:
            return None
        if any(passes_all_on(query) and (len(queries) > 1 or self._readers[_target(query)]) for query in queries):
            return None  # events of a stream could come back to it, of which the app warns
        named = self._named(queries)
        if named is None:
            return None
        try:
            found = planned(self.plan, named, self._values)
        except SiddhiAppError:
            return None
        if found is None:
            return None
        app = self.plan.app
        tail = _COMMENT.sub("", added.source[source.extent(nodes[-1])[1] :])
        units = [unit_of(query) for query in found.queries]
        plan = replace(
            self.plan,
            app=replace(app, executions=(*app.executions, *queries), source=self._source.text + lead + part),
            streams=self._streams(found.indexes),
            executions=(*self.plan.executions, *found.queries),
            warnings=tuple(sorted([*self.plan.warnings, *found.warnings], key=AppWarning.order))
            if found.warnings
            else self.plan.warnings,
        )
        if not self._stay_unsafe(units):
            plan = with_batches(plan, [*self._all_units().values(), *units])
        return Addition(plan, found.queries, tuple(queries), ";" in tail, found.warnings)

    def _named(self, queries: list[Query]) -> list[tuple[str, Query]] | None:
        """Return queries with their names; None: one of them exists."""
        found: dict[str, Query] = {}
        for number, query in enumerate(queries, self._count + 1):
            name = query.name if query.name is not None else f"query_{number}"
            if name in self._plans or name in self._inner or name in found:
                return None
            found[name] = query
        return [*found.items()]

    def _stay_unsafe(self, units: Iterable[Unit]) -> bool:
        """Return whether batches of all streams whose events reach these units run row by row in any case."""
        if self.plan.playback is not None:
            return False
        reads = {stream for unit in units for stream in unit.reads}
        return all(batch.reason for batch in self.plan.batches if batch.stream in reads)

    def add(self, addition: Addition) -> None:
        """Take up queries that were added."""
        self.plan = addition.plan
        self._source.grow(addition.plan.app.source or "")
        self._is_closed = addition.is_closed
        for query, node in zip(addition.queries, addition.nodes, strict=True):
            self._nodes[query.name], self._plans[query.name] = node, query
            self._count += 1
            if _is_numbered(node):
                self._numbered.add(id(node))
            self._note(query)
            if self._units is not None:
                self._units[query.name] = unit_of(query)

    # --- removing

    def removal(self, name: str) -> Removal | None:
        """Plan the app without a query; None: the app has to be changed as a whole."""
        plan = self.plan
        query, node = self._plans.get(name), self._nodes.get(name)
        if (
            not isinstance(query, QueryPlan)
            or not isinstance(node, Query)
            or name in plan.triggers
            or name in plan.streams
            or name in plan.tables
            or name in plan.windows
            or name in plan.aggregations
            or name in plan.functions
            or len(plan.app.executions) == 1
            or self._blank > _MOST_BLANK
            or name in self._inner
            or (plan.warnings and passes_all_on(node))
            or not is_alone(plan, query)
            or not self._is_spare_writer(query)
        ):
            return None
        app, number = plan.app, _place(plan.app.executions, node)
        if self._numbered and any(id(each) in self._numbered for each in app.executions[number + 1 :]):
            return None  # their names would change
        begin, end = self._source.extent(node)
        if (semicolon := _END.match(self._source.text, end)) is not None:
            end = semicolon.end()
        is_last = number == len(app.executions) - 1
        text = self._source.text
        text = text[:begin].rstrip() if is_last else blanked(text, begin, end)
        planned = _place(plan.executions, query)
        assert isinstance(query.input, SingleInputPlan)
        source = query.input.source
        index = plan.streams[source].predicate_index
        lines = range(node.span.line, node.span.end_line + 1) if node.span is not None else range(0)
        left = replace(
            plan,
            app=replace(app, executions=app.executions[:number] + app.executions[number + 1 :], source=text),
            streams=plan.streams
            if index is None or query.input.filing is None
            else self._streams({source: replace(index, queries=index.queries - 1)}),
            executions=plan.executions[:planned] + plan.executions[planned + 1 :],
            warnings=tuple([one for one in plan.warnings if one.span is None or one.span.line not in lines]),
        )
        if not self._stay_as_they_are(unit_of(query)):
            units = self._all_units()
            left = with_batches(left, [unit for key, unit in units.items() if key != name])
        return Removal(left, query, planned, begin, end)

    def _is_spare_writer(self, query: QueryPlan) -> bool:
        """Return whether its stream exists, with the same attributes, without a query."""
        if query.output.action is Action.RETURN:
            return True
        target = query.output.target
        return (
            self.plan.streams[target].origin is StreamOrigin.DEFINED or next(iter(self._writers[target])) != query.name
        )

    def _stay_as_they_are(self, removed: Unit) -> bool:
        """Return whether batches run as they do without a unit: their reasons do not depend on it."""
        if self.plan.playback is not None or any(self._readers[target] for target in removed.writes):
            return False
        return all(
            removed.name not in batch.reason and not batch.reason.endswith(" has a sink") for batch in self.plan.batches
        )

    def remove(self, removal: Removal) -> None:
        """Take up that a query was removed."""
        name = removal.query.name
        self.plan = removal.plan
        if len(removal.plan.app.source or "") < len(self._source.text):
            self._source.cut(len(removal.plan.app.source or ""))
            last = removal.plan.app.executions[-1]
            self._is_closed = self._closes(self._source.extent(last)[1])
        else:
            self._source.text = removal.plan.app.source or ""
            self._blank += removal.end - removal.begin
        self._numbered.discard(id(self._nodes[name]))
        del self._nodes[name], self._plans[name]
        self._count -= 1
        self._note(removal.query, by=-1)
        if self._units is not None:
            del self._units[name]

    # --- what holds state

    def statement(self, name: str) -> Callable[[], str]:
        """Return what makes the statement of a query that was added: that to which its state belongs."""
        if self._statements is None:
            self._statements = Statements(self.plan)
        statements, node = self._statements, self._nodes[name]
        return lambda: statements.of_added(node)

    # --- inside

    def _closes(self, end: int) -> bool:
        """Return whether a semicolon follows an offset of the text, behind the last query."""
        return ";" in _COMMENT.sub("", self._source.text[end:])

    def _streams(self, indexes: Mapping[str, PredicateIndex]) -> dict[str, StreamPlan]:
        """Return the streams of the app with other predicate indexes."""
        streams = self.plan.streams
        if not indexes:
            return streams
        return streams | {id_: replace(streams[id_], predicate_index=index) for id_, index in indexes.items()}

    def _all_units(self) -> dict[str, Unit]:
        """Return the units of the app by name; they are made when they are first needed."""
        if self._units is None:
            self._units = {unit.name: unit for unit in units_of(self.plan)}
        return self._units

    def _note(self, execution: QueryPlan | PartitionPlan, by: int = 1) -> None:
        """Count what an execution reads, writes and is filed under; *by* -1: no more."""
        for query in execution.queries if isinstance(execution, PartitionPlan) else (execution,):
            self._readers.update(dict.fromkeys(_reads(query), by))
            if query.output.action is Action.INSERT and query.output.kind is not SourceKind.TABLE:
                writers = self._writers.setdefault(query.output.target, {})
                if by > 0:
                    writers[execution.name] = None
                else:
                    del writers[execution.name]
            if isinstance(query.input, SingleInputPlan):
                self._note_filing(query.input.source, query.input.filing or (), by)

    def _note_filing(self, stream: str, filing: Filing, by: int) -> None:
        for entry in filing:
            if entry.position is None:
                continue
            filed = self._filed.setdefault(stream, Counter())
            values = self._values.setdefault(stream, Counter())
            key = (entry.position, entry.value)
            before = filed[key]
            filed[key] += by
            if before == 0:
                values[entry.position] += 1
            elif filed[key] == 0:
                values[entry.position] -= 1
                del filed[key]


def _reads(query: QueryPlan) -> tuple[str, ...]:
    """Return the streams and windows whose events a query receives."""
    if isinstance(query.input, PatternPlan):
        return tuple(query.input.sources)
    return tuple([source.source for source in sources_of(query)])


def _target(query: Query) -> str:
    return query.output.target if isinstance(query.output, InsertInto) else ""


def _is_numbered(node: Query | Partition) -> bool:
    """Return whether names in a query or partition follow from its place in the text."""
    return any(query.name is None for query in (node.queries if isinstance(node, Partition) else (node,)))


def _place(items: Sequence[object], item: object) -> int:
    """Return the place of an object itself: comparing large trees takes long."""
    return next(number for number in range(len(items) - 1, -1, -1) if items[number] is item)


def _is_shown(label: str) -> bool:
    return not label.startswith(_PARTS) and "'anonymous-" not in label


def kept_of(labels: Iterable[str]) -> tuple[str, ...]:
    """Return those of the labels of elements with state that an :class:`AppChange` shows as kept."""
    return tuple([label for label in labels if _is_shown(label)])
