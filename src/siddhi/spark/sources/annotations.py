"""``@source`` and ``@sink`` of types that Spark supports: files, Kafka, logs, and generated rows.

They are removed from the app before it is planned, as the engine has no such extensions. Event time and watermark are options
of the source: ``@source(type='file', file.uri='/data/in', timestamp='ts', watermark='10 seconds', @map(type='parquet'))``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from siddhi._frozen import replace
from siddhi.errors import SiddhiAppCreationError, SiddhiAppError, SparkLoweringError, did_you_mean
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.definition import Attribute, StreamDefinition
from siddhi.query_api.span import Span
from siddhi.spark.sources.locations import relation
from siddhi.spark.sources.option_values import value_instead
from siddhi.spark.sources.options import KAFKA_UNSUPPORTED, unknown_option
from siddhi.types import AttributeType

__all__ = [
    "FILE_FORMATS",
    "LOG_LEVELS",
    "Connector",
    "connectors_of",
    "foreign_of",
    "refuse_connector",
    "refuse_foreign",
    "without_connectors",
]

FILE_FORMATS = ("parquet", "csv", "json", "orc")
"""Values of ``@map(type=...)`` of a file."""
LOG_LEVELS: Mapping[str, int | None] = {
    "OFF": None,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG,
}
"""Values of ``priority`` of a log sink."""
MODES = ("FAILFAST", "DROPMALFORMED", "PERMISSIVE")
"""Policies for invalid text: the query fails, the row is dropped, the value is null."""
_SERVED = {"source": ("file", "kafka", "rate"), "sink": ("file", "kafka", "log")}
_SHARED = ("timestamp", "watermark", "max.idle")
"""Options that all sources of a stream must share."""
_OWN = {
    ("source", "file"): ("file.uri", *_SHARED, "sequence"),
    ("source", "kafka"): ("bootstrap.servers", "topic", *_SHARED, "sequence"),
    ("source", "rate"): (*_SHARED, "sequence"),
    ("sink", "file"): ("file.uri",),
    ("sink", "kafka"): ("bootstrap.servers", "topic"),
    ("sink", "log"): ("prefix", "priority"),
}
_Mistake = Callable[[str, str], SiddhiAppError]


@dataclass(frozen=True, slots=True)
class Connector:
    """A source or sink; ``options`` are all elements of the annotation and its map, ``format`` is the type of its map."""

    stream: str
    direction: str
    type: str
    options: dict[str, str]
    format: str
    span: Span | None
    nested: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """Its name in messages."""
        return f"the {self.type} {self.direction} of '{self.stream}'"

    @property
    def sequence(self) -> tuple[str, ...]:
        """The columns that order rows of one ms."""
        return tuple(name for part in self.options.get("sequence", "").split(",") if (name := part.strip()))

    def extra(self) -> dict[str, str]:
        """Options for Spark's reader or writer."""
        own = ("type", *_OWN[self.direction, self.type])
        return {key: value for key, value in self.options.items() if key not in own}


def connectors_of(app: SiddhiApp) -> tuple[Connector, ...]:
    """Return the sources and sinks that Spark supports.

    Raises:
        SparkLoweringError: an option is missing, invalid or unknown; all of them are reported.
    """
    found: list[Connector] = []
    refused: list[SiddhiAppError] = []
    for definition in app.definitions:
        if isinstance(definition, StreamDefinition):
            made = [_connector(definition, a) for a in definition.annotations if _is_served(a)]
            for connector in made:
                refused += _mistakes(connector, definition.attributes)
            refused += _at_odds([connector for connector in made if connector.direction == "source"])
            found += made
    refused += _in_each_other(found)
    if refused:
        raise SparkLoweringError([error.located(source=app.source, app=app.name) for error in refused])
    return tuple(found)


def foreign_of(app: SiddhiApp) -> tuple[Connector, ...]:
    """Return the sources and sinks that Spark does not support: their streams need a binding or a sink."""
    return tuple(
        _connector(definition, annotation)
        for definition in app.definitions
        if isinstance(definition, StreamDefinition)
        for annotation in definition.annotations
        if _is_foreign(annotation)
    )


def refuse_foreign(found: Iterable[Connector], app: SiddhiApp) -> None:
    """Raise an error for unsupported sources and sinks that are needed.

    Raises:
        SparkLoweringError: there are some; all of them are reported.
    """
    refused = []
    for connector in found:
        if connector.direction == "source":
            message = f"Spark can't read {connector.what}, as it must read rows again after a failure"
            hint = f"use bind('{connector.stream}', frame, ...), or a source that keeps its events: kafka, file"
        else:
            message = f"Spark does not support {connector.what}"
            hint = f"use start(checkpoint, {{'{connector.stream}': sink}}), output('{connector.stream}'), or a sink of type kafka, file"
        error = SiddhiAppCreationError(message, code="E409", span=connector.span, hint=hint)
        refused.append(error.located(source=app.source, app=app.name))
    if refused:
        raise SparkLoweringError(refused)


def refuse_connector(connector: Connector, app: SiddhiApp, message: str, hint: str) -> SparkLoweringError:
    """Return an error for a source or sink that does not fit its stream, with its place."""
    error = SiddhiAppCreationError(message, code="E408", span=connector.span, hint=hint)
    return SparkLoweringError([error.located(source=app.source, app=app.name)])


def without_connectors(app: SiddhiApp) -> SiddhiApp:
    """Return the app without its sources and sinks, except those in memory."""
    definitions = tuple(
        replace(
            definition, annotations=tuple(a for a in definition.annotations if not (_is_served(a) or _is_foreign(a)))
        )
        if isinstance(definition, StreamDefinition)
        else definition
        for definition in app.definitions
    )
    return replace(app, definitions=definitions)


def _is_served(annotation: Annotation) -> bool:
    served = _SERVED.get(annotation.name.lower(), ())
    return (annotation.element("type") or "") in served


def _is_foreign(annotation: Annotation) -> bool:
    """Return whether an annotation is a source or sink of another type; those in memory become bindings and outputs."""
    here = {"source": "inMemory", "sink": "inMemory"}.get(annotation.name.lower())
    type_ = annotation.element("type")
    return here is not None and type_ is not None and type_ != here and not _is_served(annotation)


def _connector(definition: StreamDefinition, annotation: Annotation) -> Connector:
    direction, type_ = annotation.name.lower(), annotation.element("type") or ""
    own = ("type", *_OWN.get((direction, type_), ()))
    map_ = next((nested for nested in annotation.annotations if nested.name.lower() == "map"), None)
    format_ = (map_.element("type") if map_ is not None else None) or "json"
    options: dict[str, str] = {}
    for element in (*annotation.elements, *(e for e in (map_.elements if map_ is not None else ()) if e.key != "type")):
        if element.key is not None:
            lowered = element.key.lower()
            options.setdefault(lowered if lowered in own else element.key, element.value)
    nested = [f"@{a.name}" for a in annotation.annotations if a is not map_]
    nested += [f"@{a.name}" for a in (map_.annotations if map_ is not None else ())]
    span = annotation.span or definition.span
    return Connector(definition.id, direction, type_, options, format_, span, tuple(nested))


# --- invalid options


def _mistaken(connector: Connector) -> _Mistake:
    def mistake(message: str, hint: str) -> SiddhiAppError:
        return SiddhiAppCreationError(message, code="E408", span=connector.span, hint=hint)

    return mistake


def _mistakes(connector: Connector, attributes: Sequence[Attribute]) -> Iterator[SiddhiAppError]:
    mistake, options, what = _mistaken(connector), connector.options, connector.what
    readable = True
    if connector.type == "file":
        if "file.uri" not in options:
            yield mistake(f"{what} has no file.uri", "add file.uri='/data/trades'")
        if connector.format not in FILE_FORMATS:
            readable = False
            hint = f"use @map(type='parquet'), or one of {', '.join(FILE_FORMATS)}"
            yield mistake(f"{what} has the unsupported map '{connector.format}'", hint)
    if connector.type == "kafka":
        for option in ("bootstrap.servers", "topic"):
            if option not in options:
                yield mistake(f"{what} has no {option}", f"add {option}='...'")
        if connector.format != "json":
            yield mistake(
                f"{what} has the unsupported map '{connector.format}'", "use @map(type='json'), or bind a DataFrame"
            )
    for name in connector.nested:
        yield mistake(f"{what} has {name}, which Spark does not support", "map the rows in a query, or with Spark")
    own = _OWN[connector.direction, connector.type]
    for name in connector.extra() if readable else ():
        instead = unknown_option(connector.direction, connector.type, connector.format, name, own)
        if instead is not None:
            yield mistake(f"{what} has the unknown option '{name}'", instead)
        elif name.lower() in KAFKA_UNSUPPORTED:
            yield mistake(
                f"{what} has '{name}', which Spark sets itself", "use startingOffsets='earliest' for the first offset"
            )
        elif name.lower() == "mode" and options[name].upper() not in MODES:
            yield mistake(f"{what} has the unknown mode '{options[name]}'", f"use one of {', '.join(MODES)}")
        elif may_be := value_instead(name, options[name]):
            yield mistake(f"{what} has the invalid {name} '{options[name]}'", f"use {may_be}")
    for name, value in options.items():
        if connector.direction == "sink" and "{{" in value:
            yield mistake(
                f"{what} has '{name}', which can't differ by row on Spark", "use a stream and a sink for each value"
            )
    if connector.type == "log" and (priority := options.get("priority", "INFO")).upper() not in LOG_LEVELS:
        yield mistake(f"{what} has the unknown priority '{priority}'", f"use one of {', '.join(LOG_LEVELS)}")
    if connector.direction == "source":
        yield from _mistakes_of_time(connector, attributes)


def _mistakes_of_time(connector: Connector, attributes: Sequence[Attribute]) -> Iterator[SiddhiAppError]:
    mistake, what = _mistaken(connector), connector.what
    types = {attribute.name: attribute.type for attribute in attributes}
    time = connector.options.get("timestamp")
    if time is None:
        yield mistake(f"{what} has no timestamp", "name the attribute with the event time: timestamp='ts'")
    elif time not in types:
        yield mistake(
            f"{what}: the stream has no attribute '{time}'{did_you_mean(time, types)}",
            "name an attribute with timestamp",
        )
    elif types[time] not in (AttributeType.INT, AttributeType.LONG):
        yield mistake(f"{what}: event time '{time}' has type {types[time]}", "use a long of ms since 1970")
    for name in connector.sequence:
        if name not in types and connector.type != "file":
            yield mistake(
                f"{what}: the stream has no attribute '{name}'{did_you_mean(name, types)}",
                "name attributes with sequence, separated by commas",
            )
        elif types.get(name, AttributeType.LONG) not in (AttributeType.INT, AttributeType.LONG):
            yield mistake(
                f"{what}: sequence '{name}' has type {types[name]}", "use integers, which order rows of one ms"
            )


def _at_odds(sources: Sequence[Connector]) -> Iterator[SiddhiAppError]:
    """Yield options in which the sources of one stream differ, which are one input."""
    for other in sources[1:]:
        for option in _SHARED:
            first, second = sources[0].options.get(option), other.options.get(option)
            if first != second:
                yield _mistaken(other)(
                    f"the sources of '{other.stream}' differ in {option}: {_quoted(first)} and {_quoted(second)}",
                    f"use one {option}, or a stream per source, inserted into one",
                )


def _in_each_other(connectors: Sequence[Connector]) -> Iterator[SiddhiAppError]:
    """Yield sinks that write to the folder of another sink, or where the app reads."""
    files = [
        (each, each.options["file.uri"].rstrip("/") or "/")
        for each in connectors
        if each.type == "file" and "file.uri" in each.options
    ]
    sources = [each for each in files if each[0].direction == "source"]
    sinks = [each for each in files if each[0].direction == "sink"]
    for place, (sink, folder) in enumerate(sinks):
        for other, uri in (*sinks[:place], *sources):
            lies = relation(folder, uri)
            if lies is None:
                continue
            where = "" if lies == "is" else f", which {lies} {uri}"
            if other.direction == "source":
                conflict, hint = f"where {other.what} reads", "use a folder apart from all sources"
            else:
                conflict, hint = f"as does {other.what}", "use a folder per sink"
            yield _mistaken(sink)(f"{sink.what} writes to {folder}{where}, {conflict}", hint)


def _quoted(value: str | None) -> str:
    return "none" if value is None else f"'{value}'"
