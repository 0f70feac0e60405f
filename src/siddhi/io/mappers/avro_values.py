"""Values of Avro and of attributes: which types fit each other, and the conversions between them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from siddhi.errors import MappingFailedError, SiddhiAppCreationError, shown
from siddhi.io.mappers.avro_schema import AvroSchema
from siddhi.types import AttributeType

__all__ = ["avro_json_reader", "reader", "writer"]

Convert = Callable[[Any], Any]

_LIMITS = {AttributeType.INT: 2**31, AttributeType.LONG: 2**63}
_NUMBERS = {"int", "long", "float", "double", "decimal"}
_READS = {
    AttributeType.BOOL: {"boolean"},
    AttributeType.INT: {"int", "long"},
    AttributeType.LONG: {"int", "long"},
    AttributeType.FLOAT: _NUMBERS,
    AttributeType.DOUBLE: _NUMBERS,
}
_WRITES = {
    AttributeType.BOOL: {"boolean"},
    AttributeType.INT: _NUMBERS,
    AttributeType.LONG: _NUMBERS,
    AttributeType.FLOAT: {"float", "double", "decimal"},
    AttributeType.DOUBLE: {"float", "double", "decimal"},
    AttributeType.STRING: {"string", "enum", "bytes", "fixed", "decimal"},
}
_SAME = {
    AttributeType.BOOL: {"boolean"},
    AttributeType.LONG: {"int", "long"},
    AttributeType.FLOAT: {"float", "double"},
    AttributeType.DOUBLE: {"float", "double"},
    AttributeType.STRING: {"string", "enum"},
}
_FLOAT = struct.Struct("<f")


def reader(
    name: str, type_: AttributeType, schema: AvroSchema, part: Any, text_of: Callable[[object], str]
) -> Convert | None:
    """Return the conversion of values of Avro to an attribute; None: they are values of the attribute already.

    The conversion raises MappingFailedError.

    Args:
        name: name of the attribute.
        type_: its type.
        schema: the schema.
        part: the part of the schema that describes the values; None: it is not known.
        text_of: writes a value as text.

    Raises:
        SiddhiAppCreationError: no value except null fits the attribute.
    """
    if type_ is AttributeType.OBJECT:
        return None
    kinds = set() if part is None else {schema.kind(branch) for branch in schema.branches(part)} - {"null"}
    if kinds and type_ in _READS and not kinds & _READS[type_]:
        raise _unfit(name, type_, kinds)
    if kinds and kinds <= _SAME.get(type_, set()):
        return None
    if type_ is AttributeType.STRING:
        return _text_reader(text_of, is_short="float" in kinds and "double" not in kinds)
    limit = _LIMITS.get(type_)

    def read(value: Any) -> Any:
        if value is None:
            return None
        if type_ is AttributeType.BOOL:
            if isinstance(value, bool):
                return value
        elif not isinstance(value, bool):
            if limit is None and isinstance(value, (int, float, Decimal)):
                return float(value)
            if limit is not None and isinstance(value, int) and -limit <= value < limit:
                return value
        raise MappingFailedError(f"attribute '{name}': {shown(value)} is not {_named(type_)}")

    return read


def _text_reader(text_of: Callable[[object], str], *, is_short: bool) -> Convert:
    def read(value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, float) and is_short:
            value = _shortened(value)
        if isinstance(value, (bool, int, float)):
            return text_of(value)
        if isinstance(value, bytes):
            return value.decode("latin-1")  # as in the JSON of Avro
        if isinstance(value, Decimal):
            return str(value)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_json_value)

    return read


def _json_value(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return str(value)


def _shortened(value: float) -> float:
    """Return the double with the fewest digits that is the same 32-bit float."""
    for digits in range(6, 10):
        short = float(f"{value:.{digits}g}")
        try:
            if _FLOAT.unpack(_FLOAT.pack(short)) == (value,):
                return short
        except OverflowError:
            continue
    return value


def writer(name: str, type_: AttributeType, schema: AvroSchema, part: Any) -> Convert | None:
    """Return the conversion of an attribute's values to those of Avro; None: fastavro writes them as they are.

    The conversion raises MappingFailedError.

    Args:
        name: name of the attribute.
        type_: its type.
        schema: the schema.
        part: the part of the schema that describes the field.

    Raises:
        SiddhiAppCreationError: no value except null can be written.
    """
    branches = {schema.kind(branch): schema.resolved(branch) for branch in schema.branches(part)}
    kinds = set(branches) - {"null"}
    takes_null = "null" in branches
    if type_ is AttributeType.OBJECT:
        return None
    fitting = kinds & _WRITES[type_]
    if not fitting:
        raise _unfit(name, type_, kinds)
    limit = 2**31 if type_ is AttributeType.LONG and fitting == {"int"} else 0
    scale = branches["decimal"].get("scale", 0) if fitting == {"decimal"} else None
    is_binary = fitting <= {"bytes", "fixed"}
    symbols = set(branches["enum"]["symbols"]) if fitting == {"enum"} else None
    is_integer = type_ in _LIMITS and not fitting & {"int", "long", "decimal"}

    def write(value: Any) -> Any:
        if value is None:
            if takes_null:
                return None
            raise MappingFailedError(f"attribute '{name}' is null, but the field of the schema can't be")
        if limit and not -limit <= value < limit:
            raise MappingFailedError(f"attribute '{name}': {value} is not an int of Avro")
        if scale is not None:
            return _decimal(name, value, scale)
        if is_binary:
            return _binary(name, value)
        if symbols is not None and value not in symbols:
            raise MappingFailedError(f"attribute '{name}': {shown(value)} is not a symbol of the enum")
        return float(value) if is_integer else value

    return write


def _decimal(name: str, value: Any, scale: int) -> Decimal:
    try:
        is_float = isinstance(value, float)  # also one of numpy, whose own repr() is no number
        number = Decimal(value if isinstance(value, str) else float.__repr__(value) if is_float else repr(value))
        rounded = number.quantize(Decimal(1).scaleb(-scale))
        if rounded == number:
            return rounded
    except InvalidOperation:
        pass
    raise MappingFailedError(f"attribute '{name}': {shown(value)} is not a decimal with {scale} digits after the point")


def _binary(name: str, value: str) -> bytes:
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError as error:
        raise MappingFailedError(f"attribute '{name}': {shown(value)} can't be bytes: {error}") from None


def avro_json_reader(schema: AvroSchema) -> Callable[[Any], Any]:
    """Return the conversion of a JSON document, in the JSON encoding of Avro, to a value of the schema.

    The value of a union can stand alone, without the name of its branch. The conversion raises MappingFailedError.
    """

    def read(part: Any, value: Any, at: str) -> Any:
        part = schema.resolved(part)
        kind = schema.kind(part)
        if kind == "union":
            return union(part, value, at)
        if kind == "record" and isinstance(value, Mapping):
            fields = schema.fields(part)
            missing = [key for key, field in fields.items() if key not in value and "default" not in field]
            if missing:
                raise MappingFailedError(f"{at} has no '{missing[0]}'")
            unknown = [key for key in value if key not in fields]
            if unknown:
                raise MappingFailedError(f"{at} has '{unknown[0]}', which the schema does not have")
            return {key: read(fields[key]["type"], item, f"{at}.{key}") for key, item in value.items()}
        if kind == "map" and isinstance(value, Mapping):
            return {key: read(part["values"], item, f"{at}.{key}") for key, item in value.items()}
        if kind == "array" and isinstance(value, list):
            return [read(part["items"], item, f"{at}[{number}]") for number, item in enumerate(value)]
        if kind == "decimal" and isinstance(value, (int, float, str)) and not isinstance(value, bool):
            return _decimal(at, value, part.get("scale", 0))
        if kind in ("bytes", "fixed") and isinstance(value, str):
            return _binary(at, value)
        if kind in ("float", "double") and isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if kind in ("int", "long") and isinstance(value, int) and not isinstance(value, bool):
            bits = 31 if kind == "int" else 63
            if -(2**bits) <= value < 2**bits:
                return value
        if (kind, type(value)) in (("boolean", bool), ("string", str), ("null", type(None))):
            return value
        if kind == "enum" and value in part["symbols"]:
            return value
        raise MappingFailedError(f"{at}: {shown(value)} is not {_with_article(kind)} of the Avro schema")

    def union(part: Any, value: Any, at: str) -> Any:
        tagged = []
        if isinstance(value, Mapping) and len(value) == 1:
            ((tag, inner),) = value.items()
            tagged = [(branch, inner) for branch in part if tag in _tags(schema, branch)]
        problems = []
        for branch, inner in (*tagged, *((branch, value) for branch in part)):
            try:
                return read(branch, inner, at)
            except MappingFailedError as error:
                problems.append(error)
        only = [
            error for branch, error in zip(part, problems[len(tagged) :], strict=True) if schema.kind(branch) != "null"
        ]
        raise only[0] if len(only) == 1 else MappingFailedError(f"{at}: {shown(value)} fits no branch of the union")

    return lambda value: read(schema.root, value, "the payload")


def _tags(schema: AvroSchema, branch: Any) -> tuple[str, ...]:
    branch = schema.resolved(branch)
    if isinstance(branch, dict) and "name" in branch:
        return branch["name"], branch["name"].rpartition(".")[2]
    return (branch if isinstance(branch, str) else branch["type"],)


def _unfit(name: str, type_: AttributeType, kinds: set[str]) -> SiddhiAppCreationError:
    return SiddhiAppCreationError(
        f"attribute '{name}' is {_named(type_)}, but the Avro schema has {' and '.join(sorted(kinds)) or 'null'} there",
        code="E326",
        hint="change the type of the attribute, or the schema",
    )


def _named(type_: AttributeType) -> str:
    return _with_article(type_.value)


def _with_article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"
