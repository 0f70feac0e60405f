"""Generate reference pages of extensions as Markdown from their metadata."""

from __future__ import annotations

from collections.abc import Iterator

from siddhi.extension.connectors import (
    ConnectorMetadata,
    ConnectorOption,
    DistributionStrategyMetadata,
    SinkMapperMetadata,
    SinkMetadata,
    SourceMapperMetadata,
    SourceMetadata,
    StoreMetadata,
)
from siddhi.extension.metadata import (
    AggregatorMetadata,
    ExtensionMetadata,
    FunctionMetadata,
    IncrementalAggregatorMetadata,
    Overload,
    Parameter,
    Repeat,
    ScriptLanguageMetadata,
    StreamFunctionMetadata,
    StreamProcessorMetadata,
    WindowMetadata,
)
from siddhi.extension.registry import Registry
from siddhi.types import AttributeType

__all__ = ["reference_lines", "reference_page", "signature"]

_CHAPTERS: tuple[tuple[str, type[ExtensionMetadata]], ...] = (
    ("Functions", FunctionMetadata),
    ("Aggregators", AggregatorMetadata),
    ("Incremental aggregators", IncrementalAggregatorMetadata),
    ("Stream functions", StreamFunctionMetadata),
    ("Stream processors", StreamProcessorMetadata),
    ("Windows", WindowMetadata),
    ("Script languages", ScriptLanguageMetadata),
    ("Sources", SourceMetadata),
    ("Source mappers", SourceMapperMetadata),
    ("Sinks", SinkMetadata),
    ("Sink mappers", SinkMapperMetadata),
    ("Distribution strategies", DistributionStrategyMetadata),
    ("Stores", StoreMetadata),
)


def reference_page(registry: Registry, namespace: str | None = None) -> str:
    """Return the reference page of a registry, with one chapter per kind, sorted by name.

    Args:
        namespace: describe its extensions only.
    """
    lines = ["# Extensions" if namespace is None else f"# Namespace `{namespace}`"]
    for title, kind in _CHAPTERS:
        found = sorted(
            (one for one in registry.all(kind) if namespace is None or one.namespace == namespace),
            key=lambda metadata: metadata.full_name.lower(),
        )
        if found:
            lines += ["", f"## {title}"]
            for metadata in found:
                lines += ["", f"### {metadata.full_name}", *reference_lines(metadata)]
    return "\n".join(lines) + "\n"


def signature(metadata: ExtensionMetadata, overload: Overload) -> str:
    """Return the signature of an overload, such as ``length(int window.length)``."""
    parts = [f"{_types_text(parameter)} {parameter.name}" for parameter in overload.parameters]
    if overload.repeat is not Repeat.NO and overload.parameters[-1].name != "...":
        parts.append("...")
    same = ", all of one type" if overload.same_type and len(parts) > 1 else ""
    return f"{metadata.full_name}({', '.join(parts)}){same}"


def reference_lines(metadata: ExtensionMetadata) -> Iterator[str]:
    """Yield the lines below the title of an extension: description, signatures, parameters or options, and an example."""
    if metadata.description:
        yield ""
        yield metadata.description
    if metadata.deprecated is not None:
        yield ""
        yield f"Deprecated: {metadata.deprecated}."
    if metadata.overloads:
        yield ""
    for overload in metadata.overloads:
        yield f"- `{signature(metadata, overload)}`{_returns_text(metadata)}"
    if isinstance(metadata, StreamProcessorMetadata) and metadata.appends and not callable(metadata.appends):
        yield ""
        yield f"Appends {', '.join(f'`{attribute.name}` {attribute.type}' for attribute in metadata.appends)}."
    if isinstance(metadata, FunctionMetadata) and metadata.nulls is not None:
        yield ""
        yield metadata.nulls.value
    if metadata.results:
        yield ""
        yield from (f"- `{call}` is `{_literal(value)}`" for call, value in metadata.results)
    notes = dict(note for overload in metadata.overloads for note in map(_note, overload.parameters) if note[1])
    if notes:
        yield ""
    for name, note in notes.items():
        yield f"`{name}`: {note}  "
    if isinstance(metadata, ConnectorMetadata) and metadata.options:
        yield ""
        yield from map(_option_line, metadata.options)
    if metadata.example:
        yield ""
        yield "```sql"
        yield metadata.example
        yield "```"


def _literal(value: object) -> str:
    """Return a value as a reader of SiddhiQL expects it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _option_line(option: ConnectorOption) -> str:
    notes = [note for note, holds in (("required", option.required), ("dynamic", option.dynamic)) if holds]
    said = "; ".join(part for part in (option.description, *notes) if part)
    return f"- `{option.name}`{f': {said}' if said else ''}"


def _returns_text(metadata: ExtensionMetadata) -> str:
    if isinstance(metadata, (FunctionMetadata, AggregatorMetadata, IncrementalAggregatorMetadata)):
        fixed = isinstance(metadata.returns, AttributeType)
        return f" → {metadata.returns}" if fixed else " → depends on the arguments"
    return ""


def _note(parameter: Parameter) -> tuple[str, str]:
    kind = ""
    if not parameter.dynamic:
        kind = "literal"
    elif parameter.attribute_only:
        kind = "attribute"
    elif parameter.plain:
        kind = "literal or attribute"
    elif parameter.event_only:
        kind = "event"
    return parameter.name, "; ".join(part for part in (parameter.description, kind) if part)


def _types_text(parameter: Parameter) -> str:
    if parameter.event_only:
        return "event"
    if len(parameter.types) == len(AttributeType):
        return "any"
    return "|".join(str(type_) for type_ in AttributeType if type_ in parameter.types)
