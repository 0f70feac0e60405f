"""Substitution of ``${name}`` in the text of an app: by typed parameters, and by variables of the environment."""

from __future__ import annotations

import math
import os
import re
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from siddhi.query_compiler.script import script_end, script_language
from siddhi.query_compiler.source import Source
from siddhi.query_compiler.time_units import MILLISECONDS, UNIT_NAMES
from siddhi.sandbox import ANY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["ParameterText", "bind_parameters", "parameter_names", "plain_value", "substitute", "variables_in"]

VARIABLE = re.compile(r"\$\{(\w+)\}")
# What a parameter can stand in, and what hides it: comments and quoted names.
CONTEXT = re.compile(
    r"""(?P<comment>--[^\r\n]*|/\*(?s:.*?)(?:\*/|\Z))|(?P<text>"{3}(?s:.*?)"{3}|"[^"\n]*"|'[^'"\n]*')|`[^`]+`|\$\{(?P<name>\w+)\}|(?P<script>\{)"""
)
_CONTROL = re.compile(r"[\x00-\x1f]")
_BREAKS_STRING = re.compile(r"""[\x00-\x1f'"]""")
_INTEGER = re.compile(r"[+-]?\d+[lL]?")
_REAL = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eEfFdD]))(?:[eE][+-]?\d+)?[fFdD]?")
_TIME = re.compile(r"(?:\d+\s*[a-zA-Z]+\s*)+")
_TIME_PART = re.compile(r"(\d+)\s*([a-zA-Z]+)")
MISSING_HINT = "pass a parameter {name}, as in siddhi.App(text, {name}=...), or set the environment variable {name}"
APP_NAME = re.compile(r"@app:name\s*\(\s*(['\"])(.*?)\1\s*\)", re.IGNORECASE)


class ParameterText(str):
    """A value of a parameter as text, such as on a command line.

    In a string constant it stands as it is. Elsewhere it is the constant that it spells: a bool, number, time such as
    ``5 sec``, or quoted string; any other text is a string.
    """

    __slots__ = ()

    def value(self) -> bool | int | float | str | timedelta:
        """Return the value of the constant."""
        text = self.strip()
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        if _INTEGER.fullmatch(text):
            return int(text.rstrip("lL"))
        if _REAL.fullmatch(text):
            return float(text.rstrip("fFdD"))
        if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
            return text[1:-1]
        parts = _TIME_PART.findall(text) if _TIME.fullmatch(text) else []
        if parts and all(unit.lower() in UNIT_NAMES for _, unit in parts):
            return timedelta(milliseconds=sum(int(n) * MILLISECONDS[UNIT_NAMES[unit.lower()]] for n, unit in parts))
        return str(self)


def variables_in(text: str) -> list[re.Match[str]]:
    """Return the places of all ``${name}`` in the text of an app, except those in comments."""
    found: list[re.Match[str]] = []
    begin = position = 0
    while "${" in text and (match := CONTEXT.search(text, position)) is not None:
        position = match.end()
        if match["script"]:
            position = script_end(text, match.start(), script_language(text, match.start())) or len(text)
        elif match["comment"]:
            found += VARIABLE.finditer(text, begin, match.start())
            begin = position
    return [*found, *VARIABLE.finditer(text, begin)]


def substitute(
    text: str,
    variables: Mapping[str, str] | None = None,
    environment: Collection[str] = (ANY,),
    *,
    hint: str = MISSING_HINT,
) -> str:
    """Replace every ``${name}``, except in comments, with the variable of that name, else with the environment variable.

    Args:
        text: the text of an app.
        variables: values by name.
        environment: names of the environment variables that may be read.
        hint: what to do where there is no value, with ``{name}`` in place of the name.

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
            allow = f"the host can allow it with SandboxPolicy(environment={{'{name}'}})"
            error = Source(text).error(message, match.start(), match.end(), code="E340", hint=allow)
            raise error.located(app=app[2] if app else None)
        message = f"no value for the variable '{match[0]}'"
        error = Source(text).error(message, match.start(), match.end(), code="E115", hint=hint.format(name=name))
        raise error.located(app=app[2] if app else None)

    parts: list[str] = []
    position = 0
    for match in variables_in(text):
        parts += text[position : match.start()], value(match)
        position = match.end()
    return "".join([*parts, text[position:]])


def plain_value(value: object) -> object:
    """Return a scalar of numpy as Python's value; anything else as it is. numpy is recognised, never imported."""
    generic = getattr(sys.modules.get("numpy"), "generic", None)
    return value.item() if generic is not None and isinstance(value, generic) else value


def bind_parameters(text: str, parameters: Mapping[str, object]) -> str:
    """Replace every ``${name}`` of a given parameter with its value, written as a SiddhiQL constant.

    Inside a string constant the value is a part of the string. So a value can't become anything else than a value, whatever
    characters it has. A ``${name}`` without a parameter stays, for :func:`substitute`.

    Args:
        text: the text of an app.
        parameters: values by name: ``bool``, ``int``, ``float``, ``str``, a scalar of numpy, or ``timedelta`` for a time
            constant.

    Raises:
        TypeError: a parameter has another type, or does not occur in the text.
        ValueError: SiddhiQL has no constant for a value, such as NaN or a text with each kind of quote.
        SiddhiParserError: a parameter stands in a script.
    """
    parameters = {name: plain_value(value) for name, value in parameters.items()}
    for name, value in parameters.items():
        if not isinstance(value, (bool, int, float, str, timedelta)):
            kind = type(value).__name__
            raise TypeError(f"parameter '{name}' must be a bool, int, float, str or timedelta, not {kind}")
    used: set[str] = set()
    parts: list[str] = []
    position = 0

    def inside(quoted: str) -> str:
        def value(match: re.Match[str]) -> str:
            if match[1] not in parameters:
                return match[0]
            used.add(match[1])
            return _inside_string(match[1], parameters[match[1]], quote)

        quote = '"""' if quoted.startswith('"""') else quoted[0]
        return VARIABLE.sub(value, quoted)

    while (match := CONTEXT.search(text, position)) is not None:
        parts.append(text[position : match.start()])
        position = match.end()
        if match["script"]:
            closed = script_end(text, match.start(), script_language(text, match.start())) or len(text)
            _refuse_in_script(text, match.start(), closed, parameters)
            position = closed
            parts.append(text[match.start() : closed])
        elif match["text"]:
            parts.append(inside(match[0]))
        elif match["name"] in parameters:
            used.add(match["name"])
            parts.append(_constant(match["name"], parameters[match["name"]]))
        else:
            parts.append(match[0])
    unused = sorted(set(parameters) - used)
    if unused:
        raise TypeError(f"the app has no parameter ${{{unused[0]}}}")
    return "".join([*parts, text[position:]])


def parameter_names(text: str) -> frozenset[str]:
    """Return the names of all ``${name}`` in the text of an app that can be parameters: not those in comments and scripts."""
    names: set[str] = set()
    position = 0
    while (match := CONTEXT.search(text, position)) is not None:
        position = match.end()
        if match["script"]:
            position = script_end(text, match.start(), script_language(text, match.start())) or len(text)
        elif match["text"]:
            names.update(VARIABLE.findall(match["text"]))
        elif match["name"]:
            names.add(match["name"])
    return frozenset(names)


def _constant(name: str, value: object) -> str:
    """Return a value as a SiddhiQL constant. A number begins with a space: ``--`` would begin a comment."""
    if isinstance(value, ParameterText):
        value = value.value()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -(2**63) < value < 2**63:
            raise ValueError(f"parameter '{name}' is out of range of a long: {value}")
        return f" {value}" if -(2**31) < value < 2**31 else f" {value}L"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"parameter '{name}' is {value}, for which SiddhiQL has no constant")
        return f" {value!r}" if "e" in repr(value) or "." in repr(value) else f" {value!r}.0"
    if isinstance(value, timedelta):
        milliseconds, rest = divmod(value, timedelta(milliseconds=1))
        if rest or milliseconds < 0:
            raise ValueError(f"parameter '{name}' is not a whole number of milliseconds: {value}")
        return f" {milliseconds} milliseconds"
    text = str(value)
    if not _BREAKS_STRING.search(text):
        return f"'{text}'"
    if '"' not in text and not _CONTROL.search(text):
        return f'"{text}"'
    if '"""' not in text and not text.endswith('"'):
        return f'"""{text}"""'
    raise ValueError(f"parameter '{name}' has a quote at its end or three in a row, which no string constant can hold")


def _inside_string(name: str, value: object, quote: str) -> str:
    """Return a value as a part of a string constant."""
    text = value if isinstance(value, str) else _constant(name, value).strip()
    bad = quote in text or text.endswith('"') if len(quote) == 3 else bool(_BREAKS_STRING.search(text))
    if bad:
        hint = "use the parameter without quotes around it" if len(quote) == 1 else "remove it"
        raise ValueError(
            f"parameter '{name}' has a quote or line break that would end the string it is used in: {hint}"
        )
    return text


def _refuse_in_script(text: str, begin: int, end: int, parameters: Mapping[str, object]) -> None:
    for match in VARIABLE.finditer(text, begin, end):
        if match[1] in parameters:
            hint = "give the function one more argument, and pass the parameter to it in the query"
            message = f"a script can't contain the parameter '{match[0]}'"
            raise Source(text).error(message, match.start(), match.end(), code="E115", hint=hint)
