"""A sub-app: a part of an app as an app of its own, to be sent to where it runs.

A sub-app is text. The same planner plans it again from the same text, so the plans are equal and none is serialized. All its
queries have names, all its streams are defined, and it has no sources, sinks or buffers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from siddhi._frozen import frozen
from siddhi.planner.plan.aggregations import ZONE
from siddhi.planner.plan.elements import AppElement, app_elements, named_executions
from siddhi.planner.plan.nodes import OnErrorAction, PartitionPlan, Plan, StreamPlan
from siddhi.query_api.annotation import Annotation, Element, find_annotation
from siddhi.query_api.app import AnyDefinition, SiddhiApp
from siddhi.query_api.definition import (
    AggregationDefinition,
    Attribute,
    FunctionDefinition,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    WindowDefinition,
)
from siddhi.query_api.input import SingleInput
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.selection import InsertInto, Selector
from siddhi.query_compiler.print.app import to_siddhiql

__all__ = ["SubApp", "sub_app"]

_FORMAT = 1
_KEPT = ("description", "partialMatches", "limits")
"""Annotations of the app that apply to each of its parts."""

Schema = tuple[tuple[str, str], ...]


@frozen(kw_only=True)
class SubApp:
    """A part of an app.

    Attributes:
        text: a whole app in SiddhiQL.
        names: its elements, in text order.
        inputs: attributes (name, type) of its input streams.
        outputs: attributes of the streams that its elements write, and of the fault streams of its streams.
        tables: attributes of its read-only tables.
        fills: the stream that fills each read-only table that is not in a store.
    """

    text: str
    names: tuple[str, ...]
    inputs: Mapping[str, Schema]
    outputs: Mapping[str, Schema]
    tables: Mapping[str, Schema]
    fills: Mapping[str, str]

    @property
    def fingerprint(self) -> str:
        """Identifies the text: 32 hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]

    def to_json(self) -> str:
        """Return the sub-app as text for :meth:`from_json`."""
        return json.dumps(
            {
                "format": _FORMAT,
                "text": self.text,
                "names": self.names,
                "inputs": self.inputs,
                "outputs": self.outputs,
                "tables": self.tables,
                "fills": self.fills,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> SubApp:
        """Return the sub-app that :meth:`to_json` gave.

        Raises:
            ValueError: the text is not a sub-app of this format.
        """
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise ValueError(f"not a sub-app of format {_FORMAT}")
        try:
            schemas = {key: _schemas(data[key]) for key in ("inputs", "outputs", "tables")}
            return cls(
                text=str(data["text"]), names=tuple(map(str, data["names"])), fills=dict(data["fills"]), **schemas
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"damaged sub-app: {error}") from error


def _schemas(data: Mapping[str, Iterable[Iterable[str]]]) -> dict[str, Schema]:
    return {stream: tuple((str(name), str(kind)) for name, kind in attributes) for stream, attributes in data.items()}


def sub_app(plan: Plan, names: Iterable[str], *, timers: str = "exact") -> SubApp:
    """Return the sub-app of the named elements, and of the windows, aggregations and tables they use.

    Events of its input streams drive its clock (playback).

    Args:
        plan: plan of the whole app.
        names: names of elements; see :func:`siddhi.planner.plan.elements.app_elements`.
        timers: when timers run: ``"exact"`` or ``"jump"``.

    Raises:
        ValueError: there is no such element, or one is named without the inner query it reads.
    """
    elements = {element.name: element for element in app_elements(plan)}
    wanted = set(names)
    unknown = sorted(wanted - elements.keys())
    if unknown:
        raise ValueError(f"the app has no element {', '.join(map(repr, unknown))}")
    executions = []
    for made, execution in named_executions(plan):
        if wanted.isdisjoint(made):
            continue
        if made[-1] not in wanted:
            raise ValueError(f"'{made[-1]}' reads {', '.join(map(repr, made[:-1]))}: both are one query")
        wanted.update(made)
        executions.append(execution)
    wanted |= {name for name in _used(plan, elements, wanted) if name in plan.windows or name in plan.aggregations}
    part = [element for element in elements.values() if element.name in wanted]
    return _Builder(plan, part, [other for other in elements.values() if other not in part]).build(executions, timers)


def _used(plan: Plan, elements: Mapping[str, AppElement], names: Iterable[str]) -> set[str]:
    """Return everything that elements use, directly or through others."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        element = elements.get(pending.pop())
        if element is not None:
            touched = {*element.reads, *element.writes, *element.uses, *element.changes} - found
            found |= touched
            pending += [name for name in touched if name in plan.windows or name in plan.aggregations]
    return found


class _Builder:
    """Builds the text of a sub-app and its inputs and outputs."""

    def __init__(self, plan: Plan, part: list[AppElement], rest: list[AppElement]) -> None:
        self.plan = plan
        self.part = part
        self.owned = {element.name for element in part}
        self.read = {name for element in part for name in element.reads}
        self.written = {name for element in part for name in element.writes if name in plan.streams}
        self.fed_outside = {name for element in rest for name in element.writes}
        self.used = {name for element in part for name in (*element.uses, *element.changes)}
        keyed = {key.stream for element in part if isinstance(element.plan, PartitionPlan) for key in element.plan.keys}
        self.streams = {name.lstrip("!") for name in (*self.read, *self.written, *keyed) if name in plan.streams}

    def build(self, executions: list[Query | Partition], timers: str) -> SubApp:
        own_tables = {name for aggregation in self.plan.aggregations.values() for name in aggregation.tables}
        changed = {name for element in self.part for name in element.changes}
        tables = [
            table
            for table in self.plan.tables.values()
            if table.id in self.used and table.id not in own_tables and table.owner is None
        ]
        read_only = [table for table in tables if table.id not in changed]
        fills = {table.id: f"{table.id}__rows" for table in read_only if table.store is None}
        definitions = [*self._definitions({table.id for table in tables}), *self._fill_streams(fills)]
        app = SiddhiApp(
            annotations=(*self._annotations(), _annotation("playback", timers=timers)),
            definitions=tuple(definitions),
            executions=(*map(_fill_query, fills.items()), *executions),
        )
        return SubApp(
            text=to_siddhiql(app),
            names=tuple(element.name for element in self.part),
            inputs={name: _schema(self.plan.streams[name].attributes) for name in self._inputs()},
            outputs={name: _schema(self.plan.streams[name].attributes) for name in self._outputs()},
            tables={table.id: _schema(table.attributes) for table in read_only},
            fills=fills,
        )

    def _annotations(self) -> Iterable[Annotation]:
        kept = (*_KEPT, ZONE) if self.owned & self.plan.aggregations.keys() else _KEPT
        found = (find_annotation(self.plan.app.annotations, name) for name in kept)
        return [annotation for annotation in found if annotation is not None]

    def _inputs(self) -> list[str]:
        """Return the streams that are read and not filled here alone, in the order of the app."""
        outside = {name for name, stream in self.plan.streams.items() if stream.sources or name in self.fed_outside}
        return [
            name
            for name in self.plan.streams
            if name in self.read
            and name not in self.owned
            and not name.startswith(("#", "anonymous-"))
            and (name not in self.written or name in outside)
            and not (name.startswith("!") and name[1:] in self.streams)
        ]

    def _outputs(self) -> list[str]:
        faults = {f"!{name}" for name in self.streams if f"!{name}" in self.plan.streams}
        return [
            name
            for name in self.plan.streams
            if (name in self.written or name in faults) and not name.startswith(("#", "anonymous-"))
        ]

    def _definitions(self, tables: set[str]) -> Iterable[AnyDefinition]:
        for stream in self.plan.streams.values():
            hidden = stream.id.startswith(("#", "!", "anonymous-"))
            if stream.id in self.streams and not hidden and not self._has_trigger(stream.id):
                yield StreamDefinition(stream.id, stream.attributes, _kept(stream))
        for definition in self.plan.app.definitions:
            if isinstance(definition, TableDefinition):
                if definition.id in tables:
                    yield definition
            elif isinstance(definition, (WindowDefinition, TriggerDefinition, AggregationDefinition)):
                if definition.id in self.owned:
                    yield definition
            elif isinstance(definition, FunctionDefinition):
                yield definition

    def _has_trigger(self, stream: str) -> bool:
        return stream in self.plan.triggers and stream in self.owned

    def _fill_streams(self, fills: Mapping[str, str]) -> Iterable[StreamDefinition]:
        for table, stream in fills.items():
            if stream in self.plan.streams:
                raise ValueError(
                    f"the rows of table '{table}' need a stream '{stream}', which the app defines: rename that stream"
                )
            yield StreamDefinition(stream, self.plan.tables[table].attributes)


def _kept(stream: StreamPlan) -> tuple[Annotation, ...]:
    if stream.on_error is OnErrorAction.LOG:
        return ()
    return (_annotation("OnError", action=stream.on_error.value),)


def _fill_query(fill: tuple[str, str]) -> Query:
    table, stream = fill
    return Query(
        input=SingleInput(stream),
        selector=Selector(),
        output=InsertInto(target=table),
        annotations=(_annotation("info", name=f"fill {table}"),),
    )


def _annotation(name: str, /, **elements: str) -> Annotation:
    return Annotation(name, tuple(Element(key, value) for key, value in elements.items()))


def _schema(attributes: Iterable[Attribute]) -> Schema:
    return tuple((attribute.name, str(attribute.type)) for attribute in attributes)
