"""Hides secrets in texts that are shown: messages, logs, and the lines of an app beside an error."""

from __future__ import annotations

import re

__all__ = ["excerpt", "redacted"]

_MOST_SHOWN = 200

_NAME = r"(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|api[._-]?key|(?:access|account|private|shared)[._-]?key|authorization|basic[._-]auth[._-]users|seed)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # an option of an app: basic.auth.password = '...'; a reference to a secret is none
        rf"[\w.-]*{_NAME}[\w.-]*\s*=\s*'(?!env:|file:)(?P<value>[^'\n]*)",
        rf'[\w.-]*{_NAME}[\w.-]*\s*=\s*"(?!env:|file:)(?P<value>[^"\n]*)',
        # options whose parts may be secrets: headers = '...'
        r"\b(?:headers|metadata|connect\.message)\s*=\s*'(?!env:|file:)(?P<value>[^'\n]*)",
        r'\b(?:headers|metadata|connect\.message)\s*=\s*"(?!env:|file:)(?P<value>[^"\n]*)',
        # a header or property: 'Authorization:Bearer ...', sasl.password:...
        r"(?:[\w.-]*(?:password|secret|api[._-]?key)|authorization)\s*:(?!//)\s*(?P<value>[^\s'\",;][^'\"\n,;]*)",
        # the userinfo and the query of a URL
        r"://[^\s/@:'\"]*:(?P<value>[^\s/'\"]+)@",
        rf"[?&][\w.-]*{_NAME}[\w.-]*=(?P<value>[^&\s'\"]+)",
    )
)

_PAYLOADS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # a member of JSON or of a map: "password": "...", 'token': 5; the quotes can be escaped
        rf"[\w.-]*{_NAME}[\w.-]*(?:\\*['\"])?\s*:\s*[bu]?\\*(?P<quote>['\"])(?P<value>(?:(?!\\*(?P=quote)).)*)",
        rf"[\w.-]*{_NAME}[\w.-]*\\*['\"]\s*:\s*(?P<value>[^\s,}}\]\\'\"]+)",
        # an element or an attribute of XML, a field of a form or a line: <token>...</token>, token=...
        rf"<(?:[\w.-]*:)?[\w.-]*{_NAME}[\w.-]*(?:\s[^<>]*)?>(?P<value>[^<]*)",
        rf"[\w.-]*{_NAME}[\w.-]*\s*=\s*(?P<value>[^&\s'\",;<>]+)",
    )
)


def redacted(text: str) -> str:
    """Return a text with ``*`` in place of each character of a secret; its length stays."""
    for pattern in _PATTERNS:
        text = pattern.sub(_hide, text)
    return text


def excerpt(payload: object) -> str:
    """Return how a message shows a payload: the beginning, with secrets hidden, and the length of what is cut."""
    # Secrets that are cut in two would not be found: what is searched is longer than what is shown.
    length = ""
    if isinstance(payload, (str, bytes)):
        if len(payload) > 2 * _MOST_SHOWN:
            length = f" ({len(payload):,} {'bytes' if isinstance(payload, bytes) else 'characters'})"
        payload = payload[: 2 * _MOST_SHOWN]
    text = redacted(repr(payload)[: 3 * _MOST_SHOWN])
    for pattern in _PAYLOADS:
        text = pattern.sub(_hide, text)
    return text if len(text) <= _MOST_SHOWN and not length else f"{text[:_MOST_SHOWN]}…{length}"


def _hide(match: re.Match[str]) -> str:
    start, end = (at - match.start() for at in match.span("value"))
    return match[0][:start] + "*" * (end - start) + match[0][end:]
