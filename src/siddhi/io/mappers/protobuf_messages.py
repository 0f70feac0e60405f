"""Messages of Protocol Buffers: finding their class, the paths of their fields, and which types fit attributes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from siddhi.errors import SiddhiAppCreationError, did_you_mean
from siddhi.extension.local_files import local_path
from siddhi.io.options import OptionHolder
from siddhi.types import AttributeType

__all__ = ["FieldPath", "is_map", "is_repeated", "message_class", "path_of"]

_F = FieldDescriptor
_INT = {_F.TYPE_INT32, _F.TYPE_SINT32, _F.TYPE_SFIXED32, _F.TYPE_UINT32, _F.TYPE_FIXED32}
_LONG = {_F.TYPE_INT64, _F.TYPE_SINT64, _F.TYPE_SFIXED64, _F.TYPE_UINT64, _F.TYPE_FIXED64}
_SCALARS = {
    AttributeType.INT: _INT | {_F.TYPE_ENUM},
    AttributeType.LONG: _LONG | {_F.TYPE_UINT32, _F.TYPE_FIXED32},
    AttributeType.FLOAT: {_F.TYPE_FLOAT},
    AttributeType.DOUBLE: {_F.TYPE_DOUBLE},
    AttributeType.BOOL: {_F.TYPE_BOOL},
    AttributeType.STRING: {_F.TYPE_STRING, _F.TYPE_ENUM},
    AttributeType.OBJECT: {_F.TYPE_BYTES, _F.TYPE_MESSAGE, _F.TYPE_GROUP},
}
_TYPE_NAMES = {getattr(_F, name): name[5:].lower() for name in dir(_F) if name.startswith("TYPE_")}


class FieldPath(NamedTuple):
    """A field of a message, or of a message inside it.

    Attributes:
        outer: the fields of the messages around it, from outside to inside.
        field: the field itself.
        text: the names, with dots between them.
    """

    outer: tuple[Any, ...]
    field: Any
    text: str


def message_class(mapper: str, options: OptionHolder) -> type[Message]:
    """Return the message class of a mapper: ``class``, or ``message`` of ``descriptor.file``.

    Raises:
        SiddhiAppCreationError: the options are missing, or name no message.
    """
    if ("class" in options) == ("descriptor.file" in options):
        raise SiddhiAppCreationError(
            f"{mapper} requires the option 'class', or 'descriptor.file' and 'message'",
            code="E326",
            hint="write class = 'package.module_pb2:Message'",
        )
    if "class" in options:
        if "message" in options:
            raise options.invalid("message", "'descriptor.file' beside it")
        return _imported(options)
    return _described(options)


def _imported(options: OptionHolder) -> type[Message]:
    text = options.static("class").strip()
    module_name, colon, names = text.partition(":")
    if not colon:
        module_name, _, names = text.rpartition(".")
    if not all(name.isidentifier() for name in (*module_name.split("."), *names.split("."))):
        raise options.invalid("class", "a class such as 'package.module_pb2:Message'")
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise options.invalid("class", f"a module that can be imported: {error}") from error
    for name in names.split("."):
        found = getattr(found, name, None)
    if not (isinstance(found, type) and issubclass(found, Message)):
        raise options.invalid("class", f"a message class of module '{module_name}'")
    return found


def _described(options: OptionHolder) -> type[Message]:
    path = local_path(options.static("descriptor.file"))
    if path is None:
        raise options.invalid("descriptor.file", "a local file")
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(Path(path).read_bytes())
    except OSError as error:
        raise options.invalid("descriptor.file", f"a file that can be read: {type(error).__name__}") from error
    except DecodeError as error:
        raise options.invalid("descriptor.file", f"a file of protoc --descriptor_set_out: {error}") from error
    pool = descriptor_pool.DescriptorPool()
    waiting = {file.name: file for file in files.file}
    try:
        for name in list(waiting):
            _add(pool, waiting, name)
    except (TypeError, KeyError) as error:
        raise options.invalid(
            "descriptor.file", f"a complete set of protoc --include_imports --descriptor_set_out: {error}"
        ) from error
    name = options.static("message").strip()
    try:
        descriptor = pool.FindMessageTypeByName(name)
    except KeyError:
        names = sorted(name for file in files.file for name in _message_names(file.package, file.message_type))
        close = did_you_mean(name, names) or f"; its messages are {', '.join(names[:20])}"
        raise SiddhiAppCreationError(f"the descriptor file has no message '{name}'{close}", code="E326") from None
    made: type[Message] = message_factory.GetMessageClass(descriptor)
    return made


def _add(pool: Any, waiting: dict[str, Any], name: str) -> None:
    """Add a file to a pool after those it imports; the well-known ones of the package may be missing in the set."""
    file = waiting.pop(name, None)
    if file is None:
        try:
            pool.FindFileByName(name)
        except KeyError:
            own = descriptor_pool.Default().FindFileByName(name)
            file = descriptor_pb2.FileDescriptorProto()
            own.CopyToProto(file)
        else:
            return
    for imported in file.dependency:
        _add(pool, waiting, imported)
    pool.Add(file)


def _message_names(scope: str, messages: Any) -> Iterator[str]:
    for message in messages:
        name = f"{scope}.{message.name}" if scope else message.name
        yield name
        yield from _message_names(name, message.nested_type)


def path_of(message: type[Message], text: str, attribute: str, type_: AttributeType | None) -> FieldPath:
    """Return the field at a path of names, such as ``address.city``.

    Args:
        message: the class of the message.
        text: the path.
        attribute: name of the attribute that the field is mapped to.
        type_: its type; None: text is written, for which the field must be a string or an enum.

    Raises:
        SiddhiAppCreationError: there is no such field, or its type does not fit the attribute.
    """
    outer: list[Any] = []
    descriptor: Any = message.DESCRIPTOR
    field: Any = None
    for name in text.strip().split("."):
        if field is not None:
            if field.message_type is None or is_repeated(field):
                raise _refused(f"attribute '{attribute}': field '{field.name}' in '{text}' is not a single message")
            outer.append(field)
            descriptor = field.message_type
        field = descriptor.fields_by_name.get(name)
        if field is None:
            close = did_you_mean(name, list(descriptor.fields_by_name))
            raise _refused(f"attribute '{attribute}': message {descriptor.full_name} has no field '{name}'{close}")
    if not _fits(field, type_):
        what = "text" if type_ is None else f"{'an' if type_.value[0] in 'aeiou' else 'a'} {type_.value}"
        kind = "map" if is_map(field) else f"{'repeated ' if is_repeated(field) else ''}{_TYPE_NAMES[field.type]}"
        raise _refused(
            f"attribute '{attribute}' is {what}, but field '{text}' of {message.DESCRIPTOR.full_name} is {kind}"
        )
    return FieldPath(tuple(outer), field, text.strip())


def is_repeated(field: Any) -> bool:
    """Return whether a field is a list or a map."""
    return bool(field.is_repeated)


def is_map(field: Any) -> bool:
    """Return whether a field is a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _fits(field: Any, type_: AttributeType | None) -> bool:
    if is_repeated(field):
        return type_ is AttributeType.OBJECT
    return field.type in _SCALARS[type_ or AttributeType.STRING]


def _refused(message: str) -> SiddhiAppCreationError:
    return SiddhiAppCreationError(
        message,
        code="E326",
        hint="int, long, float, double, bool and string need the field types of the same kind; lists, maps, messages and bytes "
        "are objects",
    )
