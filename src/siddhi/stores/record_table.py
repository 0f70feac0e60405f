"""The contract of stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from siddhi._frozen import field, frozen
from siddhi.io.connector import Connector
from siddhi.io.options import OptionHolder
from siddhi.stores.expression import Expression
from siddhi.types import AttributeType

__all__ = ["Parameters", "Record", "RecordTable", "TableContext"]

Record = tuple[Any, ...]
"""A row: a value per attribute, in order; None is null."""

Parameters = Mapping[str, Any]
"""Values of the parameters of compiled expressions, by name."""


@frozen
class TableContext:
    """The table a store works for.

    Attributes:
        app: name of the app.
        is_named: whether the app was given that name, which is then the same in its next run.
        table: name of the table.
        attributes: names and types of its attributes.
        primary_key: positions of the key's attributes; empty without one.
        indexes: positions of the attributes of each ``@index``.
        refuse: ``refuse(record, why)`` tells the app of a row that is dropped because of its primary key.
        config: the system's settings for this store (``SiddhiManager.set_config_manager``), by key.
        refuse_change: ``refuse_change(parameters, why)`` tells of a change that is dropped for that; the parameters are the
            event's, as they were given.
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
    """Keeps the rows of a table. Subclasses are declared with ``@siddhi.extension.store(name)``.

    The app makes one per table, calls :meth:`init` when it is created, ``connect`` when it starts, ``disconnect`` and
    ``destroy`` when it is shut down. Conditions and values are compiled once, while it is created, before ``connect``.
    Everything below ``compile_value`` is called by one thread at a time, under the lock of the app, and may raise
    :class:`siddhi.errors.ConnectionUnavailableError`: then the store is connected again, in growing intervals, and the
    call repeated until it succeeds. So a call that fails has changed nothing, however many events it is for.

    ``condition`` is what :meth:`compile_condition` gave; None: every row matches. ``sets`` are positions of attributes
    with what :meth:`compile_value` gave for them; all of them read the row as it was before. Names of parameters are unique in a condition and its assignments.

    Attributes:
        keeps_objects: whether attributes may be of type object. An app with a table that needs them is refused otherwise.
    """

    keeps_objects: ClassVar[bool] = True

    def init(self, options: OptionHolder, context: TableContext) -> None:
        """Take the options; nothing is connected yet.

        Raises:
            SiddhiAppError: an option is missing or wrong; the app is refused.
        """
        raise NotImplementedError

    def hurry(self) -> None:
        """The app is being shut down: a call that waits for the outside, and those that follow, should fail soon.

        Called by another thread, while such a call may be under way.
        """

    def compile_condition(self, condition: Expression) -> Any:
        """Make of a condition what the store works with.

        Raises:
            UnsupportedExpressionError: it can't.
        """
        raise NotImplementedError

    def compile_value(self, value: Expression) -> Any:
        """Make of a value that an attribute is set to what the store works with.

        Raises:
            UnsupportedExpressionError: it can't.
        """
        raise NotImplementedError

    def add(self, records: Sequence[Record]) -> None:
        """Add rows. Of those whose primary key is taken, the first stays; the others go to ``TableContext.refuse``."""
        raise NotImplementedError

    def find(self, condition: Any, parameters: Parameters) -> Iterable[Sequence[Any]]:
        """The rows that match, in the order of their insertion where the store knows it."""
        raise NotImplementedError

    def contains(self, condition: Any, parameters: Parameters) -> bool:
        """Whether a row matches."""
        return any(True for _ in self.find(condition, parameters))

    def delete(self, condition: Any, parameters: Sequence[Parameters]) -> None:
        """Delete the rows that match, for one event after the other."""
        raise NotImplementedError

    def update(self, condition: Any, parameters: Sequence[Parameters], sets: Mapping[int, Any]) -> None:
        """Change the rows that match, for one event after the other.

        What would give two rows one primary key is not done, and goes to ``TableContext.refuse_change``.
        """
        raise NotImplementedError

    def update_or_add(
        self,
        condition: Any,
        parameters: Sequence[Parameters],
        sets: Mapping[int, Any],
        records: Sequence[Record],
        reduce: Callable[[Iterable[int]], Sequence[Record]],
    ) -> None:
        """Change the rows that match, for one event after the other; then add what those bring that matched none.

        A store that has a method of its own is given all events of a chunk, and does all of it or nothing. This one, which
        calls others, is asked for one event at a time; the app makes those calls for a chunk of several by itself, and
        where one fails it goes on there.

        Args:
            condition: see the class.
            parameters: of each event.
            sets: see the class.
            records: the row that each event brings.
            reduce: gives the rows to add for the events at these positions, which matched none: where a later one matches
                the row that an earlier one brings, it changes that instead.
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
        """As :meth:`update_or_add`, for events that came one by one: each sees what those before it have done.

        A store that has it is given many events at a time while a batch is being sent, all of which or none are to be
        done; without it, each event is an :meth:`update_or_add` of its own.
        """
        raise NotImplementedError
