"""Bind ``@temporal``: the model of a stream, its policy for late items, and the CTIs that the engine makes."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from siddhi.errors import SiddhiParserError
from siddhi.planner.bind.annotations import only
from siddhi.planner.plan.temporal import AdvancePlan, CorrectionPlan, LatePolicy, TemporalModel, TemporalStreamPlan
from siddhi.planner.problems import close_to, creation_error, located
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.definition import StreamDefinition
from siddhi.query_api.span import Node
from siddhi.query_compiler import parse_time
from siddhi.types import AttributeType

__all__ = ["plan_correction", "plan_temporal"]

_Choice = TypeVar("_Choice", bound=Enum)

_KEYS = ("model", "policy", "start", "end", "order", "ties", "bound")
_ADVANCE_KEYS = ("count", "duration", "delay", "reference", "import", "shutdown", "preset")
_MOST_ATTRIBUTES = 62
"""Of an edge stream: a lifetime is found by its start, end and row, in a key of 64 cells."""


def plan_temporal(definition: StreamDefinition) -> TemporalStreamPlan | None:
    """Return the settings of ``@temporal``; None: the stream is classical.

    Raises:
        SiddhiAppCreationError: a setting is unknown, invalid or not supported yet.
    """
    annotation = only(definition.annotations, "temporal")
    if annotation is None or _is_corrected(annotation):
        _refuse_replay(definition)
        return None
    _refuse_unknown(annotation, "@temporal", _KEYS, definition)
    if annotation.element("bound") is not None:
        raise creation_error(
            "E315",
            "'bound' of @temporal belongs to policy = 'correct'",
            located(annotation, definition),
            "add policy = 'correct', or remove it: a delay in @advance keeps other policies from late items",
        )
    model = _choice(annotation, "model", TemporalModel, TemporalModel.INTERVAL, definition)
    if model is TemporalModel.EDGE:
        _refuse_many_attributes(definition, "of model 'edge' ", "use model = 'interval'")
    start, end = (_carrier(annotation, key, definition) for key in ("start", "end"))
    _check_carriers(annotation, model, start, end, definition)
    order = (annotation.element("order") or "end").strip().lower()
    if order not in ("end", "start"):
        raise _invalid(annotation, "order", order, ("end", "start"), definition)
    if order == "start" and model is not TemporalModel.INTERVAL:
        raise creation_error(
            "E315",
            f"'order' of @temporal has no meaning for model '{model.value}': it is ordered by start already",
            located(annotation, definition),
            "remove it",
        )
    ties = (annotation.element("ties") or "arrival").strip().lower()
    if ties not in ("arrival", "payload"):
        raise _invalid(annotation, "ties", ties, ("arrival", "payload"), definition)
    advances = [nested for nested in annotation.annotations if nested.name.lower() == "advance"]
    for nested in annotation.annotations:
        if nested.name.lower() != "advance":
            raise creation_error(
                "E315", f"unknown annotation '@{nested.name}' in @temporal", located(nested, definition), "use @advance"
            )
    if len(advances) > 1:
        raise creation_error("E315", "@temporal has more than one @advance", located(advances[1], definition))
    return TemporalStreamPlan(
        model=model,
        policy=_choice(annotation, "policy", LatePolicy, LatePolicy.ERROR, definition),
        by_start=order == "start",
        advance=_advance(advances[0], definition) if advances else None,
        start=start,
        end=end,
        by_row=ties == "payload",
    )


def _carrier(annotation: Annotation, key: str, definition: StreamDefinition) -> int | None:
    """Return the position of the attribute that carries a time."""
    name = annotation.element(key)
    if name is None:
        return None
    at = located(annotation, definition)
    names = [attribute.name for attribute in definition.attributes]
    if name not in names:
        hint = close_to(name, names) or f"the attributes are {', '.join(names)}"
        raise creation_error(
            "E315", f"'{key}' of @temporal: stream '{definition.id}' has no attribute '{name}'", at, hint
        )
    attribute = definition.attributes[names.index(name)]
    if attribute.type is not AttributeType.LONG:
        raise creation_error(
            "E315",
            f"'{key}' of @temporal: attribute '{name}' is of type {attribute.type}",
            at,
            "times are milliseconds since 1970: define it as long",
        )
    return names.index(name)


def _check_carriers(
    annotation: Annotation, model: TemporalModel, start: int | None, end: int | None, definition: StreamDefinition
) -> None:
    """Check that the attributes which carry times, and the connectors, fit the model."""
    at = located(annotation, definition)
    if start is not None and start == end:
        raise creation_error("E315", "'start' and 'end' of @temporal are the same attribute", at, "use two attributes")
    if end is not None and model is TemporalModel.POINT:
        raise creation_error(
            "E315", "'end' of @temporal has no meaning for model 'point'", at, "remove it, or use model = 'interval'"
        )
    if model is TemporalModel.INTERVAL and start is not None and end is None:
        raise creation_error(
            "E315",
            "'start' of @temporal needs an 'end' in model 'interval'",
            at,
            "add end = '...', or use model = 'point', or 'edge' for rows whose end is not known",
        )
    source, sink = (
        next((each for each in definition.annotations if each.name.lower() == name), None)
        for name in ("source", "sink")
    )
    if source is not None and model is TemporalModel.INTERVAL and _passes_lifetimes(source):
        _refuse_many_attributes(
            definition, "which gets lifetimes from other apps, ", "let a stream of another model or source type receive"
        )
    is_bare = start is None and end is None
    if source is not None and model is not TemporalModel.POINT and is_bare and not _passes_lifetimes(source):
        raise creation_error(
            "E315",
            f"a source of stream '{definition.id}' of model '{model.value}' gives no lifetimes",
            located(source, definition),
            "name the attributes that carry them: @temporal(start = '...', end = '...'), or use model = 'point'",
        )
    if sink is not None and model is TemporalModel.EDGE and end is None and not _passes_lifetimes(sink):
        raise creation_error(
            "E315",
            f"a sink of edge stream '{definition.id}' can't show whether a row starts or ends",
            located(sink, definition),
            "name an attribute for the end, which is null in a START: @temporal(end = '...')",
        )


def _refuse_replay(definition: StreamDefinition) -> None:
    """Reject sources of a stream without lifetimes that ask for the rows that are valid."""
    for source in definition.annotations:
        if source.name.lower() != "source" or (source.element("type") or "").lower() != "inmemory":
            continue
        if (source.element("replay") or "none").strip().lower() != "none":
            raise creation_error(
                "E315",
                f"'replay' of source 'inMemory' has no meaning: stream '{definition.id}' has no lifetimes",
                located(source, definition),
                "remove it, or declare the stream with @temporal(...)",
            )


def _refuse_many_attributes(definition: StreamDefinition, which: str, hint: str) -> None:
    if len(definition.attributes) > _MOST_ATTRIBUTES:
        raise creation_error(
            "E326",
            f"stream '{definition.id}' {which}has {len(definition.attributes)} attributes, at most {_MOST_ATTRIBUTES} are supported",
            definition,
            hint,
        )


def _passes_lifetimes(connector: Annotation) -> bool:
    """Return whether a source or sink passes lifetimes between apps."""
    map_ = next((nested for nested in connector.annotations if nested.name.lower() == "map"), None)
    kinds = (connector.element("type") or "").lower(), ((map_ and map_.element("type")) or "passThrough").lower()
    return kinds == ("inmemory", "passthrough")


def plan_correction(definition: StreamDefinition) -> CorrectionPlan | None:
    """Return the settings of ``@temporal(policy = 'correct')``; None: the stream has another policy, or is classical.

    Raises:
        SiddhiAppCreationError: a setting is missing, unknown or invalid, or has no meaning for corrections.
    """
    annotation = only(definition.annotations, "temporal")
    if annotation is None or not _is_corrected(annotation):
        return None
    at = located(annotation, definition)
    _refuse_unknown(annotation, "@temporal", _KEYS, definition)
    model = _choice(annotation, "model", TemporalModel, TemporalModel.INTERVAL, definition)
    if model is not TemporalModel.POINT:
        raise creation_error(
            "E315",
            f"policy 'correct' of @temporal needs model = 'point', not '{model.value}'",
            at,
            "add model = 'point': lifetimes are final with their CTI, and never corrected",
        )
    for key in ("end", "order", "ties"):
        if annotation.element(key) is not None:
            raise creation_error(
                "E315",
                f"'{key}' of @temporal has no meaning for policy 'correct'",
                at,
                "remove it: an event has one time, and events at one time come in order of arrival",
            )
    if annotation.annotations:
        raise creation_error(
            "E315",
            f"@{annotation.annotations[0].name} in @temporal has no meaning for policy 'correct'",
            located(annotation.annotations[0], definition),
            "remove it: results do not wait for CTIs, and 'bound' says how late an event may be",
        )
    bound = _duration(annotation, "bound", definition)
    if bound is None:
        raise creation_error(
            "E315", "policy 'correct' of @temporal needs a bound", at, "say how late an event may be: bound = '10 min'"
        )
    if bound <= 0:
        raise creation_error("E315", f"'bound' of @temporal must be positive, not {bound}", at)
    return CorrectionPlan(bound, _carrier(annotation, "start", definition))


def _is_corrected(annotation: Annotation) -> bool:
    return (annotation.element("policy") or "").strip().lower() == "correct"


def _advance(annotation: Annotation, definition: StreamDefinition) -> AdvancePlan:
    _refuse_unknown(annotation, "@advance", _ADVANCE_KEYS, definition)
    at = located(annotation, definition)
    imported = annotation.element("import")
    shutdown = (annotation.element("shutdown") or "false").strip().lower()
    if shutdown not in ("true", "false"):
        raise _invalid(annotation, "shutdown", shutdown, ("true", "false"), definition)
    ends = shutdown == "true"
    preset = annotation.element("preset")
    if preset is not None:
        presets = {"increasing": 0, "strictlyincreasing": -1}
        if preset.strip().lower() not in presets:
            raise _invalid(annotation, "preset", preset, ("increasing", "strictlyIncreasing"), definition)
        if any(annotation.element(key) is not None for key in ("count", "duration", "delay", "reference")):
            raise creation_error(
                "E315",
                "'preset' of @advance stands for the other settings",
                at,
                "write either 'preset', or 'count', 'duration' and 'delay'",
            )
        return AdvancePlan(1, 0, presets[preset.strip().lower()], False, imported, ends)
    count = _number(annotation, "count", definition)
    duration = _duration(annotation, "duration", definition)
    if count is None and duration is None and imported is None and not ends:
        raise creation_error(
            "E315", "@advance makes no CTI", at, "add count = '100' or duration = '1 sec', or remove @advance"
        )
    for key, value in (("count", count), ("duration", duration)):
        if value is not None and value <= 0:
            raise creation_error("E315", f"'{key}' of @advance must be positive, not {value}", at)
    reference = (annotation.element("reference") or "max").strip().lower()
    if reference not in ("max", "last"):
        raise _invalid(annotation, "reference", reference, ("max", "last"), definition)
    delay = _duration(annotation, "delay", definition) or 0
    if delay < -1:
        raise creation_error("E315", f"'delay' of @advance must be -1 or more, not {delay}", at)
    return AdvancePlan(count or 0, duration or 0, delay, reference == "last", imported, ends)


def _refuse_unknown(annotation: Annotation, shown: str, keys: tuple[str, ...], at: Node) -> None:
    known = {key.lower() for key in keys}
    for element in annotation.elements:
        if element.key is None or element.key.lower() not in known:
            raise creation_error(
                "E315",
                f"unknown element '{element.key or element.value}' of {shown}",
                located(element, located(annotation, at)),
                close_to(element.key or "", keys) or f"the elements are {', '.join(keys)}",
            )


def _choice(annotation: Annotation, key: str, choices: type[_Choice], default: _Choice, at: Node) -> _Choice:
    value = annotation.element(key)
    if value is None:
        return default
    for choice in choices:
        if choice.value == value.strip().lower():
            return choice
    known = tuple(str(choice.value) for choice in choices)
    raise _invalid(annotation, key, value, (*known, "correct") if choices is LatePolicy else known, at)


def _number(annotation: Annotation, key: str, at: Node) -> int | None:
    """Return a whole number, in milliseconds where it is a time."""
    value = annotation.element(key)
    if value is None:
        return None
    text = value.strip()
    if text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and len(text) <= 18:
        return int(text)
    raise creation_error(
        "E315", f"'{key}' of @{annotation.name} must be a number, not '{value}'", located(annotation, at)
    )


def _duration(annotation: Annotation, key: str, at: Node) -> int | None:
    value = annotation.element(key)
    if value is None or value.strip().removeprefix("-").isdigit():
        return _number(annotation, key, at)
    try:
        return parse_time(value)
    except SiddhiParserError:
        raise creation_error(
            "E315",
            f"invalid duration '{value}' for '{key}' of @{annotation.name}",
            located(annotation, at),
            "write milliseconds, or a duration such as '5 sec'",
        ) from None


def _invalid(annotation: Annotation, key: str, value: str, known: tuple[str, ...], at: Node) -> Exception:
    return creation_error(
        "E315",
        f"invalid value '{value}' for '{key}' of @{annotation.name}",
        located(annotation, at),
        close_to(value, known) or f"use {' or '.join(repr(each) for each in known)}",
    )
