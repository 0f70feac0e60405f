"""What reads a mailbox for the source ``email``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol, TypeVar

from siddhi.io.blocking_calls import in_thread
from siddhi.io.email.mail import matches, parse, payload_of, properties_of
from siddhi.io.email.options import SourceOptions

__all__ = ["LARGEST_MAIL", "Mailbox", "MailboxReader", "Submit"]

logger = logging.getLogger("siddhi")

LARGEST_MAIL = 64 * 1024 * 1024
"""Bytes of the largest mail; larger ones are logged and left out."""

_T = TypeVar("_T")


class Submit(Protocol):
    """Hands a payload to the app: see :meth:`siddhi.io.async_source.AsyncSource.submit`."""

    async def __call__(
        self, payload: object, properties: list[object], position: object, /
    ) -> asyncio.Future[bool]: ...


class Mailbox(Protocol):
    """A blocking client."""

    def shut(self) -> None: ...


class MailboxReader:
    """Base of the readers.

    Args:
        mailbox: the client.
        options: the options.
        names: names of the transport properties, which are header fields.
        stream: name of the stream, for messages.
    """

    def __init__(self, mailbox: Mailbox, options: SourceOptions, names: tuple[str, ...], stream: str) -> None:
        self.options = options
        self.stream = stream
        self._client = mailbox
        self._names = names
        self._calls = asyncio.Lock()  # one call at a time

    def begin(self) -> None:
        """Prepare for a connection, whose event loop may be a new one."""
        self._calls = asyncio.Lock()

    async def run(self, call: Callable[[], _T]) -> _T:
        """Run a call of the client.

        Raises:
            ConnectionUnavailableError: the server can't be reached, or does not answer in time.
        """
        account = self.options.account
        async with self._calls:
            # A call has several requests, each of which has the time of the option.
            return await in_thread(call, account.address, 4 * account.timeout, self._client.shut)

    def read(self, content: bytes) -> tuple[str, list[object]] | None:
        """Return payload and properties of a mail; None: it is not wanted, or has no text of the type."""
        mail = parse(content)
        if not matches(mail, self.options.terms):
            return None
        payload = payload_of(mail, self.options.subtype)
        return (payload, properties_of(mail, self._names)) if payload.strip() else None

    def report(self, identifier: object, reason: str) -> None:
        """Log that a mail can't be received."""
        logger.error(
            "source 'email' of stream '%s': mail %s of '%s' is left out: %s",
            self.stream,
            identifier,
            self.options.account.username,
            reason,
        )
