"""A mailbox at a POP3 server, through the standard library; its calls block."""

from __future__ import annotations

import poplib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.email.options import Account

__all__ = ["Pop3Mailbox", "Visit"]


@dataclass(slots=True)
class Visit:
    """What a visit found.

    Attributes:
        there: identifiers of the mails that are there.
        new: identifier and content of new mails; None: it is too large, or has a line that is too long.
        is_complete: whether all mails were looked at, and the mails to delete are deleted.
    """

    there: set[str]
    new: list[tuple[str, bytes | None]]
    is_complete: bool


class Pop3Mailbox:
    """A mailbox that is visited: a session ends with each visit, since the server locks the mailbox meanwhile.

    Args:
        account: how to connect.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self._client: poplib.POP3 | None = None

    def shut(self) -> None:
        """End a call in another thread."""
        if self._client is not None:
            self._client.close()

    def visit(self, known: Collection[str], deleted: Collection[str], most: int, largest: int) -> Visit:
        """Delete mails, and return the identifiers of those that are there, and new ones.

        Args:
            known: identifiers of the mails that are not new.
            deleted: identifiers of the mails to delete.
            most: number of new mails to return.
            largest: bytes of the largest mail to return; of larger ones there is only the identifier.

        Raises:
            ConnectionUnavailableError: the server can't be reached, or refuses.
        """
        account = self._account
        try:
            client = self._connect()
            try:
                visit = self._visit(client, known, deleted, most, largest)
                if visit.is_complete:
                    client.quit()  # the server deletes now
            finally:
                self._client = None
                client.close()
        except (OSError, poplib.error_proto) as error:
            raise ConnectionUnavailableError(f"{account.address}: {type(error).__name__}: {error}") from error
        return visit

    def _visit(
        self, client: poplib.POP3, known: Collection[str], deleted: Collection[str], most: int, largest: int
    ) -> Visit:
        visit = Visit(set(), [], is_complete=True)
        sizes = dict(line.split()[:2] for line in client.list()[1])
        for line in client.uidl()[1]:
            number, identifier = line.split(maxsplit=1)
            name = identifier.decode("latin-1")
            if name in deleted:
                client.dele(int(number))
                continue
            visit.there.add(name)
            if name in known or len(visit.new) == most:
                continue
            if int(sizes.get(number, 0)) > largest:
                visit.new.append((name, None))
                continue
            try:
                visit.new.append((name, b"\r\n".join(client.retr(int(number))[1]) + b"\r\n"))
            except poplib.error_proto as error:
                if "too long" not in str(error):
                    raise
                # A line beyond the limit of the library. The session can't go on within the mail.
                visit.new.append((name, None))
                visit.is_complete = False
                break
        return visit

    def _connect(self) -> poplib.POP3:
        account = self._account
        kind: Any = poplib.POP3_SSL if account.implicit else poplib.POP3
        arguments = {"context": account.context} if account.implicit else {}
        # In two steps: the library does not close the socket if the greeting fails.
        client: poplib.POP3 = kind.__new__(kind)
        try:
            kind.__init__(client, account.host, account.port, timeout=account.timeout, **arguments)
            self._client = client
            if account.starttls:
                client.stls(account.context)
            client.user(account.username)
            client.pass_(account.password() if account.password is not None else "")
        except BaseException:
            if hasattr(client, "sock"):
                client.close()
            raise
        return client
