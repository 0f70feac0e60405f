"""How many partial matches a query may hold: ``@info(max.partial.matches='1000')``, or ``@app:partialMatches(max='1000')``."""

from __future__ import annotations

from dataclasses import dataclass

from siddhi.planner.annotations import only, positive
from siddhi.planner.patterns_plan import OverflowPolicy
from siddhi.planner.problems import close_to, creation_error
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.span import Node

__all__ = ["PartialMatches", "app_limit", "query_limit"]


@dataclass(frozen=True, slots=True)
class PartialMatches:
    """The most that may live at a time, and what happens then."""

    most: int
    overflow: OverflowPolicy = OverflowPolicy.FAIL


def app_limit(annotations: tuple[Annotation, ...], at: Node) -> PartialMatches | None:
    """What ``@app:partialMatches(max='...', overflow='...')`` says for every query, or None.

    Raises:
        SiddhiAppCreationError: a value is wrong.
    """
    return _limit(only(annotations, "partialMatches"), "max", "overflow", at)


def query_limit(annotations: tuple[Annotation, ...], at: Node) -> PartialMatches | None:
    """What ``@info(max.partial.matches='...', partial.matches.overflow='...')`` says, or None.

    Raises:
        SiddhiAppCreationError: a value is wrong.
    """
    return _limit(only(annotations, "info"), "max.partial.matches", "partial.matches.overflow", at)


def _limit(annotation: Annotation | None, most: str, overflow: str, at: Node) -> PartialMatches | None:
    value = None if annotation is None else annotation.element(most)
    if annotation is None or value is None:
        return None
    policy = annotation.element(overflow)
    if policy is None:
        return PartialMatches(positive(annotation, most, value, at))
    known = [each.value for each in OverflowPolicy]
    if policy not in known:
        raise creation_error(
            "E315",
            f"'{overflow}' of @{annotation.name} must be {' or '.join(map(repr, known))}, not '{policy}'",
            annotation if annotation.span is not None else at,
            close_to(policy, known),
        )
    return PartialMatches(positive(annotation, most, value, at), OverflowPolicy(policy))
