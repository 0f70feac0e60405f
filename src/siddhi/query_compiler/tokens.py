"""The regular expression of the tokens, independent of the parser's state."""

from __future__ import annotations

import re

__all__ = ["TOKEN", "token_at"]

# One alternative always matches, so that the regular expression never backtracks into the skipped white space.
TOKEN = re.compile(
    r"""
    (?: [ \t\r\n\v]+ | --[^\r\n]* | /\*(?s:.*?)\*/ )*
    (?:
        (?P<word> [A-Za-z_][A-Za-z0-9_]* )
      | (?P<FLOAT> (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF] )
      | (?P<DOUBLE>
            (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dD]
          | [0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)? | [0-9]+\.?[eE][+-]?[0-9]+ )
      | (?P<LONG> [0-9]+[lL] )
      | (?P<INT> [0-9]+ )
      | (?P<comment> /\* )
      | (?P<sign> -> | \.\.\. | == | != | <= | >= | [-+*/%()\[\],;:.\#@!<>=?] )
      | (?P<long_string> \"{3}(?s:.*?)\"{3} )
      | (?P<string> "[^"\x00-\x1f]*" | '[^'"\x00-\x1f]*' )
      | (?P<quoted> `[^`]+` )
      | (?P<script> \{ )
      | (?P<end> \Z )
      | (?P<unknown> (?s:.) )
    )
    """,
    re.VERBOSE,
)


def token_at(text: str, position: int) -> tuple[str, str, int, int]:
    """Return kind, text, begin and end of the token at a position. The kind of a punctuation token is its text."""
    match = TOKEN.match(text, position)
    assert match is not None
    kind = match.lastgroup
    assert kind is not None
    begin, end = match.span(kind)
    value = text[begin:end]
    return (value if kind == "sign" else kind), value, begin, end
