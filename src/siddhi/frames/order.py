"""Order of the events of an input in time."""

from __future__ import annotations

import logging

import numpy as np
import numpy.typing as npt

from siddhi.errors import EventError

__all__ = ["Order"]


class Order:
    """Whether the events of an input are in the order of their times.

    Rows whose times are in a column or an index must be: windows and bars would silently be wrong. Events that bring their
    own times are sent as they happened, and those that come late are counted.

    Args:
        stream: name of the stream.
        hint: how to sort the input; empty: its events bring their own times.
    """

    def __init__(self, stream: str, hint: str) -> None:
        self._stream = stream
        self._hint = hint
        self._rows = 0
        self._late = 0
        self._latest = -(2**63)

    def check(self, at: npt.NDArray[np.int64]) -> None:
        """Look at the times (ms) of the next rows.

        Raises:
            EventError: they are not in order, and have to be.
        """
        if not len(at):
            return
        if at[0] < self._latest or (at[1:] < at[:-1]).any():
            highest = np.maximum(np.maximum.accumulate(at), self._latest)
            late = at < highest
            count, row = int(late.sum()), int(late.argmax())
            if self._hint:
                raise EventError(
                    f"stream '{self._stream}', row {self._rows + row}: its time {_text(at[row])} is before "
                    f"{_text(highest[row])}, that of an earlier row; {count} of {len(at)} rows are late so: {self._hint}; "
                    "to replay events as late as they came, send them to a siddhi.App"
                )
            self._late += count
        self._rows += len(at)
        self._latest = max(self._latest, int(at.max()))

    def warn(self) -> None:
        """Log how many events came late."""
        if self._late:
            logging.getLogger("siddhi").warning(
                "stream '%s': %d of %d events have times before that of an earlier one; they were sent in their own order, "
                "so windows may count them later",
                self._stream,
                self._late,
                self._rows,
            )


def _text(at: np.int64) -> str:
    """Return a time (ms) as the input has it, and as a date."""
    return f"{at} ({np.datetime64(int(at), 'ms')})"
