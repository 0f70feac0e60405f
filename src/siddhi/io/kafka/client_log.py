"""The log of librdkafka's clients."""

from __future__ import annotations

import logging

from siddhi.repeats import Repeats

__all__ = ["ClientLog"]

logger = logging.getLogger("siddhi")

_FIRST = 3


class ClientLog:
    """Logs what a client says, as its ``logger``: of lines of the same kind the first ones, then one now and then.

    A client without a broker tries to connect several times a second, and logs each attempt.
    """

    def __init__(self) -> None:
        self._repeats = Repeats(first=_FIRST)

    def log(self, level: int, text: str, *arguments: object) -> None:
        """Log a line; the first argument is its kind, such as ``FAIL``."""
        note = self._repeats.note(str(arguments[0]) if arguments else text)
        if note is not None:
            logger.log(level, "%s%s", text % arguments, note)
