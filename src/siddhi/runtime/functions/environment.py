"""The functions of the namespace ``env``."""

from __future__ import annotations

import os
from collections.abc import Callable
from ipaddress import ip_address

from siddhi._core.expression.executor import Executor, make_constant
from siddhi._core.expression.python import make_python_function

__all__ = ["make"]


def _variable(key: str | None, default: str | None = None) -> str | None:
    return None if key is None else os.environ.get(key, default)


def _origin(header: str | None) -> str | None:
    for part in () if header is None else header.split(","):
        text = part.strip()
        # An address of version 4 may have a port, one of version 6 brackets.
        if text.startswith("["):
            text = text[1:].partition("]")[0]
        elif text.count(":") == 1:
            text = text.partition(":")[0]
        try:
            address = ip_address(text)
        except ValueError:
            continue
        if address.is_global:
            return text
    return None


def _user_agent(text: str | None, name: str) -> str | None:
    if text is None:
        return None
    # Imported here: few apps need the package. Whether it is installed was checked when the app was created.
    from ua_parser import parse_device, parse_os, parse_user_agent

    found = {"browser": parse_user_agent, "os": parse_os, "device": parse_device}[name](text)
    return None if found is None else found.family


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "getEnvironmentProperty": _variable,
    "getOriginIPFromXForwarded": _origin,
    "getUserAgentProperty": _user_agent,
}


def make(name: str, arguments: tuple[Executor, ...], type_: int) -> Executor:
    """Make the executor of a function of the namespace."""
    if name in ("getSystemProperty", "getYAMLProperty"):  # the planner has put the others in place
        return make_constant(None, type_)
    return make_python_function(_FUNCTIONS[name], arguments, type_, f"env:{name}")
