"""How rows of tables and events of windows are found: through a key, an index, a range, or by looking at all of them."""

from __future__ import annotations

from collections.abc import Callable

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import Attr, TypedExpression, Widen

__all__ = [
    "AnyLookup",
    "Bound",
    "EqualityGuard",
    "IndexLookup",
    "JoinLookup",
    "KeyLookup",
    "RangeLookup",
    "SmallestLookup",
    "TableAccess",
    "TableLookup",
    "WindowEqualityLookup",
    "WindowLookup",
    "WindowRangeLookup",
    "attribute_of",
]

_Change = Callable[[TypedExpression], TypedExpression]


@frozen
class KeyLookup:
    """The row whose primary key has these values, in the order of the key's attributes."""

    values: tuple[TypedExpression, ...]


@frozen
class IndexLookup:
    """The rows whose attribute has a value."""

    position: int
    value: TypedExpression


@frozen
class Bound:
    """One end of a range; ``value`` does not read what is searched."""

    value: TypedExpression
    is_low: bool
    inclusive: bool


@frozen
class RangeLookup:
    """The rows whose attribute lies within all bounds. Where that is most of the table, every row is looked at."""

    position: int
    bounds: tuple[Bound, ...]


@frozen
class AnyLookup:
    """What any of them finds."""

    parts: tuple[TableLookup, ...]


@frozen
class SmallestLookup:
    """Each of them finds enough: the one that finds least is taken, anew for every event."""

    parts: tuple[IndexLookup, ...]


TableLookup = KeyLookup | IndexLookup | RangeLookup | AnyLookup | SmallestLookup


@frozen
class TableAccess:
    """A condition over a table, taken apart at its ``and``.

    Attributes:
        lookup: what finds candidates; None: every row is one.
        gates: parts that do not read the row.
        whole: all parts that read the row.
        answered: of these, the parts that hold for every candidate.
        rest: of these, the parts tested on every candidate.
    """

    lookup: TableLookup | None
    gates: tuple[TypedExpression, ...]
    whole: tuple[TypedExpression, ...]
    answered: tuple[TypedExpression, ...]
    rest: tuple[TypedExpression, ...]

    def mapped(self, change: _Change) -> TableAccess:
        """The same access with every expression in it changed."""
        return TableAccess(
            None if self.lookup is None else _mapped(self.lookup, change),
            tuple([change(part) for part in self.gates]),
            tuple([change(part) for part in self.whole]),
            tuple([change(part) for part in self.answered]),
            tuple([change(part) for part in self.rest]),
        )


def _mapped(lookup: TableLookup, change: _Change) -> TableLookup:
    match lookup:
        case KeyLookup(values):
            return KeyLookup(tuple([change(value) for value in values]))
        case IndexLookup(position, value):
            return IndexLookup(position, change(value))
        case RangeLookup(position, bounds):
            return RangeLookup(position, tuple([Bound(change(b.value), b.is_low, b.inclusive) for b in bounds]))
        case AnyLookup(parts):
            return AnyLookup(tuple([_mapped(part, change) for part in parts]))
        case SmallestLookup(indexes):
            return SmallestLookup(tuple([IndexLookup(part.position, change(part.value)) for part in indexes]))


@frozen
class WindowEqualityLookup:
    """``key`` of the searched event equals ``probe`` of the one that triggers, part by part, and ``rest`` holds."""

    key: tuple[TypedExpression, ...]
    probe: tuple[TypedExpression, ...]
    rest: TypedExpression | None


@frozen
class WindowRangeLookup:
    """``key``, a number of the searched event, lies within all bounds. The whole condition is tested on what is found."""

    key: Attr
    bounds: tuple[Bound, ...]


WindowLookup = WindowEqualityLookup | WindowRangeLookup
JoinLookup = TableAccess | WindowLookup


def attribute_of(part: TypedExpression) -> Attr:
    """The attribute behind a part of a key or probe, which may be widened."""
    while isinstance(part, Widen):
        part = part.operand
    assert isinstance(part, Attr)
    return part


@frozen
class EqualityGuard:
    """An event passes the first filter of a query only if the attribute at ``position`` has this value."""

    position: int
    value: bool | int | str
