"""Received mails: whether a search finds them, their payload and their headers."""

from __future__ import annotations

from collections.abc import Sequence
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import getaddresses
from typing import Literal

__all__ = ["matches", "parse", "payload_of", "properties_of"]


def parse(content: bytes) -> EmailMessage:
    """Return a mail; whatever the bytes are, there is one."""
    return message_from_bytes(content, policy=default)


def matches(mail: EmailMessage, terms: Sequence[tuple[str, str]]) -> bool:
    """Return whether header fields contain all terms; one with an ``@`` must be a whole address."""
    return all(_has(mail, field, text) for field, text in terms)


def _has(mail: EmailMessage, field: str, text: str) -> bool:
    values = [str(value) for value in mail.get_all(field, ())]
    if "@" in text and field != "subject":
        return text in [address for _, address in getaddresses(values)]
    return any(text in value for value in values)


def payload_of(mail: EmailMessage, subtype: Literal["plain", "html"]) -> str:
    """Return the text of the body; empty: there is none of this type."""
    part = mail.get_body(preferencelist=(subtype,))
    if part is None:
        return ""
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    try:
        return content.decode(part.get_content_charset("utf-8"), "replace").replace("\r\n", "\n")
    except LookupError:  # an unknown charset
        return content.decode("utf-8", "replace").replace("\r\n", "\n")


def properties_of(mail: EmailMessage, names: Sequence[str]) -> list[object]:
    """Return header fields by name; of several with a name the first one."""
    found: list[object] = []
    for name in names:
        value = mail.get(name)
        found.append(None if value is None else str(value))
    return found
