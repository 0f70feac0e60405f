"""``${name}`` in the text of an app."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from siddhi.query_compiler.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["substitute"]

VARIABLE = re.compile(r"\$\{(\w+)\}")
APP_NAME = re.compile(r"@app:name\s*\(\s*(['\"])(.*?)\1\s*\)", re.IGNORECASE)


def substitute(text: str, variables: Mapping[str, str] | None = None) -> str:
    """Replace every ``${name}`` by the variable of that name, else by the environment variable.

    Raises:
        SiddhiParserError: neither exists.
    """
    if "${" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if variables is not None and name in variables:
            return variables[name]
        if name in os.environ:
            return os.environ[name]
        app = APP_NAME.search(text)
        message = f"No system or environmental variable found for '{match[0]}'"
        hint = f"set the environment variable {name}, or hand it over in 'variables'"
        error = Source(text).error(message, match.start(), match.end(), code="E115", hint=hint)
        raise error.located(app=app[2] if app else None)

    return VARIABLE.sub(value, text)
