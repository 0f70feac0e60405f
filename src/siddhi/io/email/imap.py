"""A mailbox at an IMAP server, through the standard library; its calls block."""

from __future__ import annotations

import base64
import imaplib
import re
from collections.abc import Sequence
from typing import Any

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.email.options import FLAGS, Account, Action

__all__ = ["ImapMailbox", "encode_folder"]

_UID = re.compile(rb"UID (\d+)")
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")


def encode_folder(name: str) -> str:
    """Return the name of a folder as IMAP writes it: quoted, other letters than those of ASCII in modified UTF-7."""
    encoded = ""
    for part in re.split(r"([^\x20-\x7e]+)", name):
        if part and not part.isascii():
            text = base64.b64encode(part.encode("utf-16-be")).decode().rstrip("=").replace("/", ",")
            encoded += f"&{text}-"
        else:
            encoded += part.replace("&", "&-")
    escaped = encoded.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class ImapMailbox:
    """One connection, with a folder selected.

    Args:
        account: how to connect.
        folder: the folder.

    Attributes:
        validity: number of the set of identifiers; with another one, identifiers mean other mails.
    """

    def __init__(self, account: Account, folder: str) -> None:
        self._account = account
        self._folder = folder
        self._client: imaplib.IMAP4 | None = None
        self.validity = 0

    def connect(self) -> None:
        """Connect, log in and select the folder.

        Raises:
            ConnectionUnavailableError: the server can't be reached, or refuses.
        """
        account = self._account
        try:
            if account.implicit:
                self._client = imaplib.IMAP4_SSL(
                    account.host, account.port, ssl_context=account.context, timeout=account.timeout
                )
            else:
                self._client = imaplib.IMAP4(account.host, account.port, timeout=account.timeout)
                if account.starttls:
                    self._client.starttls(account.context)
            if account.token is not None:
                token = account.token()
                text = f"user={account.username}\1auth=Bearer {token}\1\1"
                self._client.authenticate("XOAUTH2", lambda _: text.encode())
            elif account.password is not None:
                self._client.login(account.username, account.password())
            self._do("select", encode_folder(self._folder))
            answer = self._client.response("UIDVALIDITY")[1]
            self.validity = int(answer[0] or 0) if answer else 0
        except (OSError, imaplib.IMAP4.error) as error:
            raise ConnectionUnavailableError(f"{account.address}: {type(error).__name__}: {error}") from error

    def shut(self) -> None:
        """End a call in another thread."""
        if self._client is not None:
            self._client.shutdown()

    def close(self) -> None:
        """Log out."""
        client, self._client = self._client, None
        if client is not None:
            try:
                client.logout()
            except (OSError, imaplib.IMAP4.error):
                client.shutdown()

    def new(self, after: int, without: Sequence[str]) -> list[int]:
        """Return the identifiers of mails above one, in order, that have none of some flags."""
        self._do("noop")  # the server tells of new mails
        # '5:*' always finds the last mail, even if its identifier is lower.
        criteria = ["UID", f"{after + 1}:*", "UNDELETED", *(f"UN{name}" for name in without)]
        (found,) = self._do("uid", "SEARCH", *criteria) or [b""]
        return sorted(uid for uid in map(int, (found or b"").split()) if uid > after)

    def last(self) -> int:
        """Return the highest identifier; 0: the folder is empty."""
        (found,) = self._do("uid", "SEARCH", "ALL") or [b""]
        return max(map(int, (found or b"").split()), default=0)

    def size(self, uid: int) -> int | None:
        """Return the size of a mail in bytes; None: it is gone."""
        return next(
            (int(found[1]) for line in self._fetch(uid, "RFC822.SIZE") if (found := _SIZE.search(line[0]))), None
        )

    def header(self, uid: int) -> bytes | None:
        """Return the header of a mail; None: it is gone."""
        return self._content(uid, "BODY.PEEK[HEADER]")

    def content(self, uid: int) -> bytes | None:
        """Return a mail; it is not marked as seen. None: it is gone."""
        return self._content(uid, "BODY.PEEK[]")

    def _content(self, uid: int, part: str) -> bytes | None:
        return next((line[1] for line in self._fetch(uid, f"(UID {part})") if line[1]), None)

    def _fetch(self, uid: int, parts: str) -> list[tuple[bytes, bytes]]:
        answer = self._do("uid", "FETCH", str(uid), parts)
        return [(line[0], line[1]) if isinstance(line, tuple) else (line, b"") for line in answer if line is not None]

    def act(self, uid: int, action: Action) -> None:
        """Do something with a mail; nothing if it is gone."""
        if action.name in FLAGS:
            self._do("uid", "STORE", str(uid), "+FLAGS", f"({FLAGS[action.name]})")
        elif action.name == "DELETE":
            self._delete(uid)
        elif action.name == "MOVE":
            folder = encode_folder(action.folder)
            if self._has("MOVE"):
                self._do("uid", "MOVE", str(uid), folder)
            else:
                self._do("uid", "COPY", str(uid), folder)
                self._delete(uid)

    def _delete(self, uid: int) -> None:
        self._do("uid", "STORE", str(uid), "+FLAGS", r"(\Deleted)")
        if self._has("UIDPLUS"):
            self._do("uid", "EXPUNGE", str(uid))
        else:
            self._do("expunge")

    def _has(self, capability: str) -> bool:
        return self._client is not None and capability in self._client.capabilities

    def _do(self, command: str, *arguments: str) -> list[Any]:
        if self._client is None:
            raise ConnectionUnavailableError("the source is not connected")
        try:
            status, answer = getattr(self._client, command)(*arguments)
        except (OSError, imaplib.IMAP4.error) as error:
            raise ConnectionUnavailableError(f"{self._account.address}: {type(error).__name__}: {error}") from error
        if status != "OK":
            what = " ".join((command, *arguments[:1]))
            raise ConnectionUnavailableError(f"{self._account.address} refuses {what}: {answer[0]!r}")
        return list(answer)
