"""What an app says that has no effect, or another than it seems. Siddhi takes such apps, so they are told, not refused."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from difflib import get_close_matches

from siddhi._frozen import frozen
from siddhi.planner.plan.warning import AppWarning
from siddhi.query_api import (
    AggregationDefinition,
    Annotation,
    InsertInto,
    JoinInput,
    Partition,
    Pattern,
    Query,
    Sequence,
    SiddhiApp,
    StreamDefinition,
    TableDefinition,
    WindowDefinition,
)

__all__ = ["advice", "playback_advice"]


@frozen
class _Known:
    """An annotation that means something at its place.

    Attributes:
        name: as it is written, without a prefix.
        keys: of the elements that are read; None: whoever reads them tells of unknown ones, or refuses them.
        bare: whether elements without key are read.
        inside: annotations that may stand in it.
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
_PLACES: dict[str, tuple[_Known, ...]] = {
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
    ),
    "a table": (_Known("PrimaryKey", ()), _Known("Index", ()), _STORE, _Known("limit")),
    "a window": (),
    "an aggregation": (
        _STORE,
        _Known("purge", ("enable", "interval"), bare=False, inside=(_Known("retentionPeriod"),)),
        _Known("PartitionById", ("enable", "shardId"), bare=False),
    ),
    "a query": _QUERY,
    "a partition": (
        _Known("info", ("name", "description"), bare=False),
        _Known("purge", ("enable", "interval", "idle.period"), bare=False),
        _Known("limit"),
    ),
}
_IDLE = {
    "app:enforceorder": "events are always processed in the order in which they come",
    "app:transportchannelcreationenabled": "no source or sink makes channels",
    "dist": "siddhi.spark spreads an app by what its queries can be spread by",
}
"""Annotations that Siddhi knows and that have no effect, with the reason."""
_DEFINITIONS: dict[type, str] = {
    StreamDefinition: "a stream",
    TableDefinition: "a table",
    WindowDefinition: "a window",
    AggregationDefinition: "an aggregation",
}


def advice(app: SiddhiApp) -> list[AppWarning]:
    """One warning for each thing that has no effect, or another than it seems, in the order of the text."""
    found = list(_annotations(app.annotations, "an app"))
    streams = {definition.id for definition in app.definitions if isinstance(definition, StreamDefinition)}
    for definition in app.definitions:
        found += _annotations(getattr(definition, "annotations", ()), _DEFINITIONS.get(type(definition), ""))
        if isinstance(definition, WindowDefinition):
            found += _window(definition, streams)
    for execution in app.executions:
        is_partition = isinstance(execution, Partition)
        found += _annotations(execution.annotations, "a partition" if is_partition else "a query")
        for query in execution.queries if isinstance(execution, Partition) else (execution,):
            if query is not execution:
                found += _annotations(query.annotations, "a query")
            found += _query(query)
    if app.open_comment is not None:
        found.append(
            AppWarning(
                "unterminated comment: the rest of the text is not part of the app",
                app.open_comment,
                "close it with '*/'",
            )
        )
    return found


def playback_advice(app: SiddhiApp) -> AppWarning | None:
    """A note about the rule of timers, where the text leaves it to the default."""
    for annotation in app.annotations:
        if annotation.name.lower() == "playback" and annotation.element("timers") is None:
            return AppWarning(
                "@app:playback runs all timers that an event passes at the time of that event, as Siddhi does, and results can "
                "differ from those of the live clock",
                annotation,
                "timers = 'exact' runs each at its own time, timers = 'jump' says that Siddhi's rule is meant",
            )
    return None


def _annotations(annotations: Iterable[Annotation], place: str) -> Iterator[AppWarning]:
    for annotation in annotations:
        yield from _annotation(annotation, place, "app:" if place == "an app" else "", _PLACES.get(place, ()))


def _annotation(annotation: Annotation, place: str, prefix: str, known: tuple[_Known, ...]) -> Iterator[AppWarning]:
    name = f"@{prefix}{annotation.name}"
    own = next((one for one in known if one.name.lower() == annotation.name.lower()), None)
    if own is None:
        yield _ignored(annotation, name, place, prefix, known)
        return
    for element in annotation.elements:
        at = element if element.span is not None else annotation
        if own.keys is None or (element.key is not None and element.key.lower() in map(str.lower, own.keys)):
            continue
        if element.key is not None:
            likely = _likely(element.key, own.keys)
            takes = f"it takes {', '.join(sorted(own.keys))}" if own.keys else "it takes a value without name"
            hint = f"did you mean '{likely}'?" if likely else takes
            yield AppWarning(f"{name} has no element '{element.key}', it is ignored", at, hint)
        elif not own.bare:
            hint = f"give it a name: {' or '.join(own.keys)}"
            yield AppWarning(f"'{element.value}' in {name} has no name, it is ignored", at, hint)
    for inside in annotation.annotations:
        yield from _annotation(inside, name, "", own.inside)


def _ignored(annotation: Annotation, name: str, place: str, prefix: str, known: tuple[_Known, ...]) -> AppWarning:
    """What to say of an annotation that nobody reads where it stands."""
    idle = _IDLE.get(name[1:].lower())
    if idle is not None:
        return AppWarning(f"{name} has no effect", annotation, idle)
    likely = _likely(annotation.name, [one.name for one in known])
    if likely is None:
        elsewhere = list(_elsewhere(annotation.name))
        if elsewhere:
            return AppWarning(f"{name} is ignored on {place}", annotation, f"it stands {' or '.join(elsewhere)}")
        every = [*(one.name for group in _PLACES.values() for one in group), "map", "attributes", "payload", "cache"]
        likely = _likely(annotation.name, every)
    if likely is not None:
        return AppWarning(f"{name} is unknown and ignored", annotation, f"did you mean '@{prefix}{likely}'?")
    takes = ", ".join(f"@{prefix}{one.name}" for one in known)
    return AppWarning(f"{name} is unknown and ignored", annotation, f"{place} takes {takes or 'none'}")


def _elsewhere(name: str) -> Iterator[str]:
    """Where an annotation of this name is read."""
    for place, known in _PLACES.items():
        for one in known:
            if one.name.lower() == name.lower():
                yield f"on {place}" if place != "an app" else f"in front of the app, as @app:{one.name}"
    for holder in (_MAP, *_PLACES["a stream"], *_PLACES["a table"], _PLACES["an aggregation"][1]):
        if any(one.name.lower() == name.lower() for one in holder.inside):
            yield f"inside @{holder.name}(...)"


def _window(window: WindowDefinition, streams: Container[str]) -> Iterator[AppWarning]:
    if window.id in streams:
        yield AppWarning(
            f"window '{window.id}' hides the stream of that name",
            window,
            "queries read and fill the window, and nothing can be sent to the stream; rename one of them",
        )


def _query(query: Query) -> Iterator[AppWarning]:
    if not isinstance(query.input, (Pattern, Sequence)):
        for info in (annotation for annotation in query.annotations if annotation.name.lower() == "info"):
            if info.element("max.partial.matches") is not None:
                yield AppWarning("max.partial.matches says nothing of a query without a pattern or sequence", info)
    join = query.input
    output = query.output
    if isinstance(output, InsertInto) and output.is_fault:
        yield AppWarning(
            f"'insert into !{output.target}' writes to stream '{output.target}' itself, as in Siddhi, and not to its "
            "fault stream",
            output if output.span is not None else query,
            f"write 'insert into {output.target}' where that is meant",
        )
    if isinstance(join, JoinInput):
        left, right = join.left, join.right
        if left.alias is None and right.alias is None and _source(left) == _source(right):
            name = left.source
            yield AppWarning(
                f"both sides of a join are called '{name}'",
                join,
                f"'{name}.' means the left one; name them: {name} as l join {name} as r",
            )


def _source(side: object) -> tuple[object, ...]:
    return tuple(getattr(side, name) for name in ("source", "is_inner", "is_fault"))


def _likely(word: str, known: Iterable[str]) -> str | None:
    lowered = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.75)
    return lowered[close[0]] if close else None
