"""JSON documents whose numbers keep their text, and the conversion of their values to attribute types."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from siddhi.errors import MappingFailedError, shown
from siddhi.types import AttributeType

__all__ = ["Number", "compact", "exact_reader", "loose_reader", "parse", "plain"]

_RANGES = {AttributeType.INT: 2**31, AttributeType.LONG: 2**63}


class Number(str):
    """A number of a document, as written."""

    __slots__ = ()

    @property
    def is_integer(self) -> bool:
        """Whether it has neither a fraction nor an exponent."""
        return not any(character in self for character in ".eE")

    def value(self) -> int | float:
        """Return the number."""
        return int(self) if self.is_integer else float(self)


def parse(payload: object) -> Any:
    """Parse a JSON document: a text, or bytes in UTF-8.

    Raises:
        MappingFailedError: it is not a document of strict JSON.
    """
    if not isinstance(payload, (str, bytes, bytearray, memoryview)):
        raise MappingFailedError(f"expected a text or bytes, got {type(payload).__name__}")
    try:
        text = (payload if isinstance(payload, str) else str(payload, "utf-8")).removeprefix("\ufeff")
        return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant)
    except RecursionError:
        raise MappingFailedError("the JSON document is nested too deeply") from None
    except ValueError as error:
        raise MappingFailedError(f"not a JSON document: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def compact(value: Any) -> str:
    """Return a value as JSON text without blanks."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{compact(key)}:{compact(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Return a value with the numbers of Python, for attributes of type object."""
    if isinstance(value, Number):
        return value.value()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def exact_reader(name: str, type_: AttributeType, reader: Callable[[str], object]) -> Callable[[Any], object]:
    """Return the conversion of a JSON value whose own type must match the attribute's type.

    An int or long accepts integer tokens, a float or double any number, a string any value. The conversion raises
    MappingFailedError.

    Args:
        name: name of the attribute.
        type_: its type.
        reader: converts the text of a number to the type.
    """
    if type_ is AttributeType.STRING:
        return _text
    if type_ is AttributeType.OBJECT:
        return plain
    limit = _RANGES.get(type_)

    def read(value: Any) -> object:
        if value is None:
            return None
        if type_ is AttributeType.BOOL:
            if isinstance(value, bool):
                return value
        elif isinstance(value, Number):
            if limit is not None:
                if value.is_integer and len(value) < 24 and -limit <= (integer := int(value)) < limit:
                    return integer
            else:
                return reader(str(value))
        raise MappingFailedError(f"attribute '{name}': {_shown(value)} is not {_named(type_)}")

    return read


def loose_reader(name: str, type_: AttributeType, reader: Callable[[str], object]) -> Callable[[Any], object]:
    """Return the conversion of a JSON value by its text, as in ``"7"`` for an int.

    Args:
        name: name of the attribute.
        type_: its type.
        reader: converts a text to the type; raises ValueError.
    """
    if type_ is AttributeType.STRING:
        return _text
    if type_ is AttributeType.OBJECT:
        return plain

    def read(value: Any) -> object:
        if value is None:
            return None
        if not isinstance(value, (dict, list)):
            try:
                return reader(str(value) if isinstance(value, str) else compact(value))
            except ValueError:
                pass
        raise MappingFailedError(f"attribute '{name}': {_shown(value)} is not {_named(type_)}")

    return read


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return str(value) if isinstance(value, str) else compact(value)


def _shown(value: Any) -> str:
    return shown(plain(value)) if isinstance(value, (dict, list)) else compact(value)


def _named(type_: AttributeType) -> str:
    return f"an {type_.value}" if type_ is AttributeType.INT else f"a {type_.value}"
