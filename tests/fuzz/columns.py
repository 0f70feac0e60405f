"""Columns of every make and layout: a batch is refused as a whole, or its rows come out as they went in."""

from __future__ import annotations

import array
import contextlib
import datetime as dt
import gc
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiError
from tests.fuzz.arrow_producer import Producer
from tests.fuzz.values import same

__all__ = ["attempt"]

KINDS = ["string", "int", "long", "float", "double", "bool"]
LENGTHS = [0, 1, 2, 7, 8, 9, 64, 65, 1025]
NUMBERS = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
]  # fmt: skip
TEXTS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(3),
]
OTHERS = [
    pa.null(), pa.date32(), pa.date64(), pa.time32("ms"), pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.duration("ms"),
    pa.decimal128(10, 2), pa.list_(pa.int32()), pa.struct([("x", pa.int32())]), pa.map_(pa.string(), pa.int32()),
    pa.month_day_nano_interval(),
]  # fmt: skip
WORDS = ["", "a", "IBM", "WSO2", "twelve bytes", "more than twelve bytes", "ß\U0001f600", "\0"]


def attempt(chance: random.Random) -> None:
    """An app of some types, and a few batches for it."""
    kinds = [chance.choice(KINDS) for _ in range(chance.randrange(1, 5))]
    attributes = ", ".join(f"k{place} {kind}" for place, kind in enumerate(kinds))
    more = "from S#window.length(3) select k0, count() as n group by k0 insert into More;"
    app = f"@app:playback define stream S ({attributes}); from S select * insert into Out;"
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(app + (more if chance.random() < 0.3 else ""))
        seen: list[tuple[Any, ...]] = []
        runtime.add_callback("Out", lambda events: seen.extend(event.data for event in events))
        runtime.start()
        for _ in range(4):
            seen.clear()
            chance.choice([_of_arrow, _of_arrow, _of_numpy, _of_producer])(chance, runtime, kinds, seen)


def _of_arrow(
    chance: random.Random, runtime: SiddhiAppRuntime, kinds: Sequence[str], seen: list[tuple[Any, ...]]
) -> None:
    length = chance.choice(LENGTHS)
    columns = [_column(chance, kind, length) for kind in kinds]
    data: Any = {f"k{place}": column for place, column in enumerate(columns)}
    if chance.random() < 0.5:
        data = pa.table(data)
        if chance.random() < 0.3:
            start = chance.randrange(length + 1)
            data = data.slice(start, chance.randrange(length + 1))
        elif chance.random() < 0.3 and length:
            with contextlib.suppress(pa.ArrowInvalid):  # pyarrow joins no dictionaries with nulls
                data = data.combine_chunks().to_batches()[0]
            data = data.slice(chance.randrange(length + 1))
        columns = list(data.columns)
    _send(runtime, kinds, data, [column.to_pylist() for column in columns], seen)


def _column(chance: random.Random, kind: str, length: int) -> Any:
    """An Arrow column, most often of a type that an attribute of this kind takes."""
    holes = chance.choice([0.0, 0.0, 0.3, 1.0])
    if chance.random() < 0.04:
        type_: Any = chance.choice(OTHERS)
    elif kind == "string":
        type_ = chance.choice(TEXTS)
    elif kind == "bool":
        type_ = pa.bool_()
    else:
        type_ = getattr(pa, chance.choice(NUMBERS))()
    before, behind = chance.choice([0, 0, 1, 9]), chance.choice([0, 0, 3])
    values = [None if chance.random() < holes else _value(chance, type_) for _ in range(before + length + behind)]
    made: Any = pa.array(values, type_)
    if chance.random() < 0.15 and not pa.types.is_nested(type_) and not pa.types.is_null(type_):
        with contextlib.suppress(pa.ArrowNotImplementedError):
            made = made.dictionary_encode(null_encoding=chance.choice(["mask", "encode"]))
    elif chance.random() < 0.03 and not pa.types.is_nested(type_):
        with contextlib.suppress(pa.ArrowNotImplementedError):
            made = pa.compute.run_end_encode(made)
    made = made.slice(before, length)
    if chance.random() < 0.3:
        cuts = sorted(chance.randrange(length + 1) for _ in range(chance.randrange(4)))
        made = pa.chunked_array(
            [made.slice(start, end - start) for start, end in zip([0, *cuts], [*cuts, length], strict=True)], made.type
        )
    return made


def _value(chance: random.Random, type_: Any) -> Any:
    if pa.types.is_boolean(type_):
        return chance.random() < 0.5
    if pa.types.is_integer(type_):
        bits = type_.bit_width
        low, high = (0, 2**bits - 1) if str(type_).startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return chance.choice([0, 1, 5, 100]) if chance.random() < 0.95 else chance.choice([low, high])
    if pa.types.is_floating(type_):
        value = chance.choice([0.0, -0.0, 1.5, -2.0, 100.0, math.inf, math.nan])
        return np.float16(value) if type_ == pa.float16() else value
    if type_ in TEXTS:
        if type_ == pa.binary(3):
            return b"abc"
        word = chance.choice(WORDS)
        if "binary" in str(type_):
            return b"\xff\xfe" if chance.random() < 0.01 else word.encode()
        return word
    if pa.types.is_date(type_):
        return dt.date(2020, 1, 1)
    if pa.types.is_timestamp(type_):
        return chance.choice([0, 1, 1_600_000_000])
    if pa.types.is_list(type_):
        return [1, 2]
    if pa.types.is_struct(type_):
        return {"x": 1}
    if pa.types.is_map(type_):
        return [("a", 1)]
    if pa.types.is_interval(type_):
        return pa.MonthDayNano([1, 2, 3])
    return None if pa.types.is_null(type_) or pa.types.is_time(type_) or pa.types.is_duration(type_) else 1


def _of_numpy(
    chance: random.Random, runtime: SiddhiAppRuntime, kinds: Sequence[str], seen: list[tuple[Any, ...]]
) -> None:
    length = chance.choice(LENGTHS)
    columns = {f"k{place}": _array(chance, kind, length) for place, kind in enumerate(kinds)}
    _send(runtime, kinds, columns, [np.asarray(column).tolist() for column in columns.values()], seen)


def _array(chance: random.Random, kind: str, length: int) -> Any:
    """An array of numpy's in one of its layouts."""
    if kind == "string":
        made = np.array([chance.choice(WORDS[:-1]) for _ in range(length * 2)], dtype=chance.choice(["U20", object]))
    elif kind == "bool":
        made = np.array([chance.random() < 0.5 for _ in range(length * 2)], dtype=bool)
    else:
        dtype = np.dtype(chance.choice([*NUMBERS, "longdouble", "complex64"])).newbyteorder(chance.choice("<>="))
        made = np.array([chance.randrange(100) for _ in range(length * 2)], dtype=dtype)
    layout = chance.randrange(6)
    if layout == 0:
        return made[::2]
    if layout == 1:
        return made[:length][::-1]
    if layout == 2:
        made = made[:length]
        made.flags.writeable = False
        return made
    if layout == 3 and kind != "string" and made.dtype.isnative and made.dtype.char in array.typecodes:
        return memoryview(made[:length])
    if layout == 4 and kind != "string":
        unaligned = np.frombuffer(b"\0" + made[:length].tobytes(), dtype=np.uint8)[1:]
        return unaligned.view(made.dtype)
    return made[length:]


def _of_producer(
    chance: random.Random, runtime: SiddhiAppRuntime, kinds: Sequence[str], seen: list[tuple[Any, ...]]
) -> None:
    length = chance.choice(LENGTHS)
    fitting: dict[str, list[Any]] = {"string": WORDS, "bool": [True, False]}
    rows = [
        tuple(None if chance.random() < 0.2 else chance.choice(fitting.get(kind, [0, 1, 7, 100])) for kind in kinds)
        for _ in range(length)
    ]
    fails = chance.random() < 0.2
    producer = Producer(chance, list(kinds), rows, fails=fails)
    accepted = _send(runtime, kinds, producer, [[row[place] for row in rows] for place in range(len(kinds))], seen)
    assert accepted is not fails, "a failing stream is an error, a right one is none"
    if producer.released != producer.given:
        gc.collect()
    assert producer.released == producer.given, f"{producer.released} of {producer.given} structs were released"


def _send(
    runtime: SiddhiAppRuntime,
    kinds: Sequence[str],
    data: Any,
    expected: list[list[Any]],
    seen: list[tuple[Any, ...]],
) -> bool:
    """Send a batch; whether it was accepted."""
    try:
        runtime.input_handler("S").send_batch(data)
    except SiddhiError:
        assert not seen, "refused, and something came out"
        return False
    rows = list(zip(*expected))
    assert len(seen) == len(rows), f"{len(rows)} rows were sent, {len(seen)} came out"
    for sent, got in zip(rows, seen):
        assert all(map(_alike, kinds, sent, got)), f"{sent!r} came out as {got!r}"
    return True


def _alike(kind: str, sent: Any, got: Any) -> bool:
    if isinstance(sent, bytes):
        sent = sent.decode()
    if isinstance(sent, dt.date):
        date = sent if isinstance(sent, dt.datetime) else dt.datetime.combine(sent, dt.time())
        sent = round(date.replace(tzinfo=dt.timezone.utc).timestamp() * 1000)
    return same(kind, sent, got)
