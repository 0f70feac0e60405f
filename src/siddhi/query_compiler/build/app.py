"""Builds definitions, annotations and the app: the top of the builders, one method per rule of the grammar.

    ExpressionBuilder <- InputBuilder <- QueryBuilder <- Builder

The parser calls the method named like the rule (or its alias) when the rule is complete, with the offsets of its text and
the values of its children; so nodes are built bottom-up, and no tree stands between the text and the object model.
"""

from __future__ import annotations

from siddhi._frozen import replace

from siddhi.errors import DuplicateAttributeError
from siddhi.query_api import (
    AggregationDefinition,
    Annotation,
    AnyDefinition,
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
    find_annotation,
)
from siddhi.query_compiler.build.inputs import SourceName
from siddhi.query_compiler.build.queries import QueryBuilder
from siddhi.query_compiler.checks import check_names
from siddhi.query_compiler.source import Source
from siddhi.query_compiler.time_units import DURATIONS, WORDS
from siddhi.query_compiler.keywords import KEYWORDS
from siddhi.types import AttributeType

__all__ = ["Builder"]

Statement = AnyDefinition | Query | Partition
TYPES = {kind.value: kind for kind in AttributeType}


class AppAnnotation(Annotation):
    """``@app:name(...)``, until the app takes it."""


class Builder(QueryBuilder):
    """Builds everything an app can say."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._app_annotations: list[Annotation] = []
        self._has_begun = False

    @property
    def app_name(self) -> str | None:
        """The name of the app, as far as it has been read."""
        name = find_annotation(tuple(self._app_annotations), "name")
        return name.elements[0].value if name is not None and name.elements else None

    # ---- the app

    def app(self, *statements: Statement) -> SiddhiApp:
        definitions: list[AnyDefinition] = []
        executions: list[Query | Partition] = []
        for statement in statements:
            if isinstance(statement, (Query, Partition)):
                executions.append(statement)
            elif executions:
                hint = "move it up, in front of the first query"
                raise self.error("definitions stand before all queries", code="E104", hint=hint, span=statement.span)
            else:
                definitions.append(statement)
        comment = self.source.open_comment
        if comment is not None and not executions:
            raise self.source.unclosed_comment()
        if not definitions:
            span = executions[0].span if executions else self.source.span(0, 0)
            hint = "an app starts with at least one definition: define stream S (price double);"
            message = "nothing is defined that this could read" if executions else "the app is empty"
            raise self.error(message, code="E104", hint=hint, span=span)
        app = SiddhiApp(
            annotations=tuple(self._app_annotations),
            definitions=tuple(definitions),
            executions=tuple(executions),
            source=self.source.text,
            open_comment=None if comment is None else self.source.span(comment, comment + 2),
            span=self.here,
        )
        return check_names(app)

    def statement(self, annotations: tuple[Annotation, ...], body: Statement) -> Statement:
        """A definition, query or partition; its place is that of its own text, without the annotations."""
        if not annotations:
            return body
        if isinstance(body, (TriggerDefinition, FunctionDefinition)):
            what = "trigger" if isinstance(body, TriggerDefinition) else "function"
            raise self.error(f"a {what} takes no annotations", code="E104", span=annotations[0].span)
        return replace(body, annotations=annotations)

    # ---- annotations

    def annotations(self, *annotations: Annotation) -> tuple[Annotation, ...]:
        """Annotations of one statement; those of the app stand in front of the first."""
        own = []
        for annotation in annotations:
            if not isinstance(annotation, AppAnnotation):
                own.append(annotation)
            elif own or self._has_begun:
                hint = "move it to the top of the app"
                raise self.error(
                    "annotations of the app stand before everything else", code="E104", hint=hint, span=annotation.span
                )
            else:
                plain = Annotation(annotation.name, annotation.elements, span=annotation.span)
                self._app_annotations.append(plain)
        self._has_begun = True
        return tuple(own)

    def annotation(self, name: tuple[str | None, str], parts: tuple[Element | Annotation, ...] | None) -> Annotation:
        space, local = name
        span = self.here
        elements = tuple(part for part in parts or () if isinstance(part, Element))
        nested = tuple(part for part in parts or () if isinstance(part, Annotation))
        for inner in nested:
            if isinstance(inner, AppAnnotation) or space is not None:
                raise self.error(
                    "annotations of the app can't be nested and hold no others", code="E104", span=inner.span
                )
        if space is None:
            return self.above(Annotation(local, elements, nested, span=span), nested)
        if space.lower() != "app":
            hint = f"only annotations of the app have a prefix: @app:{local}"
            raise self.error(f"unknown prefix '{space}' of an annotation", code="E104", hint=hint)
        return AppAnnotation(local, elements, span=span)

    def plain_annotation_name(self, name: str) -> tuple[str | None, str]:
        return None, name

    def spaced_annotation_name(self, space: str, name: str) -> tuple[str | None, str]:
        return space, name

    def annotation_parts(self, *parts: Element | Annotation) -> tuple[Element | Annotation, ...]:
        return parts

    def element(self, key: str | None, value: str) -> Element:
        return Element(key, value, span=self.here)

    def key(self, *parts: str) -> str:
        return "".join(parts)

    # ---- definitions

    def stream_definition(
        self,
        source: SourceName,
        attributes: tuple[Attribute, ...],
    ) -> StreamDefinition:
        return StreamDefinition(self.defined(source), attributes, span=self.here)

    def table_definition(
        self,
        source: SourceName,
        attributes: tuple[Attribute, ...],
    ) -> TableDefinition:
        return TableDefinition(self.defined(source), attributes, span=self.here)

    def window_definition(
        self,
        source: SourceName,
        attributes: tuple[Attribute, ...],
        window: FunctionCall,
        output: OutputEventType | None,
    ) -> WindowDefinition:
        return WindowDefinition(
            self.defined(source),
            attributes,
            window=window,
            output=output,
            span=self.here,
        )

    def defined(self, source: SourceName) -> str:
        if source.is_inner:
            hint = "'insert into #S' inside a partition defines it"
            raise self.error("an inner stream can't be defined", code="E105", hint=hint, span=source.span)
        if source.is_fault:
            hint = "@OnError(action='stream') on the stream makes its fault stream"
            raise self.error("a fault stream can't be defined", code="E105", hint=hint, span=source.span)
        return source.name

    def attributes(self, *attributes: Attribute) -> tuple[Attribute, ...]:
        seen: dict[str, Attribute] = {}
        for attribute in attributes:
            if attribute.name in seen:
                raise DuplicateAttributeError(
                    f"'{attribute.name}' is already defined, with type {seen[attribute.name].type}",
                    span=attribute.span,
                    source=self.source.text,
                )
            seen[attribute.name] = attribute
        return attributes

    def attribute(self, name: str, word: str) -> Attribute:
        return Attribute(name, TYPES[word.lower()], span=self.here)

    def identifier(self, name: str) -> str:
        """A name that can't be a keyword unless it is quoted."""
        if name.lower() in KEYWORDS and self.text[:1] != "`":
            hint = f"quote it: `{name}`"
            raise self.error(f"the keyword '{name}' can't be a name here", code="E105", hint=hint)
        return name

    def periodic_trigger(self, name: str, milliseconds: int) -> TriggerDefinition:
        return TriggerDefinition(name, every_ms=milliseconds, span=self.here)

    def scheduled_trigger(self, name: str, at: str) -> TriggerDefinition:
        return TriggerDefinition(name, at=at, span=self.here)

    def function_definition(
        self,
        name: str,
        language: str,
        type_word: str,
        body: str,
    ) -> FunctionDefinition:
        return FunctionDefinition(name, language, TYPES[type_word.lower()], body, span=self.here)

    def aggregation_definition(
        self,
        name: str,
        source: SingleInput,
        selector: Selector,
        by: Variable | None,
        durations: tuple[tuple[Duration, ...], bool],
    ) -> AggregationDefinition:
        if source.window is not None:
            raise self.error("the input of an aggregation can't have a window", code="E109", span=source.window.span)
        return AggregationDefinition(
            id=name,
            input=source,
            selector=selector,
            aggregate_by=by,
            durations=durations[0],
            is_range=durations[1],
            span=self.here,
        )

    def aggregation_selection(
        self,
        attributes: tuple[OutputAttribute, ...],
        group_by: tuple[Variable, ...] | None,
    ) -> Selector:
        return Selector(attributes, group_by or (), span=self.here)

    def duration_range(self, first: str, last: str) -> tuple[tuple[Duration, ...], bool]:
        return (self.bucket(first), self.bucket(last)), True

    def duration_list(self, *words: str) -> tuple[tuple[Duration, ...], bool]:
        return tuple(self.bucket(word) for word in words), False

    def bucket(self, word: str) -> Duration:
        duration = DURATIONS.get(WORDS[word.lower()])
        if duration is None:
            hint = "use sec, min, hour, day, month or year"
            raise self.error(f"an aggregation can't keep '{word}'", code="E112", hint=hint)
        return duration
