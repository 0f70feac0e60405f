"""The functions of the namespaces ``map`` and ``list``."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from siddhi._core.expression.executor import Executor
from siddhi._core.expression.python import make_python_function
from siddhi.errors import shown
from siddhi.runtime.functions.xml import from_xml, to_xml

__all__ = ["make_list", "make_map"]


def _from_json(text: str | None) -> object:
    if text is None:
        raise ValueError("map:createFromJSON() got null: expected a text")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError(f"map:createFromJSON() got {shown(text)}: expected a JSON object")
    return found


def _to_json(value: Any) -> str:
    if type(value) is not dict:
        raise TypeError(f"map:toJSON() got {shown(value)}: expected a map")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_OWN: dict[str, Callable[..., object]] = {
    "createFromJSON": _from_json,
    "createFromXML": from_xml,
    "toJSON": _to_json,
    "toXML": to_xml,
}


def make_map(name: str, arguments: tuple[Executor, ...], type_: int) -> Executor:
    """Make the executor of a function of ``map``."""
    return make_python_function(_OWN.get(name) or _function("map", name), arguments, type_, f"map:{name}")


def make_list(name: str, arguments: tuple[Executor, ...], type_: int) -> Executor:
    """Make the executor of a function of ``list``."""
    return make_python_function(_function("list", name), arguments, type_, f"list:{name}")


def _function(namespace: str, name: str) -> Callable[..., object]:
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    functions = import_module("siddhi._core.function.containers")
    function: Callable[..., object] = getattr(functions, f"{namespace}_{snake}")
    return function
