"""What tokens look like, before anybody asks what they mean."""

from __future__ import annotations

import re

__all__ = ["TOKEN", "shape_at"]

# One alternative always matches, which keeps the skipped part in front of it from being tried in pieces.
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
      | (?P<stray> (?s:.) )
    )
    """,
    re.VERBOSE,
)


def shape_at(text: str, position: int) -> tuple[str, str, int, int]:
    """The token at a position by its look alone: shape, text, begin, end. The shape of a sign is the sign."""
    match = TOKEN.match(text, position)
    assert match is not None
    shape = match.lastgroup
    assert shape is not None
    begin, end = match.span(shape)
    value = text[begin:end]
    return (value if shape == "sign" else shape), value, begin, end
