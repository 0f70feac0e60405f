"""A limit for the messages that a source has received and not acknowledged."""

from __future__ import annotations

import asyncio
import logging

from siddhi.io.async_source import AckMode
from siddhi.io.options import OptionHolder

__all__ = ["UnacknowledgedLimit"]

logger = logging.getLogger("siddhi")

OPTION = "buffer.unacknowledged"
DEFAULT_MOST = 10_000
WARN_SECONDS = 10.0
"""Time that a source waits for an acknowledgement before it is logged."""


class UnacknowledgedLimit:
    """Bounds the messages of a source with ``ack = 'checkpoint'``: they are acknowledged by a ``persist``, which may never come.

    Used on the event loop only. Other sources have no limit here: their messages are acknowledged as soon as they are processed.

    Args:
        most: number of messages that may be unacknowledged; None: any number.
        label: the source, for messages.
        option: name of the option that sets the limit, for messages.

    Attributes:
        most: as above.
    """

    def __init__(self, most: int | None, label: str, option: str = OPTION) -> None:
        self.most = most
        self._label = label
        self._option = option
        self._has_room = asyncio.Event()
        self._warning: asyncio.TimerHandle | None = None

    @classmethod
    def read(cls, options: OptionHolder, acknowledges: AckMode, label: str) -> UnacknowledgedLimit:
        """Read the option of a source.

        Args:
            options: the options.
            acknowledges: when the source acknowledges.
            label: the source, for messages.

        Raises:
            SiddhiAppCreationError: the option is invalid.
        """
        if acknowledges == "checkpoint":
            return cls(options.integer(OPTION, DEFAULT_MOST, least=1), label)
        if OPTION in options:
            raise options.invalid(OPTION, "ack = 'checkpoint' beside it")
        return cls(None, label)

    def begin(self) -> None:
        """Prepare for a connection, whose event loop may be a new one and which has no unacknowledged messages."""
        self.end()
        self._has_room = asyncio.Event()
        self._has_room.set()

    def end(self) -> None:
        """Forget the connection."""
        if self._warning is not None:
            self._warning.cancel()
            self._warning = None

    def note(self, count: int) -> None:
        """Note how many messages are unacknowledged now."""
        if self.most is None:
            return
        if count < self.most:
            self.end()
            self._has_room.set()
        elif self._has_room.is_set():
            self._has_room.clear()
            self._warning = asyncio.get_running_loop().call_later(WARN_SECONDS, self._warn)

    @property
    def is_reached(self) -> bool:
        """Whether no more messages may be unacknowledged."""
        return not self._has_room.is_set()

    async def room(self) -> None:
        """Wait until one more message may be unacknowledged."""
        await self._has_room.wait()

    def _warn(self) -> None:
        logger.warning(
            "%s: %d messages are not acknowledged, as many as '%s' allows; it receives no more until the state of the app is "
            "persisted",
            self._label,
            self.most,
            self._option,
        )
