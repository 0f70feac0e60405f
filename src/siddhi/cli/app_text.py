"""Reads the text of an app from a file or standard input, and fills in the parameters of the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from siddhi.cli.endpoints import STANDARD
from siddhi.cli.failures import AppRefused, reason
from siddhi.errors import SiddhiError, did_you_mean
from siddhi.query_compiler.variables import ParameterText, bind_parameters, parameter_names, substitute

__all__ = [
    "parameter_option",
    "read_app",
    "read_bound_app",
    "refuse_unused",
    "require_values",
    "shown_name",
    "with_values",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def _read_parameters(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, ParameterText]:
    """Parse ``--param`` (Click callback)."""
    found: dict[str, ParameterText] = {}
    for given in values:
        name, separator, value = given.partition("=")
        name = name.strip()
        if not (name.isidentifier() and separator):
            raise click.BadParameter(f"invalid value '{given}': expected name=value, for example limit=5")
        if name in found:
            raise click.BadParameter(f"'{name}' is given twice")
        found[name] = ParameterText(value)
    return found


def parameter_option(command: _F) -> _F:
    """Add ``--param``."""
    return click.option(
        "--param",
        "parameters",
        multiple=True,
        callback=_read_parameters,
        metavar="NAME=VALUE",
        help="Value of ${NAME} in the app: a number, true or false, a time such as '5 sec', else a string; a string that looks "
        "like a number is quoted: --param \"zip='04711'\". Inside a string constant of the app it stands as it is. Repeat the "
        "option for several parameters. Without it, ${NAME} is the environment variable.",
    )(command)


def read_app(path: str) -> str:
    """Return the text of an app; ``-`` is standard input.

    Raises:
        click.UsageError: there is no such file, or it is not UTF-8 text.
    """
    try:
        data = sys.stdin.buffer.read() if path == STANDARD else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"cannot read the app {path}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"cannot read the app {path}: not UTF-8 text (byte {error.start})") from error


def read_bound_app(path: str, parameters: Mapping[str, ParameterText]) -> str:
    """Return the text of an app as :func:`read_app`, with the values of its parameters.

    Raises:
        click.UsageError: as :func:`read_app`, the app has no such parameter, or no constant can hold a value.
        AppRefused: the app has a parameter without a value.
    """
    text = read_app(path)
    refuse_unused([text], parameters)
    try:
        bound = with_values(text, parameters)
        require_values(bound)
    except SiddhiError as error:
        raise AppRefused(str(error)) from error
    return bound


def with_values(text: str, parameters: Mapping[str, ParameterText]) -> str:
    """Return the text of an app with the values of those parameters that it has.

    Raises:
        click.UsageError: no constant can hold a value.
        SiddhiParserError: a parameter stands in a script.
    """
    known = parameter_names(text)
    try:
        return bind_parameters(text, {name: value for name, value in parameters.items() if name in known})
    except ValueError as error:
        raise click.UsageError(f"--param: {error}") from error


def require_values(text: str) -> None:
    """Raise an error for a ``${name}`` without a value, with what to do on the command line.

    Raises:
        SiddhiParserError: there is one.
    """
    substitute(text, hint="add --param {name}=VALUE, or set the environment variable {name}")


def refuse_unused(texts: Collection[str], parameters: Mapping[str, ParameterText]) -> None:
    """Refuse parameters that none of the apps has.

    Raises:
        click.UsageError: there is one.
    """
    known = sorted(frozenset().union(*map(parameter_names, texts)))
    for name in parameters:
        if name not in known:
            what = "the app has no" if len(texts) == 1 else "no app has a"
            raise click.UsageError(f"--param {name}: {what} parameter ${{{name}}}{did_you_mean(name, known)}")


def shown_name(path: str) -> str:
    """Return the name of an app's file for messages."""
    return "standard input" if path == STANDARD else path
