"""Interface of stores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from siddhi._frozen import field, frozen
from siddhi.io.connector import Connector
from siddhi.io.options import OptionHolder
from siddhi.stores.expression import Expression
from siddhi.types import AttributeType

__all__ = ["Parameters", "Record", "RecordTable", "TableContext"]

Record = tuple[Any, ...]
"""A row: one value per attribute, in order; None is null."""

Parameters = Mapping[str, Any]
"""Values of the parameters of compiled expressions, by name."""


@frozen
class TableContext:
    """The table of a store.

    Attributes:
        app: name of the app.
        is_named: whether the app has a name of its own, which is the same in its next run.
        table: name of the table.
        attributes: names and types of its attributes.
        primary_key: positions of the key's attributes; empty without one.
        indexes: positions of the attributes of each ``@index``.
        refuse: ``refuse(record, why)`` reports a row that is dropped because of its primary key.
        config: system configuration of this store (``SiddhiManager.set_config_manager``), by key.
        refuse_change: ``refuse_change(parameters, why)`` reports a change that is dropped because of the primary key; pass
            the same parameters object that the store received.
    """

    app: str
    table: str
    attributes: tuple[tuple[str, AttributeType], ...]
    primary_key: tuple[int, ...]
    indexes: tuple[tuple[int, ...], ...]
    refuse: Callable[[Record, str], None]
    config: Mapping[str, str] = field(default_factory=dict)
    is_named: bool = True
    refuse_change: Callable[[Parameters, str], None] = lambda *_: None


class RecordTable(Connector):
    """Stores the rows of a table. Declare subclasses with ``@siddhi.extension.store(name)``.

    The app makes one instance per table, calls :meth:`init` when it is created, ``connect`` when it starts, ``disconnect``
    and ``destroy`` when it is shut down. Conditions and values are compiled once, when the app is created, before
    ``connect``. The methods after ``compile_value`` are called by one thread at a time, under the app's lock. They may raise
    :class:`siddhi.errors.ConnectionUnavailableError`: the app then reconnects at growing intervals and repeats the call
    until it succeeds. A call that fails must therefore have changed nothing, for however many events it is.

    ``condition`` is a result of :meth:`compile_condition`; None: every row matches. ``sets`` maps positions of attributes to
    results of :meth:`compile_value`; all of them read the row before the change. Names of parameters are unique in a
    condition and its assignments.

    Attributes:
        keeps_objects: whether attributes may be of type object; else an app with such an attribute is an error.
    """

    keeps_objects: ClassVar[bool] = True

    @abstractmethod
    def init(self, options: OptionHolder, context: TableContext) -> None:
        """Read the options; do not connect yet.

        Raises:
            SiddhiAppError: an option is missing or invalid; the app is not created.
        """
        raise NotImplementedError

    def hurry(self) -> None:
        """Let a running call that waits, and later calls, fail soon: the app is being shut down.

        Called by another thread, possibly while such a call is running.
        """

    @abstractmethod
    def compile_condition(self, condition: Expression) -> Any:
        """Translate a condition for the store.

        Raises:
            UnsupportedExpressionError: the store can't evaluate the condition.
        """
        raise NotImplementedError

    def compile_value(self, value: Expression) -> Any:
        """Translate the value that is assigned to an attribute.

        Raises:
            UnsupportedExpressionError: the store can't evaluate the value.
        """
        raise NotImplementedError(f"class '{type(self).__qualname__}' does not implement compile_value()")

    @abstractmethod
    def add(self, records: Sequence[Record]) -> None:
        """Add rows. Pass rows whose primary key exists to ``TableContext.refuse``; the first row of a key stays."""
        raise NotImplementedError

    @abstractmethod
    def find(self, condition: Any, parameters: Parameters) -> Iterable[Sequence[Any]]:
        """Return the rows that match, in order of insertion if the store knows it."""
        raise NotImplementedError

    def contains(self, condition: Any, parameters: Parameters) -> bool:
        """Return whether a row matches."""
        return any(True for _ in self.find(condition, parameters))

    def delete(self, condition: Any, parameters: Sequence[Parameters]) -> None:
        """Delete the rows that match, event by event."""
        raise NotImplementedError(f"class '{type(self).__qualname__}' does not implement delete()")

    def update(self, condition: Any, parameters: Sequence[Parameters], sets: Mapping[int, Any]) -> None:
        """Change the rows that match, event by event.

        Pass a change that would duplicate a primary key to ``TableContext.refuse_change`` instead of making it.
        """
        raise NotImplementedError(f"class '{type(self).__qualname__}' does not implement update()")

    def update_or_add(
        self,
        condition: Any,
        parameters: Sequence[Parameters],
        sets: Mapping[int, Any],
        records: Sequence[Record],
        reduce: Callable[[Iterable[int]], Sequence[Record]],
    ) -> None:
        """Change the rows that match, event by event; then add the records of the events that matched none.

        An override gets all events of a chunk and must do everything or nothing. This default calls other methods, and gets
        one event at a time; for a chunk of several events the app makes these calls itself, and continues after a failed
        one.

        Args:
            condition: see the class.
            parameters: parameters of each event.
            sets: see the class.
            records: the row of each event.
            reduce: returns the rows to add for the events at these positions, which matched none: a later event that matches
                the row of an earlier one changes that row instead.
        """
        missing: list[int] = []
        for position, values in enumerate(parameters):
            if self.contains(condition, values):
                self.update(condition, [values], sets)
            else:
                missing.append(position)
        added = reduce(missing) if len(missing) > 1 else [records[position] for position in missing]
        if added:
            self.add(added)

    def update_or_add_each(
        self, condition: Any, parameters: Sequence[Parameters], sets: Mapping[int, Any], records: Sequence[Record]
    ) -> None:
        """Change or add rows for events that arrived one by one: each event sees the changes of those before it.

        A store with this method gets many events at a time while a batch is being sent, and must do all or none of them;
        without it, each event is a separate :meth:`update_or_add`.
        """
        raise NotImplementedError
