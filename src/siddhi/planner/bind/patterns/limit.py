"""Bind the limit of partial matches: ``@info(max.partial.matches='1000')`` or ``@app:partialMatches(max='1000')``."""

from __future__ import annotations

from siddhi._frozen import frozen, replace
from siddhi.planner.bind.annotations import only, positive, shown
from siddhi.planner.plan.patterns import OverflowPolicy
from siddhi.planner.problems import close_to, creation_error, located
from siddhi.query_api.annotation import Annotation
from siddhi.query_api.span import Node

__all__ = ["PartialMatches", "app_limit", "query_limit"]


@frozen
class PartialMatches:
    """The limit of partial matches (None: unlimited), the annotation or policy that sets it, and the overflow policy."""

    most: int | None = None
    limited_by: str = ""
    overflow: OverflowPolicy = OverflowPolicy.FAIL


def app_limit(annotations: tuple[Annotation, ...], at: Node, most: int | None = None) -> PartialMatches:
    """Return the limit of ``@app:partialMatches(max='...', overflow='...')``; ``most`` is the default of max.

    Raises:
        SiddhiAppCreationError: a value is invalid.
    """
    of_policy = PartialMatches(most, f"SandboxPolicy(max_events={most})")
    return _limit(only(annotations, "partialMatches"), "max", "overflow", at, of_policy)


def query_limit(annotations: tuple[Annotation, ...], at: Node, of_app: PartialMatches) -> PartialMatches:
    """Return the limit of ``@info(max.partial.matches='...', partial.matches.overflow='...')``, completed by the app's.

    Raises:
        SiddhiAppCreationError: a value is invalid, or there is an overflow policy without a limit.
    """
    info = only(annotations, "info")
    limit = _limit(info, "max.partial.matches", "partial.matches.overflow", at, of_app)
    if limit.most is None and info is not None and info.element("partial.matches.overflow") is not None:
        raise creation_error(
            "E315",
            "'partial.matches.overflow' of @info requires 'max.partial.matches'",
            located(info, at),
            "add a limit: max.partial.matches='10000'",
        )
    return limit


def _limit(
    annotation: Annotation | None, most: str, overflow: str, at: Node, otherwise: PartialMatches
) -> PartialMatches:
    if annotation is None:
        return otherwise
    value = annotation.element(most)
    policy = annotation.element(overflow)
    known = [each.value for each in OverflowPolicy]
    if policy is not None and policy not in known:
        raise creation_error(
            "E315",
            f"'{overflow}' of {shown(annotation, at)} must be {' or '.join(map(repr, known))}, not '{policy}'",
            located(annotation, at),
            close_to(policy, known),
        )
    found = otherwise
    if value is not None:
        number = positive(annotation, most, value, at)
        found = replace(found, most=number, limited_by=f"{shown(annotation, at)}({most} = '{number}')")
    return found if policy is None else replace(found, overflow=OverflowPolicy(policy))
