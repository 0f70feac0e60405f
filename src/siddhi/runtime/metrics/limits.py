"""Log lines and errors for limits of ``@limit`` or ``@app:limits`` that are reached, or nearly reached."""

from __future__ import annotations

import logging

from siddhi.errors import LimitExceededError, shown
from siddhi.repeats import Repeats

__all__ = ["LimitReport"]

logger = logging.getLogger("siddhi")


class LimitReport:
    """Logs a limit that is reached, less and less often: at the first time, the second, the fourth, ...

    Args:
        app: name of the app.
        where: owner of the limited state, as in "query 'q'".
        what: what is limited: "group-by keys".
        most: the maximum.
        option: the annotation that sets it, as in "@limit(keys = '100')".
        remedy: what to do if the limit is too low.
        full: what is the case when a row is refused; None: it holds as many as the limit allows.
    """

    def __init__(
        self, app: str, where: str, what: str, most: int, option: str, remedy: str = "", full: str | None = None
    ) -> None:
        self._location = f"app '{app}', {where}"
        self._where = where
        self._what = what
        self._most = most
        self._option = option
        self._remedy = remedy
        self._full = f"holds {most} {what}" if full is None else full
        self._repeats = Repeats(first=1)

    def nearly_full(self, count: int) -> None:
        """Warn that four fifths of a limit are used."""
        logger.warning("%s: holds %d %s; %s allows %d", self._location, count, self._what, self._option, self._most)

    def refused(self, key: tuple[object, ...] | None) -> LimitExceededError:
        """Return the error for a row beyond the limit."""
        of = "" if key is None else f" of key {_listed(key)}"
        return LimitExceededError(
            f"{self._where} {self._full}, and {self._option} allows no more: the row{of} was refused; {self._remedy}"
        )

    def left_out(self, count: int, key: tuple[object, ...] | None) -> None:
        """Log a row beyond the limit that is left out."""
        if self._repeats.note("refused") is not None:
            of = "" if key is None else f"; the last one is of key {_listed(key)}"
            logger.warning(
                "%s: %d rows refused so far: it %s, and %s allows no more%s",
                self._location,
                count,
                self._full,
                self._option,
                of,
            )

    def dropped(self, count: int) -> None:
        """Log an oldest key or row that was dropped."""
        if self._repeats.note("dropped") is not None:
            logger.warning(
                "%s: %d of its oldest %s dropped so far: %s allows %d",
                self._location,
                count,
                self._what,
                self._option,
                self._most,
            )

    def purged(self, count: int) -> None:
        """Log a key that was unused for its ttl."""
        if self._repeats.note("purged") is not None:
            logger.info(
                "%s: %d %s purged so far because they were unused for their ttl", self._location, count, self._what
            )


def _listed(key: tuple[object, ...]) -> str:
    return ", ".join(map(shown, key))
