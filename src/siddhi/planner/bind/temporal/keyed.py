"""Streams of a temporal partition: their rows carry the key in a hidden attribute behind the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.planner.bind.catalog import Source
from siddhi.planner.plan.expressions import Attr, Call, TypedExpression
from siddhi.planner.plan.nodes import OutputColumn, PurgePlan, RangeKeyPlan, SelectorPlan, SourceKind, ValueKeyPlan
from siddhi.planner.plan.temporal import MatchPlan, TemporalInputPlan, TemporalJoinPlan
from siddhi.planner.problems import creation_error
from siddhi.query_api.definition import Attribute
from siddhi.query_api.input import JoinType, SingleInput
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["KEY", "KeyedStreams", "keyed_match", "without_key"]

KEY = "#key"
"""Name of the hidden attribute; no attribute of the text can have it."""


class KeyedStreams:
    """The streams of one partition whose rows have a key: those with a partition key, and its inner streams.

    Args:
        catalog: catalog of the app.
        name: name of the partition.
        keys: its keys.
        purge: its ``@purge``.
    """

    def __init__(
        self,
        catalog: Catalog,
        name: str,
        keys: tuple[ValueKeyPlan | RangeKeyPlan, ...],
        purge: PurgePlan | None = None,
    ) -> None:
        self._catalog = catalog
        self._name = name
        self._keys = {key.stream: key for key in keys}
        types = {key.expression.type if isinstance(key, ValueKeyPlan) else AttributeType.STRING for key in keys}
        self.type = types.pop() if len(types) == 1 else AttributeType.STRING
        """Type of the key: keys of several types are compared as text."""
        self.used: dict[str, tuple[Attribute, ...]] = {}
        """The streams with a partition key that queries read, with their attributes."""
        self.purge = purge
        """Which keys are idle; None: no keys are."""
        self.has_idle_state = False
        """Whether a query has state of keys whose lifetimes are over."""

    @property
    def attribute(self) -> Attribute:
        return Attribute(KEY, self.type)

    def id_of(self, label: str) -> str:
        """Return the id of a stream inside the partition."""
        return f"{self._name}/{label}"

    def resolve(self, source: Source) -> tuple[str, tuple[Attribute, ...], int | None]:
        """Return id, attributes and position of the key of a stream that a query reads; None: the stream has no key."""
        if source.kind is not SourceKind.INNER:
            if source.label not in self._keys:
                return source.label, source.attributes, None
            self.used[source.label] = source.attributes
        return self.id_of(source.label), (*source.attributes, self.attribute), len(source.attributes)

    def fixed(self, side: SingleInput) -> frozenset[int]:
        """Return the positions of the attributes of a stream that have one value per key."""
        key = None if side.is_inner else self._keys.get(side.source)
        if isinstance(key, ValueKeyPlan) and isinstance(key.expression, Attr):
            return frozenset({key.expression.position})
        return frozenset()

    def with_key(self, selector: SelectorPlan, key: TypedExpression) -> SelectorPlan:
        """Return the selection of a query that fills an inner stream."""
        return replace(selector, columns=(*selector.columns, OutputColumn(KEY, key)))

    def key_of(self, inputs: tuple[TemporalInputPlan, ...], join: TemporalJoinPlan | None, at: Node) -> TypedExpression:
        """Return the key of an output row.

        Raises:
            SiddhiAppCreationError: a row would belong to all keys, even those that appear later.
        """
        keys = [None if each.key is None else Attr(self.type, slot, each.key, KEY) for slot, each in enumerate(inputs)]
        alone = [slot for slot in range(len(inputs)) if join is None or _appears_alone(join.type, slot)]
        for slot in alone if any(key is not None for key in keys) else (0,):
            if keys[slot] is None:
                raise without_key(inputs[slot].source, at)
        left, right = keys[0], keys[-1]
        if len(alone) == 2 and left is not None and right is not None:
            coalesce = self._catalog.registry.function(None, "coalesce")
            assert coalesce is not None
            return Call(self.type, coalesce, (left, right))
        found = keys[alone[0]] if alone else left if left is not None else right
        assert found is not None
        return found


def keyed_match(match: MatchPlan, left: int | None, right: int | None) -> MatchPlan:
    """Return a match of rows of one partition key only; the arguments are the positions of the key, None: there is none."""
    if left is None or right is None:
        return match
    return replace(match, left_keys=(*match.left_keys, left), right_keys=(*match.right_keys, right))


def without_key(stream: str, at: Node) -> Exception:
    """Return the error of a stream without a key whose rows would be needed once per key."""
    return creation_error(
        "E326",
        f"stream '{stream}' has no partition key: its rows would belong to every key, also to those that appear later",
        at,
        "add its key to 'partition with (...)', or write the query outside the partition",
    )


def _appears_alone(join: JoinType, slot: int) -> bool:
    """Return whether rows of a side appear without a match."""
    one_side = JoinType.LEFT_OUTER if slot == 0 else JoinType.RIGHT_OUTER
    return join in (one_side, JoinType.FULL_OUTER)
