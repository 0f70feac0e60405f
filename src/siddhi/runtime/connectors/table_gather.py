"""Changes of a store that come row by row, gathered while a batch is being sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from siddhi.errors import ConnectionUnavailableError
from siddhi.stores.record_table import Record

__all__ = ["GatheredChange", "WriteGather"]

logger = logging.getLogger("siddhi")

_MOST = 10_000
"""Rows that wait at the most: what is made again where the store is lost, and the memory it takes."""


@dataclass(frozen=True, slots=True, eq=False)
class GatheredChange:
    """What one query does to a store.

    Attributes:
        run: ``run(parameters, records)`` does it for one event after the other; where it fails, nothing is done.
    """

    run: Callable[[list[dict[str, Any]], Sequence[Record]], None]


class WriteGather:
    """The changes of one store that wait: all of one query, in order. Whoever reads the store, or changes it otherwise,
    has them made first (:meth:`flush`), so that nobody sees the difference.

    Args:
        report: ``report(error, record)`` tells of an event whose change failed.

    Attributes:
        report: as given.
    """

    def __init__(self, report: Callable[[Exception, Record], None]) -> None:
        self.report = report
        self._change: GatheredChange | None = None
        self._values: list[dict[str, Any]] = []
        self._records: list[Record] = []
        self._awaited = False

    def take(self, change: GatheredChange, values: Sequence[dict[str, Any]], records: Sequence[Record]) -> bool:
        """Keep a change; whether :meth:`flush` is to be called at the end of the batch, and nobody has been told yet."""
        if change is not self._change or len(self._records) >= _MOST:
            self._write()
            self._change = change
        self._values += values
        self._records += records
        awaited, self._awaited = self._awaited, True
        return not awaited

    def flush(self) -> None:
        """Make the changes that wait, at the end of a batch."""
        self._awaited = False
        self._write()

    def write(self) -> None:
        """Make the changes that wait; others may follow in the batch."""
        if self._records:
            self._write()

    def _write(self) -> None:
        change, values, records = self._change, self._values, self._records
        self._change, self._values, self._records = None, [], []
        if change is None or not records:
            return
        done = False
        try:
            try:
                change.run(values, records)
            except ConnectionUnavailableError as error:
                # The app is being shut down: nobody waits any more.
                for record in records:
                    self.report(error, record)
            except Exception:
                # One of them fails, and with it all: the others are to be made.
                logger.debug("%d changes of a store failed together", len(records), exc_info=True)
                for one, record in zip(values, records, strict=True):
                    self._run_one(change, one, record)
            done = True
        finally:
            if not done:
                # Interrupted while it waited for the store: the changes wait on.
                self._change, self._values, self._records = change, values, records

    def _run_one(self, change: GatheredChange, values: dict[str, Any], record: Record) -> None:
        try:
            change.run([values], [record])
        except Exception as error:
            logger.debug("a change of a store failed", exc_info=True)
            self.report(error, record)
