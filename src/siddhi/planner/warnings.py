"""Warn about parts of an app without effect, or with a surprising one. Siddhi accepts such apps, so they are not errors."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from difflib import get_close_matches

from siddhi._frozen import frozen
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import located
from siddhi.query_api import (
    AggregationDefinition,
    Annotation,
    Constant,
    FunctionCall,
    Input,
    InsertInto,
    JoinInput,
    OutputEventType,
    Partition,
    Pattern,
    Query,
    Sequence,
    SiddhiApp,
    SingleInput,
    StreamDefinition,
    TableDefinition,
    Trigger,
    WindowDefinition,
)
from siddhi.query_api.annotation import find_annotation

__all__ = ["advice", "passes_all_on", "playback_advice", "query_advice"]


@frozen
class _Known:
    """An annotation that has a meaning on a kind of element.

    Attributes:
        name: the name without a prefix.
        keys: the keys of its elements; None: unknown keys are reported where the annotation is bound.
        bare: whether elements without a key are allowed.
        inside: the nested annotations.
    """

    name: str
    keys: tuple[str, ...] | None = None
    bare: bool = True
    inside: tuple[_Known, ...] = ()


_MAP = _Known("map", inside=(_Known("attributes"), _Known("payload")))
_STORE = _Known("store", inside=(_Known("cache"),))
_QUERY = (
    _Known("info", ("name", "description", "max.partial.matches", "partial.matches.overflow"), bare=False),
    _Known("limit"),
    _Known("synchronized", ()),
)
_BY_ELEMENT: dict[str, tuple[_Known, ...]] = {
    "an app": (
        _Known("name", ()),
        _Known("description", ()),
        _Known("playback"),
        _Known("statistics", ("reporter", "interval", "include", "enable")),
        _Known("partialMatches", ("max", "overflow"), bare=False),
        _Known("aggTimeZone"),
        _Known("limits"),
    ),
    "a stream": (
        _Known("source", inside=(_MAP,)),
        _Known("sink", inside=(_MAP, _Known("distribution", inside=(_Known("destination"),)))),
        _Known("async", ("buffer.size", "workers", "batch.size.max"), bare=False),
        _Known("OnError", ("action",), bare=False),
        _Known("temporal", inside=(_Known("advance"),)),
    ),
    "a table": (_Known("PrimaryKey", ()), _Known("Index", ()), _STORE, _Known("limit")),
    "a window": (),
    "an aggregation": (
        _STORE,
        _Known("purge", ("enable", "interval"), bare=False, inside=(_Known("retentionPeriod"),)),
        _Known("PartitionById", ("enable", "shardId"), bare=False),
        _Known("persistedAggregation", ("enable",), bare=False),
        _Known("limit"),
    ),
    "a query": _QUERY,
    "a partition": (
        _Known("info", ("name", "description"), bare=False),
        _Known("purge", ("enable", "interval", "idle.period"), bare=False),
        _Known("limit"),
    ),
}
_NO_EFFECT = {
    "app:enforceorder": "events are always processed in the order of their arrival",
    "app:transportchannelcreationenabled": "sources and sinks never create transport channels",
    "dist": "siddhi.spark distributes an app by the keys of its queries",
}
"""Annotations of Siddhi that have no effect here, with the reason."""
_DEFINITIONS: dict[type, str] = {
    StreamDefinition: "a stream",
    TableDefinition: "a table",
    WindowDefinition: "a window",
    AggregationDefinition: "an aggregation",
}


def advice(app: SiddhiApp) -> list[AppWarning]:
    """Return the warnings of an app, in the order of the text."""
    found = list(_annotations(app.annotations, "an app"))
    kept = {definition.id for definition in app.definitions if not isinstance(definition, StreamDefinition)}
    streams = {definition.id for definition in app.definitions if isinstance(definition, StreamDefinition)}
    for definition in app.definitions:
        found += _annotations(getattr(definition, "annotations", ()), _DEFINITIONS.get(type(definition), ""))
        if isinstance(definition, WindowDefinition):
            found += _window(definition, streams)
    found += _endless(app)
    for execution in app.executions:
        is_partition = isinstance(execution, Partition)
        found += _annotations(execution.annotations, "a partition" if is_partition else "a query")
        for query in execution.queries if isinstance(execution, Partition) else (execution,):
            if query is not execution:
                found += _annotations(query.annotations, "a query")
            found += _query(query, kept, is_keyed=is_partition)
    if app.open_comment is not None:
        found.append(
            AppWarning(
                "unterminated comment: the rest of the text is not part of the app",
                app.open_comment,
                "close it with '*/'",
            )
        )
    return found


def query_advice(app: SiddhiApp, query: Query) -> list[AppWarning]:
    """Return the warnings of one query of an app, without those about streams whose events come back to them."""
    kept = {definition.id for definition in app.definitions if not isinstance(definition, StreamDefinition)}
    return [*_annotations(query.annotations, "a query"), *_query(query, kept, is_keyed=False)]


def playback_advice(app: SiddhiApp) -> AppWarning | None:
    """Return a warning about the timer rule if the text does not set it."""
    for annotation in app.annotations:
        if annotation.name.lower() == "playback" and annotation.element("timers") is None:
            return AppWarning(
                "@app:playback runs all timers that an event passes at the time of that event, as Siddhi does, so results can "
                "differ from those of the live clock",
                annotation,
                "timers = 'exact' runs each timer at its own time, timers = 'jump' confirms Siddhi's rule",
            )
    return None


def _annotations(annotations: Iterable[Annotation], owner: str) -> Iterator[AppWarning]:
    for annotation in annotations:
        yield from _annotation(annotation, owner, "app:" if owner == "an app" else "", _BY_ELEMENT.get(owner, ()))


def _annotation(annotation: Annotation, owner: str, prefix: str, known: tuple[_Known, ...]) -> Iterator[AppWarning]:
    name = f"@{prefix}{annotation.name}"
    own = next((one for one in known if one.name.lower() == annotation.name.lower()), None)
    if own is None:
        yield _ignored(annotation, name, owner, prefix, known)
        return
    for element in annotation.elements:
        at = located(element, annotation)
        if own.keys is None or (element.key is not None and element.key.lower() in map(str.lower, own.keys)):
            continue
        if element.key is not None:
            likely = _likely(element.key, own.keys)
            takes = f"the elements are {', '.join(sorted(own.keys))}" if own.keys else "it takes a value without a name"
            hint = f"did you mean '{likely}'?" if likely else takes
            yield AppWarning(f"unknown element '{element.key}' in {name} is ignored", at, hint)
        elif not own.bare:
            hint = f"name it: {' or '.join(own.keys)}"
            yield AppWarning(f"value '{element.value}' without a name in {name} is ignored", at, hint)
    for inside in annotation.annotations:
        yield from _annotation(inside, name, "", own.inside)


def _ignored(annotation: Annotation, name: str, owner: str, prefix: str, known: tuple[_Known, ...]) -> AppWarning:
    """Return the warning for an annotation that has no meaning on its element."""
    reason = _NO_EFFECT.get(name[1:].lower())
    if reason is not None:
        return AppWarning(f"{name} has no effect", annotation, reason)
    likely = _likely(annotation.name, [one.name for one in known])
    if likely is None:
        elsewhere = list(_elsewhere(annotation.name))
        if elsewhere:
            return AppWarning(f"{name} is ignored on {owner}", annotation, f"it is allowed {' or '.join(elsewhere)}")
        every = [
            *(one.name for group in _BY_ELEMENT.values() for one in group),
            "map",
            "attributes",
            "payload",
            "cache",
        ]
        likely = _likely(annotation.name, every)
    if likely is not None:
        return AppWarning(f"{name} is unknown and ignored", annotation, f"did you mean '@{prefix}{likely}'?")
    takes = ", ".join(f"@{prefix}{one.name}" for one in known)
    return AppWarning(f"{name} is unknown and ignored", annotation, f"{owner} takes {takes or 'none'}")


def _elsewhere(name: str) -> Iterator[str]:
    """Yield the elements on which an annotation of this name has a meaning."""
    for owner, known in _BY_ELEMENT.items():
        for one in known:
            if one.name.lower() == name.lower():
                yield f"on {owner}" if owner != "an app" else f"on the app, as @app:{one.name}"
    for holder in (_MAP, *_BY_ELEMENT["a stream"], *_BY_ELEMENT["a table"], _BY_ELEMENT["an aggregation"][1]):
        if any(one.name.lower() == name.lower() for one in holder.inside):
            yield f"inside @{holder.name}(...)"


def _window(window: WindowDefinition, streams: Container[str]) -> Iterator[AppWarning]:
    if window.id in streams:
        yield AppWarning(
            f"window '{window.id}' hides the stream of the same name",
            window,
            "queries read and write the window, and no event can be sent to the stream; rename one of them",
        )


def _query(query: Query, kept: set[str], *, is_keyed: bool) -> Iterator[AppWarning]:
    if not isinstance(query.input, (Pattern, Sequence)):
        for info in (annotation for annotation in query.annotations if annotation.name.lower() == "info"):
            if info.element("max.partial.matches") is not None:
                yield AppWarning("max.partial.matches has no effect on a query without a pattern or sequence", info)
    for source in _single_inputs(query.input):
        if source.window is not None:
            yield from _empty_window(source.window.call)
    join = query.input
    output = query.output
    if isinstance(output, InsertInto) and output.is_fault:
        yield AppWarning(
            f"'insert into !{output.target}' writes to stream '{output.target}' itself, as in Siddhi, and not to its "
            "fault stream",
            located(output, query),
            f"write 'insert into {output.target}' if that is intended",
        )
    if isinstance(join, JoinInput):
        left, right = join.left, join.right
        if left.alias is None and right.alias is None and _source(left) == _source(right):
            name = left.source
            yield AppWarning(
                f"both sides of the join are named '{name}'",
                join,
                f"'{name}.' refers to the left side; use aliases: {name} as l join {name} as r",
            )
        endless = join.on is None and join.trigger is Trigger.BOTH and kept.isdisjoint((left.source, right.source))
        if endless and not is_keyed:  # the key of a partition is a condition
            yield AppWarning(
                "the join has no condition: every event joins all that the other side holds",
                join,
                f"add one: on {left.alias or left.source}.a == {right.alias or right.source}.b",
            )


def _single_inputs(source: Input) -> Iterator[SingleInput]:
    if isinstance(source, SingleInput):
        yield source
    elif isinstance(source, JoinInput):
        yield source.left
        yield source.right


_SIZED = ("length", "lengthBatch", "time", "timeBatch", "timeLength", "delay", "externalTime", "externalTimeBatch")


def _empty_window(call: FunctionCall) -> Iterator[AppWarning]:
    """Warn about a window of length or time 0."""
    if call.namespace is not None or call.name not in _SIZED:
        return
    place = 1 if call.name.startswith("external") else 0
    sizes = call.arguments[place : place + (2 if call.name == "timeLength" else 1)]
    if any(isinstance(size, Constant) and size.value == 0 and size.value is not False for size in sizes):
        yield AppWarning(f"window {call.name}() of size 0 holds no event", call, "give it a length or a time above 0")


def _endless(app: SiddhiApp) -> Iterator[AppWarning]:
    """Warn about streams whose events come back to them: each passes all its queries on, and never ends."""
    passes: dict[str, list[tuple[str, Query]]] = {}
    buffered = {  # a loop over a buffer stops nothing else, and is meant
        definition.id
        for definition in app.definitions
        if isinstance(definition, StreamDefinition) and find_annotation(definition.annotations, "async") is not None
    }
    for query in app.executions:
        if isinstance(query, Query) and passes_all_on(query) and _read(query) not in buffered:
            assert isinstance(query.input, SingleInput)
            assert isinstance(query.output, InsertInto)
            passes.setdefault(query.input.source, []).append((query.output.target, query))
    for stream, outputs in passes.items():
        for target, query in outputs:
            if stream in _reached(target, passes):
                yield AppWarning(
                    f"each event of '{stream}' comes back to it and is processed again, without end",
                    located(query.output, query),
                    "filter the events that go on, or insert into another stream",
                )


def _read(query: Query) -> str | None:
    return query.input.source if isinstance(query.input, SingleInput) else None


def passes_all_on(query: Query) -> bool:
    """Return whether a query inserts every event of a stream into another one."""
    source, output = query.input, query.output
    return (
        isinstance(source, SingleInput)
        and not source.handlers
        and not source.is_inner
        and not source.is_fault
        and isinstance(output, InsertInto)
        and not output.is_inner
        and output.event_type is not OutputEventType.EXPIRED
        and query.selector.having is None
        and query.rate is None
    )


def _reached(start: str, passes: Mapping[str, list[tuple[str, Query]]]) -> set[str]:
    reached, waiting = {start}, [start]
    while waiting:
        for target, _ in passes.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def _source(side: object) -> tuple[object, ...]:
    return tuple(getattr(side, name) for name in ("source", "is_inner", "is_fault"))


def _likely(word: str, known: Iterable[str]) -> str | None:
    lowered = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.75)
    return lowered[close[0]] if close else None
