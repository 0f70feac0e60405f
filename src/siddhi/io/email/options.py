"""Options of the source ``email``."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.options import OptionHolder
from siddhi.io.tls import client_context

__all__ = ["FLAGS", "Account", "Action", "SourceOptions"]

_OWNER = "source 'email'"
FLAGS = {"SEEN": r"\Seen", "FLAGGED": r"\Flagged", "ANSWERED": r"\Answered"}
"""Actions that set a flag: mails with the flag are not new."""

_IMAP_ACTIONS = ("NONE", *FLAGS, "DELETE", "MOVE")
_POP3_ACTIONS = ("NONE", "DELETE")
_FIELDS = ("subject", "from", "to", "cc", "bcc")


@dataclass(frozen=True, slots=True)
class Action:
    """What is done with a mail: one of NONE, SEEN, FLAGGED, ANSWERED, DELETE and MOVE, and the folder to move it to."""

    name: str
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """How to connect and log in.

    Attributes:
        host: the server.
        port: its port.
        context: for TLS.
        implicit: whether the connection begins with TLS.
        starttls: whether it changes to TLS later.
        username: name of the user.
        password: returns the password; None: there is none.
        token: returns an access token of OAuth 2, used instead of a password; None: there is none.
        timeout: seconds that the server has to answer.
    """

    host: str
    port: int
    context: ssl.SSLContext
    implicit: bool
    starttls: bool
    username: str
    password: Callable[[], str] | None
    token: Callable[[], str] | None
    timeout: float

    @property
    def address(self) -> str:
        """Host and port, for messages."""
        return f"{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"Account({self.address})"  # no secrets


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options.

    Attributes:
        store: ``imap`` or ``pop3``.
        account: how to connect.
        folder: the folder whose mails are read.
        terms: what header fields must contain, by field.
        interval: seconds between two polls.
        actions: what is done with a mail after it was processed, and if it can't be mapped.
        subtype: the part of a mail that is its payload: ``plain`` or ``html``.
        skips_old: whether mails that are there at the first start are left out.
    """

    store: Literal["imap", "pop3"]
    account: Account
    folder: str
    terms: tuple[tuple[str, str], ...]
    interval: float
    actions: tuple[Action, Action]
    subtype: Literal["plain", "html"]
    skips_old: bool

    @classmethod
    def read(cls, options: OptionHolder) -> SourceOptions:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option is missing or invalid.
        """
        is_imap = options.choice("store", ("imap", "pop3"), "imap") == "imap"
        if not is_imap and "folder" in options:
            raise options.invalid("folder", "store = 'imap' beside it: POP3 has no folders")
        folder = options.static("folder", "INBOX")
        if not folder.isprintable() or not folder:
            raise options.invalid("folder", "the name of a folder")
        return cls(
            store="imap" if is_imap else "pop3",
            account=_account(options, is_imap=is_imap),
            folder=folder,
            terms=_terms(options),
            interval=options.duration("polling.interval", "600", unit="sec"),
            actions=(
                _action(options, "action.after.processed", "folder.to.move", is_imap=is_imap),
                _action(options, "action.after.failure", "folder.to.move.failure", is_imap=is_imap),
            ),
            subtype="html"
            if options.choice("content.type", ("text/plain", "text/html"), "text/plain") == "text/html"
            else "plain",
            skips_old=options.choice("start.from", ("earliest", "latest"), "earliest") == "latest",
        )


def _account(options: OptionHolder, *, is_imap: bool) -> Account:
    implicit = options.flag("ssl.enable", default=True)
    if implicit and "starttls" in options:
        raise options.invalid("starttls", "ssl.enable = 'false' beside it: the connection begins with TLS otherwise")
    starttls = not implicit and options.choice("starttls", ("required", "never"), "required") == "required"
    if ("password" in options) == ("access.token" in options):
        raise SiddhiAppCreationError(f"{_OWNER} requires either 'password' or 'access.token'", code="E326")
    if not is_imap and "access.token" in options:
        raise options.invalid("access.token", "store = 'imap' beside it", shown=False)
    port = (993 if implicit else 143) if is_imap else (995 if implicit else 110)
    username = options.static("username")
    name = "password" if "password" in options else "access.token"
    options.secret(name)

    def secret() -> str:
        return options.secret(name) or ""  # read anew: a file or variable may have changed

    return Account(
        host=options.static("host", "imap.gmail.com" if is_imap else "pop.gmail.com"),
        port=options.integer("port", port, least=1, most=65535),
        context=client_context(options),
        implicit=implicit,
        starttls=starttls,
        username=username,
        password=secret if name == "password" else None,
        token=secret if name == "access.token" else None,
        timeout=options.duration("timeout", "30 sec"),
    )


def _action(options: OptionHolder, name: str, folder_name: str, *, is_imap: bool) -> Action:
    found = options.choice(name, _IMAP_ACTIONS if is_imap else _POP3_ACTIONS, "NONE")
    folder = options.static(folder_name, "")
    if (found == "MOVE") != bool(folder) or not (folder or "a").isprintable():
        needed = f"a folder, and {name} = 'MOVE' beside it" if folder else f"'{folder_name}' beside it"
        raise options.invalid(folder_name if folder else name, needed)
    return Action(found, folder)


def _terms(options: OptionHolder) -> tuple[tuple[str, str], ...]:
    terms = []
    for part in options.static("search.term", "").split(","):
        if not part.strip():
            continue
        field, colon, text = part.partition(":")
        if not colon or field.strip().lower() not in _FIELDS or not text.strip():
            raise options.invalid("search.term", f"terms such as subject:alarm, of {', '.join(_FIELDS)}")
        terms.append((field.strip().lower(), text.strip()))
    return tuple(terms)
