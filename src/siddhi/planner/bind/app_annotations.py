"""Bind the app annotations: name, playback, statistics."""

from __future__ import annotations

from siddhi._frozen import frozen
from siddhi.errors import SiddhiAppValidationError
from siddhi.planner.bind.annotations import boolean, duration_ms, only, positive
from siddhi.planner.plan.nodes import Playback
from siddhi.planner.problems import creation_error
from siddhi.query_api.annotation import Annotation, find_annotation
from siddhi.query_api.app import SiddhiApp

__all__ = ["TIMER_RULES", "AppSettings", "plan_app_annotations"]

# When an event advances the clock past several timers: "jump" runs them all at the event's time, "exact" each at its own.
TIMER_RULES = ("jump", "exact")
_REPORTERS = ("console", "jmx")


@frozen
class AppSettings:
    """The settings of ``@app:...``. ``name`` is None where the app has no ``@app:name``."""

    name: str | None
    playback: Playback | None
    statistics: Annotation | None


def plan_app_annotations(app: SiddhiApp) -> AppSettings:
    """Check and read the app annotations; ignore unknown ones.

    Raises:
        SiddhiAppError: an annotation is duplicated, not allowed on an app, or has invalid elements.
    """
    refused = find_annotation(app.annotations, "async")
    if refused is not None:
        raise creation_error("E315", "@async is not allowed on an app", refused, "put @async on the streams")
    for name in ("name", "description", "enforceOrder", "transportChannelCreationEnabled"):
        only(app.annotations, name)
    return AppSettings(app.name, _playback(app), _statistics(app))


def _playback(app: SiddhiApp) -> Playback | None:
    annotation = only(app.annotations, "playback")
    if annotation is None:
        return None
    for element in annotation.elements:
        if (element.key or "").lower() not in ("idle.time", "increment", "timers"):
            raise SiddhiAppValidationError(
                f"unknown element '{element.key if element.key is not None else element.value}' in @app:playback",
                code="E315",
                span=element.span or annotation.span,
                hint="the elements are idle.time, increment and timers",
            )
    timers = (annotation.element("timers") or TIMER_RULES[0]).lower()
    if timers not in TIMER_RULES:
        raise creation_error(
            "E315",
            f"invalid 'timers' of @app:playback: '{timers}'",
            annotation,
            f"use {' or '.join(map(repr, TIMER_RULES))}",
        )
    exact = timers == "exact"
    idle, increment = annotation.element("idle.time"), annotation.element("increment")
    if idle is None and increment is None:
        return Playback(exact=exact)
    if idle is None or increment is None:
        raise SiddhiAppValidationError(
            f"@app:playback requires the element '{'idle.time' if idle is None else 'increment'}'",
            code="E315",
            span=annotation.span,
            hint="give both idle.time and increment, or neither",
        )
    return Playback(
        duration_ms(annotation, "idle.time", idle, app), duration_ms(annotation, "increment", increment, app), exact
    )


def _statistics(app: SiddhiApp) -> Annotation | None:
    annotation = only(app.annotations, "statistics")
    if annotation is None:
        return None
    for value in annotation.values():
        boolean(annotation, "statistics", value, app)
    reporter = annotation.element("reporter")
    if reporter is not None and reporter.lower() not in _REPORTERS:
        raise creation_error(
            "E315", f"unknown statistics reporter '{reporter}'", annotation, f"use {' or '.join(_REPORTERS)}"
        )
    interval = annotation.element("interval")
    if interval is not None:
        positive(annotation, "interval", interval, app)
    return annotation
