"""Interface of stores that evaluate selections, too."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from siddhi._frozen import frozen
from siddhi.stores.expression import Attribute, Expression
from siddhi.stores.record_table import Parameters, RecordTable

__all__ = ["QueryableRecordTable", "Selection"]


@frozen
class Selection:
    """The selection of an on-demand query.

    Attributes:
        columns: name and value of each column. With groups or aggregates, values consist of aggregates and of attributes of
            the group.
        group_by: attributes of the groups; empty: with aggregates, all rows are one group; without rows there is no group.
        order_by: values, each with whether it is descending, most significant first; nulls come last in both directions.
        limit: maximum number of rows; None: all.
        offset: number of rows to skip.
        aggregates: whether a column has an aggregate.
    """

    columns: tuple[tuple[str, Expression], ...]
    group_by: tuple[Attribute, ...] = ()
    order_by: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None
    offset: int = 0
    aggregates: bool = False


class QueryableRecordTable(RecordTable):
    """A store that can run whole on-demand queries. Other queries select in the engine, from the rows that it finds."""

    @abstractmethod
    def compile_selection(self, selection: Selection) -> Any:
        """Translate a selection for the store.

        Raises:
            UnsupportedExpressionError: the store can't evaluate the selection.
        """
        raise NotImplementedError

    @abstractmethod
    def query(self, condition: Any, selection: Any, parameters: Parameters) -> Iterable[Sequence[Any]]:
        """Return the rows of the result.

        Args:
            condition: as in :meth:`RecordTable.find`.
            selection: result of :meth:`compile_selection`.
            parameters: parameters of both.
        """
        raise NotImplementedError
