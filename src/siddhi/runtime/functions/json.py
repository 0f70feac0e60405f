"""The functions of the namespace ``json``."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from siddhi._core.expression.executor import Executor
from siddhi._core.expression.python import make_python_function
from siddhi._core.record.event import TypeCode
from siddhi._core.record.java import value_of
from siddhi.library.operators.json import text_of
from siddhi.library.operators.json_path import MISSING, JsonPath, parsed
from siddhi.repeats import Repeats

__all__ = ["make"]

_logger = logging.getLogger("siddhi")
_repeats = Repeats()


@lru_cache(256)
def _path(text: str) -> JsonPath:
    return JsonPath(text)


class _Documents:
    """Parses texts; several getters of one event parse its text once."""

    def __init__(self) -> None:
        self._last: tuple[str, Any] = ("", None)

    def of(self, document: Any, function: str) -> Any:
        """Return a document, which the caller must not change."""
        if not isinstance(document, str):
            return parsed(document, function)
        text, value = self._last
        if text is not document:
            value = parsed(document, function)
            self._last = (document, value)
        return value


_documents = _Documents()


def _find(document: Any, path: str | None, function: str) -> Any:
    """Return the value at a path; a list of one value of a path that can select several is that value."""
    if path is None:
        raise ValueError(f"{function}() got null as path")
    steps = _path(path)
    found = steps.find(_documents.of(document, function))
    if steps.keys is None:
        return found[0] if len(found) == 1 else found or MISSING
    return found


def _getter(name: str, code: int) -> Callable[[Any, str | None], Any]:
    """Return the function that reads a number or bool."""
    function = f"json:{name}"

    def get(document: Any, path: str | None) -> Any:
        found = _find(document, path, function)
        if found is None:
            return None
        value = MISSING if isinstance(found, (list, dict)) or found is MISSING else _typed(found, code)
        if value is MISSING:
            _report(function, path)
            return None
        return value

    return get


def _typed(value: Any, code: int) -> Any:
    if code == TypeCode.BOOL:
        if isinstance(value, bool):
            return value
        return {"true": True, "false": False}.get(value.lower(), MISSING) if isinstance(value, str) else MISSING
    if isinstance(value, bool):
        return MISSING
    if isinstance(value, float):  # also one of numpy, whose own repr() is no number
        value = float.__repr__(value)
    try:
        return value_of(value if isinstance(value, str) else repr(value), code)
    except ValueError:
        return MISSING


def _report(function: str, path: str | None) -> None:
    suffix = _repeats.note(f"{function} {path}")
    if suffix is not None:
        _logger.warning("%s() found no value of its type at %s, which is null%s", function, path, suffix)


def _get_string(document: Any, path: str | None) -> str | None:
    found = _find(document, path, "json:getString")
    if found is MISSING:
        _report("json:getString", path)
    return None if found is None or found is MISSING else text_of(found)


def _get_object(document: Any, path: str | None) -> Any:
    found = _find(document, path, "json:getObject")
    if found is MISSING:
        return None
    # A parsed text is shared by the getters; events may change what they get.
    return copy.deepcopy(found) if isinstance(document, str) and isinstance(found, (list, dict)) else found


def _is_exists(document: Any, path: str | None) -> bool:
    return _find(document, path, "json:isExists") is not MISSING


def _set_element(document: Any, path: str | None, element: Any, *key: str | None) -> Any:
    if path is None or None in key:
        raise ValueError("json:setElement() got null as path or key")
    steps = _path(path)
    if steps.keys is None:
        raise ValueError(f"json:setElement() got {path}, which can select several elements: expected keys and indexes")
    keys = [*steps.keys, *key]
    result = parsed(document, "json:setElement")
    if result is document:
        result = copy.deepcopy(result)
    if not keys:
        return element
    target = result
    for step in keys[:-1]:
        target = _inside(target, step, path)
    last = keys[-1]
    if isinstance(target, dict) and isinstance(last, str):
        target[last] = element
    elif isinstance(target, list) and isinstance(last, int) and 0 <= last <= len(target):
        target[last : last + 1] = [element]
    else:
        raise ValueError(f"json:setElement() cannot set {path}: its parent is a {type(target).__name__}")
    return result


def _inside(target: Any, step: Any, path: str) -> Any:
    try:
        if isinstance(target, (dict if isinstance(step, str) else list)):
            return target[step]
    except LookupError:
        pass
    raise ValueError(f"json:setElement() found no parent for {path}")


def _to_object(text: str | None) -> Any:
    return parsed(text, "json:toObject")


def _to_string(document: Any, escape: bool | None = False) -> str:
    return json.dumps(parsed(document, "json:toString"), ensure_ascii=bool(escape), separators=(",", ":"))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "getBool": _getter("getBool", TypeCode.BOOL),
    "getDouble": _getter("getDouble", TypeCode.DOUBLE),
    "getFloat": _getter("getFloat", TypeCode.FLOAT),
    "getInt": _getter("getInt", TypeCode.INT),
    "getLong": _getter("getLong", TypeCode.LONG),
    "getObject": _get_object,
    "getString": _get_string,
    "isExists": _is_exists,
    "setElement": _set_element,
    "toObject": _to_object,
    "toString": _to_string,
}


def make(name: str, arguments: tuple[Executor, ...], type_: int) -> Executor:
    """Make the executor of a function of the namespace."""
    return make_python_function(_FUNCTIONS[name], arguments, type_, f"json:{name}", nullable=True)
