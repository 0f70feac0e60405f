"""Find the end of a script: the brace that matches its opening brace."""

from __future__ import annotations

import re

__all__ = ["script_end", "script_language"]

# Strings and comments are skipped as a whole, so that braces in them do not count. In Python # starts a comment; all
# other languages follow SiddhiQL's rule, which knows only "..." and //.
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
    """Return the language named in ``[...]`` before the script at ``begin``."""
    match = LANGUAGE.search(text, max(0, begin - 1000), begin)
    return match[1].strip(" \t\r\n\v`") if match else ""


def script_end(text: str, begin: int, language: str) -> int | None:
    """Return the offset after the closing brace of the script that opens at ``begin``, or None if it is not closed."""
    depth = 0
    for match in (PYTHON if language.lower() == "python" else OTHERS).finditer(text, begin):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return None
