"""Reads a folder of an IMAP server."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from siddhi.io.email.imap import ImapMailbox
from siddhi.io.email.mail import matches, parse
from siddhi.io.email.options import FLAGS, SourceOptions
from siddhi.io.email.reader import LARGEST_MAIL, MailboxReader, Submit

__all__ = ["ImapReader"]

logger = logging.getLogger("siddhi")


class ImapReader(MailboxReader):
    """Reads the mails above the last identifier. A position is ``[validity, identifier]``."""

    def __init__(self, options: SourceOptions, names: tuple[str, ...], stream: str) -> None:
        self._mailbox = ImapMailbox(options.account, options.folder)
        super().__init__(self._mailbox, options, names, stream)
        self._marks = sorted({action.name for action in options.actions} & set(FLAGS))
        self._outcomes: dict[int, asyncio.Future[bool]] = {}  # of mails that nothing was done with yet
        self._last = 0
        self._validity = 0

    async def open(self, position: object, *, acts: bool) -> object:
        """Connect, and return the position to begin at.

        Args:
            position: the last position; None: there is none.
            acts: whether to do what is to be done with the mails that are processed.
        """
        self.begin()
        await self.run(self._mailbox.connect)
        validity = self._mailbox.validity
        if self._validity != validity:
            self._outcomes.clear()
        self._validity = validity
        given = cast("list[int] | None", position)
        if given is not None and given[0] != validity:
            logger.warning(
                "source 'email' of stream '%s': the server has numbered the mails of '%s' anew; all of them are read",
                self.stream,
                self.options.folder,
            )
            given = [validity, 0]
        elif given is None:
            given = [validity, await self.run(self._mailbox.last) if self.options.skips_old else 0]
        self._last = given[1]
        # Mails above were not processed before the connection was lost, and are read again.
        self._outcomes = {uid: outcome for uid, outcome in self._outcomes.items() if uid <= self._last}
        if acts:
            await self.acknowledge(given)
        return given

    async def receive(self, submit: Submit) -> None:
        """Read new mails until the task is cancelled."""
        while True:
            last = self._last
            for uid in await self.run(lambda: self._mailbox.new(last, self._marks)):  # noqa: B023 - awaited at once
                content = await self.run(lambda: self._wanted(uid))  # noqa: B023 - awaited at once
                found = None if content is None else await asyncio.to_thread(self.read, content)
                if found is not None:
                    # At once, so that it is there when the mail is acknowledged.
                    self._outcomes[uid] = await submit(*found, [self._validity, uid])
                self._last = uid
            await asyncio.sleep(self.options.interval)

    def _wanted(self, uid: int) -> bytes | None:
        """Return a mail, if its header fields match; None: it is not wanted, too large, or gone."""
        if self.options.terms:
            header = self._mailbox.header(uid)
            if header is None or not matches(parse(header), self.options.terms):
                return None
        size = self._mailbox.size(uid)
        if size is not None and size > LARGEST_MAIL:
            self.report(uid, f"it has {size} bytes")
            return None
        return self._mailbox.content(uid)

    async def acknowledge(self, position: object) -> None:
        """Do what is to be done with the mails up to a position."""
        last = cast("list[int]", position)[1]
        for uid in sorted(uid for uid in self._outcomes if uid <= last):
            outcome = self._outcomes[uid]
            action = self.options.actions[0 if outcome.done() and outcome.result() else 1]
            if action.name != "NONE":
                await self.run(lambda: self._mailbox.act(uid, action))  # noqa: B023 - awaited at once
            del self._outcomes[uid]

    async def close(self) -> None:
        """Log out."""
        await self.run(self._mailbox.close)

    # --- state

    def snapshot(self, position: object) -> object:
        """Return the state after a position."""
        return position

    def restore(self, state: object) -> object:
        """Return the position of a state."""
        self._outcomes = {}
        return state
