"""Decoders of JSON payloads of the usual form, generated for one stream.

They need msgspec. A payload of another form, which includes every payload with an error, is left to the general mapper: a
decoder accepts only what that mapper maps to the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Union

from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.io.mappers.json_path import JsonPath

__all__ = ["Decoded", "custom_decoder", "default_decoder"]

Decoded = tuple[bool, Any]
"""Whether the payload is a list, and its row or rows."""
Decode = Callable[[Any], "Decoded | None"]

_LARGEST_FLOAT = 3.4028234e38
_INTEGER_ZERO = re.compile(r"-0(?![0-9.eE])")
_INTEGER_ZERO_BYTES = re.compile(rb"-0(?![0-9.eE])")


def default_decoder(attributes: Sequence[tuple[str, AttributeType]], *, strict: bool) -> Decode | None:
    """Return a decoder of payloads with one key per attribute, with or without ``event`` around them.

    It returns None for a payload that it does not accept.

    Args:
        attributes: names and types of the attributes.
        strict: whether a missing attribute is an error.

    Returns:
        The decoder, or None if msgspec is not installed or an attribute has a type that it does not support.
    """
    msgspec = _msgspec()
    names = [name for name, _ in attributes]
    if msgspec is None or any(name.lower() == "event" for name in names):
        return None
    types = [_type(msgspec, type_) for _, type_ in attributes]
    if None in types:
        return None
    loses_sign = _sign_check(attributes)

    def decoders(*, listed: bool) -> tuple[Any, Any]:
        bare = _struct(msgspec, names, types, optional=not strict and not listed, closed=True)
        wrapped_row = bare if strict or not listed else _struct(msgspec, names, types, optional=True, closed=True)
        wrapped = msgspec.defstruct("Wrapped", [("event", wrapped_row)], forbid_unknown_fields=True)
        form = (lambda type_: list[type_]) if listed else (lambda type_: type_)  # type: ignore[valid-type]
        return msgspec.json.Decoder(form(wrapped)), msgspec.json.Decoder(form(bare))

    one_wrapped, one_bare = decoders(listed=False)
    all_wrapped, all_bare = decoders(listed=True)
    row_of, errors = msgspec.structs.astuple, (msgspec.DecodeError, UnicodeDecodeError)

    def decode(payload: Any) -> Decoded | None:
        if loses_sign(payload):
            return None
        try:
            if payload.lstrip()[:1] in ("[", b"["):
                return True, _rows(payload, all_wrapped, all_bare, row_of, errors)
            try:
                return False, row_of(one_wrapped.decode(payload).event)
            except errors:
                return False, row_of(one_bare.decode(payload))
        except errors:
            return None

    return decode


def _rows(payload: Any, wrapped: Any, bare: Any, row_of: Callable[[Any], Any], errors: Any) -> list[Any]:
    try:
        return [row_of(one.event) for one in wrapped.decode(payload)]
    except errors:
        return list(map(row_of, bare.decode(payload)))


def custom_decoder(
    attributes: Sequence[tuple[str, AttributeType]],
    paths: Sequence[tuple[int, JsonPath]],
    enclosing: JsonPath,
    *,
    strict: bool,
) -> Decode | None:
    """Return a decoder of payloads whose values are found by paths of keys.

    Args:
        attributes: names and types of the attributes.
        paths: positions and paths of the mapped attributes; the others are null.
        enclosing: path of the event, or of the list of events.
        strict: whether a missing value is an error.

    Returns:
        The decoder, or None if msgspec is not installed or a path or type is not supported.
    """
    msgspec = _msgspec()
    tree: dict[str, Any] = {}
    for position, path in paths:
        type_ = None if msgspec is None else _type(msgspec, attributes[position][1])
        if type_ is None or not _plant(tree, path.keys, (position, type_)):
            return None
    if (
        msgspec is None
        or not paths
        or enclosing.keys is None
        or not all(isinstance(key, str) for key in enclosing.keys)
    ):
        return None
    fields: dict[int, str] = {}
    event = _branch(msgspec, tree, "", fields, strict=strict)
    type_ = Union[event, list[event]]  # type: ignore[valid-type]  # noqa: UP007
    for key in reversed(enclosing.keys):
        type_ = _struct(msgspec, [str(key)], [type_], optional=False, closed=False)
    decoder = msgspec.json.Decoder(type_)
    found = attrgetter(*(fields[position] for position, _ in paths))
    values_of: Callable[[Any], tuple[Any, ...]] = found if len(paths) > 1 else lambda event: (found(event),)
    order = _order([position for position, _ in paths], len(attributes))
    depth = len(enclosing.keys)
    loses_sign = _sign_check([attributes[position] for position, _ in paths])

    def decode(payload: Any) -> Decoded | None:
        if loses_sign(payload):
            return None
        try:
            document = decoder.decode(payload)
            for _ in range(depth):
                document = document.f0
            if isinstance(document, list):
                return True, [order(values_of(event)) for event in document]
            return False, order(values_of(document))
        except (msgspec.DecodeError, UnicodeDecodeError, AttributeError):  # the last one: null instead of an object
            return None

    return decode


def _sign_check(attributes: Sequence[tuple[str, AttributeType]]) -> Callable[[Any], bool]:
    """Return the function that finds payloads with ``-0``, which msgspec decodes to 0.0 for a float: its sign would be lost."""
    if not any(type_ in (AttributeType.FLOAT, AttributeType.DOUBLE) for _, type_ in attributes):
        return lambda _: False

    def check(payload: Any) -> bool:
        if isinstance(payload, str):
            return "-0" in payload and _INTEGER_ZERO.search(payload) is not None
        return b"-0" in payload and _INTEGER_ZERO_BYTES.search(payload) is not None

    return check


def _order(positions: Sequence[int], width: int) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return the function that puts the values of some positions into a row; the other values are null."""
    if list(positions) == list(range(width)):
        return lambda values: values
    index = {position: number for number, position in enumerate(positions)}
    order = [index.get(position) for position in range(width)]
    return lambda values: tuple(None if number is None else values[number] for number in order)


def _plant(tree: dict[str, Any], keys: tuple[str | int, ...] | None, leaf: tuple[int, Any]) -> bool:
    """Add a path to a tree of keys; return False if it has indexes, or is another path or a part of one."""
    if not keys or not all(isinstance(key, str) for key in keys):
        return False
    for key in keys[:-1]:
        branch = tree.setdefault(str(key), {})
        if not isinstance(branch, dict):
            return False
        tree = branch
    if keys[-1] in tree:
        return False
    tree[str(keys[-1])] = leaf
    return True


def _branch(msgspec: Any, tree: dict[str, Any], prefix: str, fields: dict[int, str], *, strict: bool) -> Any:
    types = []
    for number, item in enumerate(tree.values()):
        path = f"{prefix}f{number}"
        if isinstance(item, dict):
            types.append(_branch(msgspec, item, f"{path}.", fields, strict=strict))
        else:
            fields[item[0]] = path
            types.append(item[1])
    return _struct(msgspec, list(tree), types, optional=not strict, closed=False)


def _struct(msgspec: Any, keys: Sequence[str], types: Sequence[Any], *, optional: bool, closed: bool) -> Any:
    fields = [(f"f{number}", type_, None) if optional else (f"f{number}", type_) for number, type_ in enumerate(types)]
    rename = {f"f{number}": key for number, key in enumerate(keys)}
    return msgspec.defstruct("Row", fields, rename=rename, forbid_unknown_fields=closed)


def _msgspec() -> Any:
    try:
        import msgspec
    except ImportError:
        return None
    return msgspec


def _type(msgspec: Any, type_: AttributeType) -> Any:
    """Return the type of the JSON values that every mapping accepts for an attribute; None: there is none."""
    if type_ is AttributeType.STRING:
        return str | None
    if type_ is AttributeType.BOOL:
        return bool | None
    if type_ is AttributeType.INT:
        return Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)] | None
    if type_ is AttributeType.LONG:
        return Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None
    if type_ is AttributeType.FLOAT:
        return Annotated[float, msgspec.Meta(ge=-_LARGEST_FLOAT, le=_LARGEST_FLOAT)] | None
    if type_ is AttributeType.DOUBLE:
        return float | None
    return None
