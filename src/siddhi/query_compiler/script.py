"""Where a script ends: at the brace that closes the one it starts with."""

from __future__ import annotations

import re

__all__ = ["script_end", "script_language"]

# What is skipped as a whole, so that braces in it do not count. In Python // divides and # starts a comment; all other
# languages follow SiddhiQL's rule, which knows "..." and // only.
PYTHON = re.compile(
    r"""
    [{}] | \"{3}(?s:.*?)\"{3} | '{3}(?s:.*?)'{3}
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \#[^\n]*
    """,
    re.VERBOSE,
)
OTHERS = re.compile(r'[{}]|"[^"]*"|//[^\n]*')
LANGUAGE = re.compile(r"\[([^\[\]]*)\][^\[\]]*\Z")


def script_language(text: str, begin: int) -> str:
    """The language named in ``[...]`` in front of the script at ``begin``."""
    match = LANGUAGE.search(text, max(0, begin - 1000), begin)
    return match[1].strip(" \t\r\n\v`") if match else ""


def script_end(text: str, begin: int, language: str) -> int | None:
    """The offset behind the closing brace of the script whose opening brace is at ``begin``; None if there is none."""
    depth = 0
    for match in (PYTHON if language.lower() == "python" else OTHERS).finditer(text, begin):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return None
