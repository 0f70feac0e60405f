"""Reads the mailbox of a POP3 server."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import cast

from siddhi.io.email.options import SourceOptions
from siddhi.io.email.pop3 import Pop3Mailbox
from siddhi.io.email.reader import LARGEST_MAIL, MailboxReader, Submit
from siddhi.io.schedule import wait_until

__all__ = ["Pop3Reader"]

_MAILS = 50
"""Number of mails that are read in one visit."""


class Pop3Reader(MailboxReader):
    """Reads the mails that it does not know. Positions count mails; a state has the identifiers of those it knows."""

    def __init__(self, options: SourceOptions, names: tuple[str, ...], stream: str) -> None:
        self._mailbox = Pop3Mailbox(options.account)
        super().__init__(self._mailbox, options, names, stream)
        self._guard = threading.Lock()  # snapshots are taken in other threads
        self._known: set[str] | None = None  # processed, and still at the server; None: there was no visit yet
        self._pending: deque[tuple[int, str]] = deque()
        self._outcomes: dict[int, tuple[str, asyncio.Future[bool]]] = {}
        self._deleted: set[str] = set()
        self._wakes = asyncio.Event()
        self._number = 0

    async def open(self, position: object, *, acts: bool) -> object:
        """Make sure that the server can be reached, and return the position to begin at.

        Args:
            position: the last position; None: there is none.
            acts: whether to do what is to be done with the mails that are processed.
        """
        self.begin()
        self._wakes = asyncio.Event()
        self._settle(position)
        with self._guard:
            # The others were not processed before the connection was lost, and are read again.
            unprocessed = {number for number, _ in self._pending}
            self._pending.clear()
        for number in unprocessed & self._outcomes.keys():
            del self._outcomes[number]
        if acts and position is not None:
            await self.acknowledge(position)
        visit = await self.run(lambda: self._mailbox.visit((), self._deleted, 0, 0))
        self._deleted.clear()
        if self._known is None:
            self._known = set(visit.there) if self.options.skips_old else set()
        return position

    async def receive(self, submit: Submit) -> None:
        """Read new mails until the task is cancelled."""
        while True:
            self._wakes.clear()
            deleted = frozenset(self._deleted)
            with self._guard:
                known = frozenset((self._known or set()) | {name for _, name in self._pending} | deleted)
            visit = await self.run(lambda: self._mailbox.visit(known, deleted, _MAILS, LARGEST_MAIL))  # noqa: B023 - awaited at once
            if visit.is_complete:
                self._deleted -= deleted
                with self._guard:
                    if self._known is not None:
                        self._known &= visit.there
            for name, content in visit.new:
                await self._submit(submit, name, content)
            if len(visit.new) < _MAILS and visit.is_complete:
                await wait_until(self._wakes, self.options.interval)

    async def _submit(self, submit: Submit, name: str, content: bytes | None) -> None:
        found = None if content is None else await asyncio.to_thread(self.read, content)
        if content is None:
            self.report(name, "it is too large, or has a line that is too long")
        with self._guard:
            self._number += 1
            number = self._number
            if found is None:
                if self._known is not None:
                    self._known.add(name)
                return
            self._pending.append((number, name))
        self._outcomes[number] = name, await submit(*found, number)

    async def acknowledge(self, position: object) -> None:
        """Do what is to be done with the mails up to a position, with the next visit, which follows at once."""
        for number in sorted(number for number in self._outcomes if number <= cast("int", position)):
            name, outcome = self._outcomes.pop(number)
            if self.options.actions[0 if outcome.done() and outcome.result() else 1].name == "DELETE":
                self._deleted.add(name)
                self._wakes.set()

    async def close(self) -> None:
        """Delete what is to be deleted."""
        if self._deleted:
            visit = await self.run(lambda: self._mailbox.visit((), frozenset(self._deleted), 0, 0))
            if visit.is_complete:
                self._deleted.clear()

    # --- state

    def _settle(self, position: object) -> None:
        with self._guard:
            while position is not None and self._pending and self._pending[0][0] <= cast("int", position):
                _, name = self._pending.popleft()
                if self._known is not None:
                    self._known.add(name)

    def snapshot(self, position: object) -> object:
        """Return the state after a position."""
        self._settle(position)
        with self._guard:
            return None if self._known is None else sorted(self._known)

    def restore(self, state: object) -> object:
        """Set the state, and return its position."""
        with self._guard:
            self._known = None if state is None else set(cast("list[str]", state))
            self._pending.clear()
        self._outcomes = {}
        return None
