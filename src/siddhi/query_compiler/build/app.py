"""Builder of definitions, annotations and the app: the last of the builder classes, with one method per grammar rule.

    ExpressionBuilder <- InputBuilder <- QueryBuilder <- Builder

When a rule is complete, the parser calls the method with the name of the rule (or its alias), with the values of its
children. So nodes are built bottom-up, without a parse tree between the text and the object model.
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
from siddhi.query_compiler.time_units import DURATIONS, UNIT_NAMES
from siddhi.query_compiler.keywords import KEYWORDS
from siddhi.types import AttributeType

__all__ = ["Builder"]

Statement = AnyDefinition | Query | Partition
TYPES = {kind.value: kind for kind in AttributeType}


class AppAnnotation(Annotation):
    """``@app:name(...)``, before it is added to the app."""


class Builder(QueryBuilder):
    """Builder of all nodes of an app."""

    def __init__(self, source: Source, *, needs_definitions: bool = True) -> None:
        super().__init__(source)
        self.needs_definitions = needs_definitions
        self._app_annotations: list[Annotation] = []
        self._has_begun = False

    @property
    def app_name(self) -> str | None:
        """The name of the app, or None if it has not been read yet."""
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
                hint = "move it before the first query"
                raise self.error("definitions must come before all queries", code="E104", hint=hint, span=statement.span)
            else:
                definitions.append(statement)
        comment = self.source.open_comment
        if comment is not None and not executions:
            raise self.source.unclosed_comment()
        if not definitions and (self.needs_definitions or not executions):
            span = executions[0].span if executions else self.source.span(0, 0)
            hint = "an app starts with at least one definition: define stream S (price double);"
            message = "the app has no definitions, so the query has nothing to read" if executions else "the app is empty"
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
        """Return a definition, query or partition; its span does not include the annotations."""
        if not annotations:
            return body
        if isinstance(body, (TriggerDefinition, FunctionDefinition)):
            kind = "trigger" if isinstance(body, TriggerDefinition) else "function"
            raise self.error(f"a {kind} can't have annotations", code="E104", span=annotations[0].span)
        return replace(body, annotations=annotations)

    # ---- annotations

    def annotations(self, *annotations: Annotation) -> tuple[Annotation, ...]:
        """Return the annotations of one statement; those of the app come before the first statement."""
        own = []
        for annotation in annotations:
            if not isinstance(annotation, AppAnnotation):
                own.append(annotation)
            elif own or self._has_begun:
                hint = "move it to the top of the app"
                raise self.error(
                    "app annotations must come before everything else", code="E104", hint=hint, span=annotation.span
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
                    "app annotations can't be nested or contain annotations", code="E104", span=inner.span
                )
        if space is None:
            return self.above(Annotation(local, elements, nested, span=span), nested)
        if space.lower() != "app":
            hint = f"only app annotations have a prefix: @app:{local}"
            raise self.error(f"unknown annotation prefix '{space}'", code="E104", hint=hint)
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
            hint = "@OnError(action='stream') on the stream creates its fault stream"
            raise self.error("a fault stream can't be defined", code="E105", hint=hint, span=source.span)
        return source.name

    def attributes(self, *attributes: Attribute) -> tuple[Attribute, ...]:
        seen: dict[str, Attribute] = {}
        for attribute in attributes:
            if attribute.name in seen:
                raise DuplicateAttributeError(
                    f"duplicate attribute '{attribute.name}': already defined with type {seen[attribute.name].type}",
                    span=attribute.span,
                    source=self.source.text,
                )
            seen[attribute.name] = attribute
        return attributes

    def attribute(self, name: str, word: str) -> Attribute:
        return Attribute(name, TYPES[word.lower()], span=self.here)

    def identifier(self, name: str) -> str:
        """Return a name, which must not be a keyword unless it is quoted."""
        if name.lower() in KEYWORDS and self.text[:1] != "`":
            hint = f"put it in back quotes: `{name}`"
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
        duration = DURATIONS.get(UNIT_NAMES[word.lower()])
        if duration is None:
            hint = "use sec, min, hour, day, month or year"
            raise self.error(f"unsupported duration '{word}' of an aggregation", code="E112", hint=hint)
        return duration
