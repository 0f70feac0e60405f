"""How rows of tables and events of windows are found: by key, index, range or scan."""

from __future__ import annotations

from collections.abc import Callable

from siddhi._frozen import frozen
from siddhi.planner.plan.expressions import Attr, TypedExpression, Widen

__all__ = [
    "AnyLookup",
    "Bound",
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
    """One end of a range; ``value`` does not read the row or event that is searched for."""

    value: TypedExpression
    is_low: bool
    inclusive: bool


@frozen
class RangeLookup:
    """The rows whose attribute lies within all bounds. The engine scans the table if that is most of its rows."""

    position: int
    bounds: tuple[Bound, ...]


@frozen
class AnyLookup:
    """The rows that any of the lookups finds."""

    parts: tuple[TableLookup, ...]


@frozen
class SmallestLookup:
    """Lookups each of which finds all rows needed: for every event, the one with the fewest rows is used."""

    parts: tuple[IndexLookup, ...]


TableLookup = KeyLookup | IndexLookup | RangeLookup | AnyLookup | SmallestLookup


@frozen
class TableAccess:
    """A condition over a table, split into its conjuncts.

    Attributes:
        lookup: the lookup of candidate rows; None: scan.
        row_free: row-free predicates, tested once per event.
        row_predicates: all predicates that read the row.
        exact: those of ``row_predicates`` that hold for every candidate.
        residual: those of ``row_predicates`` that are tested on every candidate.
    """

    lookup: TableLookup | None
    row_free: tuple[TypedExpression, ...]
    row_predicates: tuple[TypedExpression, ...]
    exact: tuple[TypedExpression, ...]
    residual: tuple[TypedExpression, ...]

    def mapped(self, change: _Change) -> TableAccess:
        """Return the same access with every expression changed."""
        return TableAccess(
            None if self.lookup is None else _mapped(self.lookup, change),
            tuple([change(part) for part in self.row_free]),
            tuple([change(part) for part in self.row_predicates]),
            tuple([change(part) for part in self.exact]),
            tuple([change(part) for part in self.residual]),
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
    """``key`` of a buffered event equals ``probe`` of the triggering event, part by part; ``residual`` is tested on each event found."""

    key: tuple[TypedExpression, ...]
    probe: tuple[TypedExpression, ...]
    residual: TypedExpression | None


@frozen
class WindowRangeLookup:
    """``key``, a number of a buffered event, lies within all bounds. The whole condition is tested on each event found."""

    key: Attr
    bounds: tuple[Bound, ...]


WindowLookup = WindowEqualityLookup | WindowRangeLookup
JoinLookup = TableAccess | WindowLookup


def attribute_of(part: TypedExpression) -> Attr:
    """Return the attribute in a part of a key or probe, which may be widened."""
    while isinstance(part, Widen):
        part = part.operand
    assert isinstance(part, Attr)
    return part
