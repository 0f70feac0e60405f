"""An Arrow producer in plain Python: what the C data interface allows, and pyarrow never does.

Null counts that are not known, structs that are slices of their own, names that are missing, buffers that are missing where
there are no rows, streams that fail on the way. What is given out must be released once.
"""

from __future__ import annotations

import ctypes
import errno
import random
import struct
from collections.abc import Callable
from typing import Any

__all__ = ["Producer"]

POINTER = ctypes.c_void_p


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
RELEASE_STREAM = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
LAST_ERROR = ctypes.CFUNCTYPE(POINTER, ctypes.POINTER(Stream))
Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", POINTER),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", RELEASE_SCHEMA),
    ("private_data", POINTER),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(POINTER)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", RELEASE_ARRAY),
    ("private_data", POINTER),
]
Stream._fields_ = [
    ("get_schema", GET_SCHEMA),
    ("get_next", GET_NEXT),
    ("get_last_error", LAST_ERROR),
    ("release", RELEASE_STREAM),
    ("private_data", POINTER),
]
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [POINTER, ctypes.c_char_p, POINTER]

FORMATS: dict[str, list[tuple[bytes, str]]] = {
    "int": [(b"c", "b"), (b"s", "h"), (b"i", "i"), (b"C", "B"), (b"S", "H")],
    "long": [(b"l", "q"), (b"i", "i"), (b"I", "I"), (b"c", "b")],
    "double": [(b"g", "d"), (b"f", "f"), (b"e", "e")],
    "float": [(b"f", "f"), (b"e", "e")],
    "string": [(b"u", "i"), (b"U", "q")],
    "bool": [(b"b", "")],
}
"""Formats an attribute of a type takes, and the letter ``struct`` has for a value or an offset."""


class Producer:
    """Columns of an app's types, laid out at random.

    Args:
        chance: decides on the layout.
        kinds: the types, by column.
        rows: the values, by row; they fit small integers and short texts.
        fails: the stream fails after its first batch.
    """

    def __init__(
        self, chance: random.Random, kinds: list[str], rows: list[tuple[Any, ...]], *, fails: bool = False
    ) -> None:
        self._chance = chance
        self._kinds = kinds
        self._rows = rows
        self._fails = fails
        self._kept: list[object] = []
        self._formats = [chance.choice(FORMATS[kind]) for kind in kinds]
        self.given = 0
        self.released = 0

    def keep(self, thing: Any) -> Any:
        self._kept.append(thing)
        return thing

    def release(self, kind: Callable[[Any], Any], what: type) -> Any:
        """A release function of its own; it marks the struct as released, as the interface asks for."""
        self.given += 1

        def done(pointer: Any) -> None:
            self.released += 1
            pointer.contents.release = kind()

        return self.keep(kind(done))

    def __getattr__(self, name: str) -> Any:
        if name == "__arrow_c_stream__" and self._fails:
            return self._stream
        if name == "__arrow_c_array__" and not self._fails:
            return self._array
        raise AttributeError(name)

    def _array(self, requested: object = None) -> tuple[object, object]:
        schema, array = self.keep(Schema()), self.keep(Array())
        self._fill_schema(schema)
        self._fill_struct(array)
        return (
            new_capsule(ctypes.addressof(schema), b"arrow_schema", None),
            new_capsule(ctypes.addressof(array), b"arrow_array", None),
        )

    def _stream(self, requested: object = None) -> object:
        stream = self.keep(Stream())
        batches = self._chance.choice([0, 1, 2])
        code = self._chance.choice([errno.EIO, errno.ENOMEM, 12345, -1])
        message = self._chance.choice([None, b"gone", b"\xff\xfe"])
        text = self.keep(ctypes.c_char_p(message))

        def get_schema(_: Any, out: Any) -> int:
            if batches == 0:
                return code
            self._fill_schema(out.contents)
            return 0

        def get_next(_: Any, out: Any) -> int:
            nonlocal batches
            batches -= 1
            if batches == 0:
                return code
            self._fill_struct(out.contents)
            return 0

        stream.get_schema = self.keep(GET_SCHEMA(get_schema))
        stream.get_next = self.keep(GET_NEXT(get_next))
        stream.get_last_error = self.keep(LAST_ERROR(lambda _: ctypes.cast(text, POINTER).value))
        stream.release = self.release(RELEASE_STREAM, Stream)
        return new_capsule(ctypes.addressof(stream), b"arrow_array_stream", None)

    def _fill_schema(self, schema: Any) -> None:
        children = [self.keep(Schema()) for _ in self._kinds]
        for place, child in enumerate(children):
            child.format = self._formats[place][0]
            child.name = f"k{place}".encode()
            child.flags = 2
            child.release = RELEASE_SCHEMA()
        schema.format = b"+s"
        schema.name = None
        schema.n_children = len(children)
        schema.children = self.keep((ctypes.POINTER(Schema) * len(children))(*map(ctypes.pointer, children)))
        schema.release = self.release(RELEASE_SCHEMA, Schema)

    def _fill_struct(self, array: Any) -> None:
        """The rows as a struct that begins at an offset of its own, with children that may be longer."""
        offset = self._chance.choice([0, 0, 1, 3, 9])
        more = self._chance.choice([0, 0, 5])
        children = [self.keep(Array()) for _ in self._kinds]
        for place, child in enumerate(children):
            values = [row[place] for row in self._rows]
            self._fill_column(child, self._kinds[place], self._formats[place][1], values, offset, more)
            child.release = RELEASE_ARRAY()
        array.length = len(self._rows)
        array.offset = offset
        array.null_count = self._chance.choice([0, -1])
        array.n_buffers = 1
        whole = None
        if self._chance.random() < 0.3:
            whole = self._buffer(b"\xff" * ((offset + len(self._rows)) // 8 + 1))
        array.buffers = self.keep((POINTER * 1)(whole))
        array.n_children = len(children)
        array.children = self.keep((ctypes.POINTER(Array) * len(children))(*map(ctypes.pointer, children)))
        array.release = self.release(RELEASE_ARRAY, Array)

    def _fill_column(self, array: Any, kind: str, letter: str, values: list[Any], before: int, more: int) -> None:
        own = self._chance.choice([0, 0, 1, 7])
        fill = {"string": "zz", "bool": True}.get(kind, 1)
        laid = [fill] * (own + before) + values + [fill] * more
        nulls = sum(value is None for value in laid)
        array.length = len(laid) - own
        array.offset = own
        array.null_count = self._chance.choice([-1, nulls])
        has_validity = nulls > 0 or self._chance.random() < 0.4
        bits = self._bits([value is not None for value in laid]) if has_validity else None
        if kind == "bool":
            buffers = [bits, self._bits([bool(value) for value in laid])]
        elif kind == "string":
            texts = [b"" if value is None else value.encode() for value in laid]
            ends = [0]
            for text in texts:
                ends.append(ends[-1] + len(text))
            joined = b"".join(texts)
            buffers = [
                bits,
                self._buffer(struct.pack(f"<{len(ends)}{letter}", *ends)),
                self._buffer(joined) if joined or self._chance.random() < 0.5 else None,
            ]
        else:
            whole = letter not in "dfe"
            numbers = [(0 if whole else 0.0) if value is None else value for value in laid]
            buffers = [bits, self._buffer(struct.pack(f"<{len(laid)}{letter}", *numbers))]
        if not laid and self._chance.random() < 0.5:
            buffers = [None] * len(buffers)
        array.n_buffers = len(buffers)
        array.buffers = self.keep((POINTER * len(buffers))(*buffers))

    def _bits(self, flags: list[bool]) -> int:
        packed = bytearray(len(flags) // 8 + 1)
        for place, flag in enumerate(flags):
            packed[place >> 3] |= flag << (place & 7)
        return self._buffer(bytes(packed))

    def _buffer(self, data: bytes) -> int:
        before = self._chance.choice([0, 0, 0, 1, 4])  # alignment is recommended, and no more
        return before + ctypes.addressof(
            self.keep(ctypes.create_string_buffer(bytes(before) + data, before + len(data) + 1))
        )
