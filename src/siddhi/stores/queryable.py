"""The contract of stores that select as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from siddhi._frozen import frozen
from siddhi.stores.expression import Attribute, Expression
from siddhi.stores.record_table import Parameters, RecordTable

__all__ = ["QueryableRecordTable", "Selection"]


@frozen
class Selection:
    """What an on-demand query makes of the rows it finds.

    Attributes:
        columns: name and value of each. Where there are groups or aggregates, each value is of aggregates and of attributes
            of the group.
        group_by: none: with aggregates, all rows are one group; no row, no group.
        order_by: values with whether they descend, most significant first; nulls come last in both directions.
        limit: rows at the most; None: all.
        offset: rows left out before.
        aggregates: whether any column aggregates.
    """

    columns: tuple[tuple[str, Expression], ...]
    group_by: tuple[Attribute, ...] = ()
    order_by: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None
    offset: int = 0
    aggregates: bool = False


class QueryableRecordTable(RecordTable):
    """A store that can answer on-demand queries as a whole. What it can't, the engine selects from the rows it finds."""

    def compile_selection(self, selection: Selection) -> Any:
        """Make of a selection what the store works with.

        Raises:
            UnsupportedExpressionError: it can't.
        """
        raise NotImplementedError

    def query(self, condition: Any, selection: Any, parameters: Parameters) -> Iterable[Sequence[Any]]:
        """The rows of the answer.

        Args:
            condition: as :meth:`RecordTable.find` takes it.
            selection: what :meth:`compile_selection` gave.
            parameters: of both.
        """
        raise NotImplementedError
