"""Write buffer of a store: combines row-by-row changes while a batch is being sent."""

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
"""Maximum number of buffered rows: bounds the memory, and the work repeated after a lost connection."""


@dataclass(frozen=True, slots=True, eq=False)
class GatheredChange:
    """The change that one query makes to a store.

    Attributes:
        run: ``run(parameters, records)`` makes the change for the events in order; if it fails, nothing has changed.
    """

    run: Callable[[list[dict[str, Any]], Sequence[Record]], None]


class WriteGather:
    """The buffered changes of one store: all of one query, in order. Every read and every other change of the store flushes
    the buffer first, so that the delay can't be observed.

    Args:
        report: ``report(error, record)`` reports an event whose change failed.

    Attributes:
        report: as passed.
    """

    def __init__(self, report: Callable[[Exception, Record], None]) -> None:
        self.report = report
        self._change: GatheredChange | None = None
        self._values: list[dict[str, Any]] = []
        self._records: list[Record] = []
        self._awaited = False

    def take(self, change: GatheredChange, values: Sequence[dict[str, Any]], records: Sequence[Record]) -> bool:
        """Buffer a change; return whether the caller must arrange for :meth:`flush` at the end of the batch."""
        if change is not self._change or len(self._records) >= _MOST:
            self._write()
            self._change = change
        self._values += values
        self._records += records
        awaited, self._awaited = self._awaited, True
        return not awaited

    def flush(self) -> None:
        """Write the buffered changes at the end of a batch."""
        self._awaited = False
        self._write()

    def write(self) -> None:
        """Write the buffered changes; more may follow in the batch."""
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
                # The app is being shut down: there are no further attempts.
                for record in records:
                    self.report(error, record)
            except Exception:
                # One of the changes failed, and all with it: make the others.
                logger.debug("%d changes of a store failed together", len(records), exc_info=True)
                for one, record in zip(values, records, strict=True):
                    self._run_one(change, one, record)
            done = True
        finally:
            if not done:
                # Interrupted while waiting for the store: keep the changes in the buffer.
                self._change, self._values, self._records = change, values, records

    def _run_one(self, change: GatheredChange, values: dict[str, Any], record: Record) -> None:
        try:
            change.run([values], [record])
        except Exception as error:
            logger.debug("a change of a store failed", exc_info=True)
            self.report(error, record)
