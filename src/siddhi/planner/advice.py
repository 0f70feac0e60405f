"""What an app says that has no effect, or another than it seems. Siddhi takes such apps, so they are told, not refused."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from difflib import get_close_matches

from siddhi.query_api import (
    Annotation,
    InsertInto,
    JoinInput,
    Partition,
    Pattern,
    Query,
    Sequence,
    SiddhiApp,
    StreamDefinition,
    WindowDefinition,
)
from siddhi.query_api.span import Node

__all__ = ["advice"]

_ELEMENTS: dict[str, frozenset[str]] = {
    "app:playback": frozenset({"idle.time", "increment", "timers"}),
    "app:statistics": frozenset({"reporter", "interval", "include", "enable"}),
    "app:partialmatches": frozenset({"max", "overflow"}),
    "async": frozenset({"buffer.size", "workers", "batch.size.max"}),
    "onerror": frozenset({"action"}),
    "info": frozenset({"name", "description", "max.partial.matches", "partial.matches.overflow"}),
    "purge": frozenset({"enable", "interval", "idle.period"}),
}
"""Keys of annotations (in lower case) that are read by key."""
_ANNOTATIONS = (
    "app:name",
    "app:description",
    "app:playback",
    "app:statistics",
    "app:partialMatches",
    "app:aggTimeZone",
    "app:limits",
    "limit",
    "async",
    "OnError",
    "info",
    "purge",
    "retentionPeriod",
    "PrimaryKey",
    "Index",
    "synchronized",
    "source",
    "sink",
    "map",
    "attributes",
    "payload",
    "distribution",
    "destination",
    "store",
    "cache",
    "config",
    "dist",
)
"""Names that mean something here, or to Siddhi. Others are taken for somebody's own; only misspelt ones are told."""


def advice(app: SiddhiApp) -> list[str]:
    """One line for each thing that has no effect, or another than it seems, in the order of the text."""
    found = [line for annotation in app.annotations for line in _annotation("app:", annotation)]
    streams = {definition.id for definition in app.definitions if isinstance(definition, StreamDefinition)}
    for definition in app.definitions:
        annotations = getattr(definition, "annotations", ())
        found += _annotations(annotations)
        found += _caches(annotations)
        if isinstance(definition, WindowDefinition):
            found += _window(definition, streams)
    for execution in app.executions:
        found += _annotations(execution.annotations)
        for query in execution.queries if isinstance(execution, Partition) else (execution,):
            if query is not execution:
                found += _annotations(query.annotations)
            found += _query(query)
    return found


def _annotations(annotations: Iterable[Annotation]) -> Iterator[str]:
    for annotation in annotations:
        yield from _annotation("", annotation)
        yield from _annotations(annotation.annotations)


def _caches(annotations: Iterable[Annotation]) -> Iterator[str]:
    for annotation in annotations:
        if annotation.name.lower() == "cache":
            yield (
                f"@{annotation.name} in front of a definition is ignored{_line(annotation)}: it stands inside of @store, as in "
                "@store(type = '...', @cache(size = '...'))"
            )


def _annotation(prefix: str, annotation: Annotation) -> Iterator[str]:
    name = prefix + annotation.name
    known = _ELEMENTS.get(name.lower())
    if known is not None:
        for element in annotation.elements:
            if element.key is not None and element.key.lower() not in known:
                place = element if element.span is not None else annotation
                likely = _likely(element.key, known)
                hint = f"did you mean '{likely}'?" if likely else f"it takes {', '.join(sorted(known))}"
                yield f"@{name} has no element '{element.key}', it is ignored{_line(place)}: {hint}"
    elif name.lower() not in {other.lower() for other in _ANNOTATIONS}:
        likely = _likely(name, _ANNOTATIONS)
        if likely is not None:
            yield f"@{name} is unknown and ignored{_line(annotation)}: did you mean '@{likely}'?"


def _window(window: WindowDefinition, streams: Container[str]) -> Iterator[str]:
    if window.id in streams:
        yield (
            f"window '{window.id}' hides the stream of that name{_line(window)}: queries read and fill the window, and "
            "nothing can be sent to the stream; rename one of them"
        )
    for annotation in window.annotations:
        if annotation.name.lower() == "onerror":
            place = annotation if annotation.span is not None else window
            yield (
                f"@{annotation.name} on a window is ignored{_line(place)}: streams have it, such as one that a query fills "
                "from the window"
            )


def _query(query: Query) -> Iterator[str]:
    if not isinstance(query.input, (Pattern, Sequence)):
        for info in (annotation for annotation in query.annotations if annotation.name.lower() == "info"):
            if info.element("max.partial.matches") is not None:
                yield f"max.partial.matches says nothing of a query without a pattern or sequence{_line(info)}"
    join = query.input
    output = query.output
    if isinstance(output, InsertInto) and output.is_fault:
        place = output if output.span is not None else query
        yield (
            f"'insert into !{output.target}' writes to stream '{output.target}' itself, as in Siddhi, and not to its "
            f"fault stream{_line(place)}: write 'insert into {output.target}' where that is meant"
        )
    if isinstance(join, JoinInput):
        left, right = join.left, join.right
        if left.alias is None and right.alias is None and _source(left) == _source(right):
            name = left.source
            yield (
                f"both sides of a join are called '{name}'{_line(join)}: '{name}.' means the left one; "
                f"name them: {name} as l join {name} as r"
            )


def _source(side: object) -> tuple[object, ...]:
    return tuple(getattr(side, name) for name in ("source", "is_inner", "is_fault"))


def _likely(word: str, known: Iterable[str]) -> str | None:
    lowered = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.75)
    return lowered[close[0]] if close else None


def _line(node: Node) -> str:
    return "" if node.span is None else f" (line {node.span.line})"
