"""Substitution of ``${name}`` in the text of an app."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from siddhi.query_compiler.source import Source
from siddhi.sandbox import ANY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["substitute"]

VARIABLE = re.compile(r"\$\{(\w+)\}")
APP_NAME = re.compile(r"@app:name\s*\(\s*(['\"])(.*?)\1\s*\)", re.IGNORECASE)


def substitute(text: str, variables: Mapping[str, str] | None = None, environment: Collection[str] = (ANY,)) -> str:
    """Replace every ``${name}`` with the variable of that name, else with the environment variable.

    Args:
        text: the text of an app.
        variables: values by name.
        environment: names of the environment variables that may be read.

    Raises:
        SiddhiParserError: neither exists, or the environment variable must not be read.
    """
    if "${" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if variables is not None and name in variables:
            return variables[name]
        may_read = ANY in environment or name in environment
        if may_read and name in os.environ:
            return os.environ[name]
        app = APP_NAME.search(text)
        if not may_read:  # do not reveal whether the variable exists
            message = f"environment variable '{name}' is not allowed by the sandbox policy of this app"
            hint = f"the host can allow it with SandboxPolicy(environment={{'{name}'}})"
            error = Source(text).error(message, match.start(), match.end(), code="E340", hint=hint)
            raise error.located(app=app[2] if app else None)
        message = f"no value for the variable '{match[0]}'"
        hint = f"set the environment variable {name}"
        error = Source(text).error(message, match.start(), match.end(), code="E115", hint=hint)
        raise error.located(app=app[2] if app else None)

    return VARIABLE.sub(value, text)
