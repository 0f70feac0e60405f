"""Keys of partitioned state, and how the keys of several steps combine."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import Attr
from siddhi.planner.plan.nodes import RangeKeyPlan
from siddhi.planner.plan.text import expression_text
from siddhi.types import AttributeType

__all__ = [
    "UNSPECIFIED",
    "Distribution",
    "KeyExpression",
    "KeyPart",
    "combine",
    "partitioned_by",
    "range_key",
    "single_partition",
]

StreamAttribute = tuple[str, str]
"""A stream and the name of one of its attributes."""

KEY_TYPES = frozenset({AttributeType.STRING, AttributeType.INT, AttributeType.LONG, AttributeType.BOOL})
"""Types whose equal values have equal bits; a float has two zeros and many NaNs."""


@frozen
class KeyExpression:
    """The key of the events of one stream.

    Attributes:
        text: SiddhiQL over the stream's attributes; for ranges the conditions with their labels.
        attribute: name of the attribute, if the key is one.
        labels: labels of ranges with their conditions: an event has the key of each condition that holds, or none.
    """

    text: str
    attribute: str | None = None
    labels: tuple[tuple[str, str], ...] = ()


@frozen
class KeyPart:
    """A key: its expression in each stream. ``type`` is the type of the keys; keys of other types are converted to it."""

    by: tuple[tuple[str, KeyExpression], ...]
    type: AttributeType

    def of(self, stream: str) -> KeyExpression | None:
        """Return the key of a stream's events; None: the stream has none."""
        return next((expression for name, expression in self.by if name == stream), None)


@frozen
class Distribution:
    """How state can be distributed. ``parts`` None: unspecified; empty: a single partition, for the ``reason``; several: by each
    of these keys, or by all of them together."""

    parts: tuple[KeyPart, ...] | None
    reason: str = ""


UNSPECIFIED = Distribution(None)


def single_partition(reason: str) -> Distribution:
    """Return the distribution of state that all events share, with the reason."""
    return Distribution((), reason)


def partitioned_by(
    attributes: Iterable[Attr], locate: Callable[[Attr], StreamAttribute | None], otherwise: str
) -> Distribution:
    """Return the distribution of state by attributes.

    Args:
        locate: returns stream and name of an attribute; None: it is not an attribute of a stream.
        otherwise: reason for a single partition, if no attribute is a key.
    """
    parts = []
    for attribute in attributes:
        located = locate(attribute)
        if located is not None and attribute.type in KEY_TYPES:
            part = plain_part((located,), attribute.type)
            if part not in parts:
                parts.append(part)
    return Distribution(tuple(parts)) if parts else single_partition(otherwise)


def plain_part(sources: Iterable[StreamAttribute], type_: AttributeType) -> KeyPart:
    """Return a key that is a plain attribute in each of its streams."""
    return KeyPart(tuple((stream, KeyExpression(name, name)) for stream, name in dict(sources).items()), type_)


def range_key(key: RangeKeyPlan) -> KeyExpression:
    """Return the labels of a range partition as a key."""
    labels = tuple((label, expression_text(condition, {})) for label, condition in key.ranges)
    return KeyExpression(" or ".join(f"{condition} as '{label}'" for label, condition in labels), labels=labels)


def combine(one: Distribution, other: Distribution) -> Distribution:
    """Return the distribution that two steps share: by keys that are the same in a stream of both."""
    if one.parts is None:
        return other
    if other.parts is None:
        return one
    if not one.parts or not other.parts:
        return one if not one.parts else other
    found = []
    for part in one.parts:
        for candidate in other.parts:
            both = _united(part, candidate)
            if both is not None and both not in found:
                found.append(both)
    return (
        Distribution(tuple(found))
        if found
        else single_partition(f"{_named(one)} and {_named(other)} are different keys")
    )


def _united(one: KeyPart, other: KeyPart) -> KeyPart | None:
    shared = [stream for stream, _ in one.by if other.of(stream) is not None]
    if one.type is not other.type or not shared or any(one.of(stream) != other.of(stream) for stream in shared):
        return None
    return KeyPart((*one.by, *((stream, key) for stream, key in other.by if stream not in shared)), one.type)


def _named(distribution: Distribution) -> str:
    return " or ".join(
        "(" + ", ".join(f"{stream}: {key.text}" for stream, key in part.by) + ")" for part in distribution.parts or ()
    )
