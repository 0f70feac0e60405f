"""Builds definitions, annotations and the app: the top of the builders, one method per rule of the grammar.

    ExpressionBuilder <- InputBuilder <- QueryBuilder <- Builder

The parser calls the method named like the rule (or its alias) when the rule is complete, with the offsets of its text and
the values of its children; so nodes are built bottom-up, and no tree stands between the text and the object model.
"""

from __future__ import annotations

from siddhi.errors import DuplicateAttributeError
from siddhi.query_api import (
    AggregationDefinition,
    Annotation,
    Attribute,
    Duration,
    Element,
    FunctionCall,
    FunctionDefinition,
    OutputAttribute,
    OutputEventType,
    Partition,
    Query,
    Selector,
    SiddhiApp,
    SingleInput,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    Variable,
    WindowDefinition,
)
from siddhi.query_api.app import AnyDefinition
from siddhi.query_compiler.build_inputs import SourceName
from siddhi.query_compiler.build_queries import QueryBuilder
from siddhi.query_compiler.checks import check_names
from siddhi.query_compiler.scanner import STRICT_WORDS
from siddhi.query_compiler.source import Source
from siddhi.query_compiler.time_units import DURATIONS, WORDS
from siddhi.types import AttributeType

__all__ = ["Builder"]

TYPES = {kind.value: kind for kind in AttributeType}


class AppAnnotation(Annotation):
    """``@app:name(...)``, until the app takes it."""


class Builder(QueryBuilder):
    """Builds everything an app can say."""

    def __init__(self, source: Source, keywords: frozenset[str]) -> None:
        super().__init__(source)
        self._keywords = keywords | STRICT_WORDS
        self._app_annotations: list[Annotation] = []
        self._has_begun = False

    # ---- the app

    def app(self, begin: int, end: int, *statements: AnyDefinition | Query | Partition) -> SiddhiApp:
        definitions: list[AnyDefinition] = []
        executions: list[Query | Partition] = []
        for statement in statements:
            if isinstance(statement, (Query, Partition)):
                executions.append(statement)
            elif executions:
                hint = "move it up, in front of the first query"
                raise self.refused(statement, "definitions stand before all queries", "E104", hint)
            else:
                definitions.append(statement)
        if not definitions:
            message = "the app defines nothing" if executions else "the app is empty"
            hint = "an app starts with at least one definition: define stream S (price double);"
            raise self.source.error(message, begin, min(begin + 4, end), code="E104", hint=hint)
        app = SiddhiApp(
            annotations=tuple(self._app_annotations),
            definitions=tuple(definitions),
            executions=tuple(executions),
            source=self.text,
            span=self.span(begin, end),
        )
        return check_names(app)

    # ---- annotations

    def annotations(self, begin: int, end: int, *annotations: Annotation) -> tuple[Annotation, ...]:
        """Annotations of one statement; those of the app stand in front of the first."""
        own = []
        for annotation in annotations:
            if not isinstance(annotation, AppAnnotation):
                own.append(annotation)
            elif own or self._has_begun:
                hint = "move it to the top of the app"
                raise self.refused(annotation, "annotations of the app stand before everything else", "E104", hint)
            else:
                plain = Annotation(annotation.name, annotation.elements, span=annotation.span)
                self._app_annotations.append(plain)
        self._has_begun = True
        return tuple(own)

    def annotation(
        self, begin: int, end: int, name: tuple[str | None, str], parts: tuple[Element | Annotation, ...] | None
    ) -> Annotation:
        space, local = name
        span = self.span(begin, end)
        elements = tuple(part for part in parts or () if isinstance(part, Element))
        nested = tuple(part for part in parts or () if isinstance(part, Annotation))
        for inner in nested:
            if isinstance(inner, AppAnnotation) or space is not None:
                raise self.refused(inner, "annotations of the app can't be nested and hold no others", "E104")
        if space is None:
            return Annotation(local, elements, nested, span=span)
        if space.lower() != "app":
            hint = f"only annotations of the app have a prefix: @app:{local}"
            raise self.source.error(f"unknown prefix '{space}' of an annotation", begin, end, code="E104", hint=hint)
        return AppAnnotation(local, elements, span=span)

    def plain_annotation_name(self, begin: int, end: int, name: str) -> tuple[str | None, str]:
        return None, name

    def spaced_annotation_name(self, begin: int, end: int, space: str, name: str) -> tuple[str | None, str]:
        return space, name

    def annotation_parts(self, begin: int, end: int, *parts: Element | Annotation) -> tuple[Element | Annotation, ...]:
        return parts

    def element(self, begin: int, end: int, key: str | None, value: str) -> Element:
        return Element(key, value, span=self.span(begin, end))

    def key(self, begin: int, end: int, *parts: str) -> str:
        return "".join(parts)

    # ---- definitions

    def stream_definition(
        self,
        begin: int,
        end: int,
        annotations: tuple[Annotation, ...],
        source: SourceName,
        attributes: tuple[Attribute, ...],
    ) -> StreamDefinition:
        return StreamDefinition(self.defined(source, begin, end), attributes, annotations, span=self.span(begin, end))

    def table_definition(
        self,
        begin: int,
        end: int,
        annotations: tuple[Annotation, ...],
        source: SourceName,
        attributes: tuple[Attribute, ...],
    ) -> TableDefinition:
        return TableDefinition(self.defined(source, begin, end), attributes, annotations, span=self.span(begin, end))

    def window_definition(
        self,
        begin: int,
        end: int,
        annotations: tuple[Annotation, ...],
        source: SourceName,
        attributes: tuple[Attribute, ...],
        window: FunctionCall,
        output: OutputEventType | None,
    ) -> WindowDefinition:
        return WindowDefinition(
            self.defined(source, begin, end),
            attributes,
            annotations,
            window=window,
            output=output,
            span=self.span(begin, end),
        )

    def defined(self, source: SourceName, begin: int, end: int) -> str:
        if source.is_inner:
            hint = "'insert into #S' inside a partition defines it"
            raise self.source.error("an inner stream can't be defined", begin, end, code="E105", hint=hint)
        if source.is_fault:
            hint = "@OnError(action='stream') on the stream makes its fault stream"
            raise self.source.error("a fault stream can't be defined", begin, end, code="E105", hint=hint)
        return source.name

    def attributes(self, begin: int, end: int, *attributes: Attribute) -> tuple[Attribute, ...]:
        seen: dict[str, Attribute] = {}
        for attribute in attributes:
            if attribute.name in seen:
                raise DuplicateAttributeError(
                    f"'{attribute.name}' is already defined, with type {seen[attribute.name].type}",
                    span=attribute.span,
                    source=self.text,
                )
            seen[attribute.name] = attribute
        return attributes

    def attribute(self, begin: int, end: int, name: str, word: str) -> Attribute:
        return Attribute(name, TYPES[word.lower()], span=self.span(begin, end))

    def identifier(self, begin: int, end: int, name: str) -> str:
        """A name that can't be a keyword unless it is quoted."""
        if name.lower() in self._keywords and self.text[begin] != "`":
            hint = f"quote it: `{name}`"
            raise self.source.error(f"the keyword '{name}' can't be a name here", begin, end, code="E105", hint=hint)
        return name

    def periodic_trigger(
        self, begin: int, end: int, annotations: tuple[Annotation, ...], name: str, milliseconds: int
    ) -> TriggerDefinition:
        self.without_annotations(annotations, "trigger")
        return TriggerDefinition(name, every_ms=milliseconds, span=self.span(begin, end))

    def scheduled_trigger(
        self, begin: int, end: int, annotations: tuple[Annotation, ...], name: str, at: str
    ) -> TriggerDefinition:
        self.without_annotations(annotations, "trigger")
        return TriggerDefinition(name, at=at, span=self.span(begin, end))

    def function_definition(
        self,
        begin: int,
        end: int,
        annotations: tuple[Annotation, ...],
        name: str,
        language: str,
        type_word: str,
        body: str,
    ) -> FunctionDefinition:
        self.without_annotations(annotations, "function")
        return FunctionDefinition(name, language, TYPES[type_word.lower()], body, span=self.span(begin, end))

    def without_annotations(self, annotations: tuple[Annotation, ...], what: str) -> None:
        if annotations:
            raise self.refused(annotations[0], f"a {what} takes no annotations", "E104")

    def aggregation_definition(
        self,
        begin: int,
        end: int,
        annotations: tuple[Annotation, ...],
        name: str,
        source: SingleInput,
        selector: Selector,
        by: Variable | None,
        durations: tuple[tuple[Duration, ...], bool],
    ) -> AggregationDefinition:
        if source.window is not None:
            raise self.refused(source.window, "the input of an aggregation can't have a window", "E109")
        return AggregationDefinition(
            id=name,
            annotations=annotations,
            input=source,
            selector=selector,
            aggregate_by=by,
            durations=durations[0],
            is_range=durations[1],
            span=self.span(begin, end),
        )

    def aggregation_selection(
        self,
        begin: int,
        end: int,
        attributes: tuple[OutputAttribute, ...],
        group_by: tuple[Variable, ...] | None,
    ) -> Selector:
        return Selector(attributes, group_by or (), span=self.span(begin, end))

    def duration_range(self, begin: int, end: int, first: str, last: str) -> tuple[tuple[Duration, ...], bool]:
        return (self.bucket(first, begin, end), self.bucket(last, begin, end)), True

    def duration_list(self, begin: int, end: int, *words: str) -> tuple[tuple[Duration, ...], bool]:
        return tuple(self.bucket(word, begin, end) for word in words), False

    def bucket(self, word: str, begin: int, end: int) -> Duration:
        duration = DURATIONS.get(WORDS[word.lower()])
        if duration is None:
            hint = "use sec, min, hour, day, month or year"
            raise self.source.error(f"an aggregation can't keep '{word}'", begin, end, code="E112", hint=hint)
        return duration
