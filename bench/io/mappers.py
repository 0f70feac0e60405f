"""Speed of the source mappers against the bare libraries on the same bytes: ``python bench/io/mappers.py``.

Each payload goes through the source ``inMemory``, the mapper and the stream into a filter query that no event passes. The
library decodes the same payloads and drops the result. Both are measured in turns; the figure is the best of R runs.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import fastavro
import orjson
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from lxml import etree

from siddhi import SiddhiManager
from siddhi.io import InMemoryBroker

AIM = 2.0
"""Most times the bare library's time that a mapper should need, including the way to the filter."""

ATTRIBUTES = "symbol string, price double, volume long"
RECORD = {
    "type": "record",
    "name": "Trade",
    "fields": [
        {"name": "symbol", "type": "string"},
        {"name": "price", "type": "double"},
        {"name": "volume", "type": "long"},
    ],
}

Row = tuple[str, float, int]


@dataclass(frozen=True)
class Format:
    """How a format is written, and read by a library alone.

    Attributes:
        name: of the mapper.
        write: rows → payload.
        library: name of the library.
        read: decodes a payload with the library.
        options: further elements of ``@map``.
        several: whether a payload can have several events.
    """

    name: str
    write: Callable[[Sequence[Row]], Any]
    library: str
    read: Callable[[Any], object]
    options: str = ""
    several: bool = True

    def app(self, size: int) -> str:
        """Return the app for payloads of some events."""
        options = self.options
        if self.name == "avro":
            schema: Any = RECORD if size == 1 else {"type": "array", "items": RECORD}
            options = f'schema.def = """{json.dumps(schema)}"""'
        elif self.name == "text" and size > 1:
            options = "event.grouping.enabled = 'true'"
        return (
            f"@source(type = 'inMemory', topic = 'bench', @map(type = '{self.name}'{', ' if options else ''}{options}))\n"
            f"define stream Trades ({ATTRIBUTES});\n"
            "from Trades[volume < 0L] select symbol insert into None;"
        )


def rows_of(count: int) -> list[Row]:
    """Return trades of 100 symbols."""
    return [(f"SYM{number % 100}", 100.0 + (number * 7919 % 10_000) / 128, number % 5000) for number in range(count)]


def formats() -> list[Format]:
    """Return the formats."""
    message = _message()
    one, several = fastavro.parse_schema(RECORD), fastavro.parse_schema({"type": "array", "items": RECORD})

    def objects(rows: Sequence[Row]) -> bytes:
        made = [{"event": {"symbol": symbol, "price": price, "volume": volume}} for symbol, price, volume in rows]
        return orjson.dumps(made if len(made) > 1 else made[0])

    def document(rows: Sequence[Row]) -> bytes:
        events = "".join(
            f"<event><symbol>{symbol}</symbol><price>{price}</price><volume>{volume}</volume></event>"
            for symbol, price, volume in rows
        )
        return f"<events>{events}</events>".encode()

    def records(rows: Sequence[Row]) -> bytes:
        stream = io.BytesIO()
        made = [dict(zip(("symbol", "price", "volume"), row, strict=True)) for row in rows]
        if len(made) > 1:
            fastavro.schemaless_writer(stream, several, made)
        else:
            fastavro.schemaless_writer(stream, one, made[0])
        return stream.getvalue()

    def read_records(payload: bytes) -> object:
        schema = one if len(payload) < 100 else several
        return fastavro.schemaless_reader(io.BytesIO(payload), schema, None)

    def lines(rows: Sequence[Row]) -> str:
        return "\n~~~~~~~~~~\n".join(
            f'symbol:"{symbol}",\nprice:{price},\nvolume:{volume}' for symbol, price, volume in rows
        )

    def read_lines(payload: str) -> object:
        return [dict([pair.split(":", 1) for pair in part.split(",\n")]) for part in payload.split("\n~~~~~~~~~~\n")]

    def packed(rows: Sequence[Row]) -> bytes:
        parts = [struct.pack(">i", len(rows))]
        for symbol, price, volume in rows:
            text = symbol.encode()
            parts.append(struct.pack(f">qi{len(text)}sdq", 1_700_000_000_000, len(text), text, price, volume))
        return b"".join(parts)

    begin, end = struct.Struct(">qi"), struct.Struct(">dq")

    def read_packed(payload: bytes) -> object:
        at, found = 4, []
        for _ in range(struct.unpack_from(">i", payload)[0]):
            timestamp, length = begin.unpack_from(payload, at)
            at += 12
            text = payload[at : at + length].decode()
            found.append((timestamp, text, *end.unpack_from(payload, at + length)))
            at += length + 16
        return found

    values = itemgetter("symbol", "price", "volume")
    return [
        Format("json", objects, "orjson.loads", orjson.loads),
        Format(
            "csv",
            lambda rows: "".join(f"{symbol},{price},{volume}\n" for symbol, price, volume in rows),
            "csv.reader",
            lambda payload: list(csv.reader(io.StringIO(payload, newline=""))),
        ),
        Format("xml", document, "lxml.etree.fromstring", etree.fromstring),
        Format("text", lines, "str.split", read_lines),
        Format(
            "keyvalue",
            lambda rows: dict(zip(("symbol", "price", "volume"), rows[0], strict=True)),
            "itemgetter",
            lambda payload: list(values(payload)),
            several=False,
        ),
        Format("avro", records, "fastavro.schemaless_reader", read_records),
        Format(
            "protobuf",
            lambda rows: message(symbol=rows[0][0], price=rows[0][1], volume=rows[0][2]).SerializeToString(),
            "Message.FromString",
            message.FromString,
            "class = 'bench_trades_pb2:Trade'",
            several=False,
        ),
        Format("binary", packed, "struct", read_packed),
    ]


def _message() -> Any:
    """Return a message class, in a module that the mapper can import."""
    from types import ModuleType

    file = descriptor_pb2.FileDescriptorProto(name="bench_trades.proto", package="bench", syntax="proto3")
    trade = file.message_type.add(name="Trade")
    for number, (name, type_) in enumerate((("symbol", "STRING"), ("price", "DOUBLE"), ("volume", "INT64")), 1):
        field = trade.field.add(name=name, number=number)
        field.type = descriptor_pb2.FieldDescriptorProto.Type.Value(f"TYPE_{type_}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = message_factory.GetMessageClass(pool.FindMessageTypeByName("bench.Trade"))
    module = sys.modules["bench_trades_pb2"] = ModuleType("bench_trades_pb2")
    vars(module)["Trade"] = found
    return found


def measure(format_: Format, size: int, events: int, repeat: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Return the seconds of the mapper and of the library for all events."""
    rows = rows_of(events)
    payloads = [format_.write(rows[at : at + size]) for at in range(0, events, size)]
    mapper = library = float("inf")
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(format_.app(size)) as runtime:
        seen = 0

        def count(found: Sequence[Any]) -> None:
            nonlocal seen
            seen += len(found)

        runtime.add_callback("Trades", count)
        InMemoryBroker.publish("bench", payloads[0])
        if seen != size:
            raise SystemExit(f"{format_.name}: {seen} of {size} events arrived")
        runtime.remove_callback(count)
        publish, read = InMemoryBroker.publish, format_.read
        for _ in range(repeat):
            begin = clock()
            for payload in payloads:
                publish("bench", payload)
            mapper = min(mapper, clock() - begin)
            begin = clock()
            for payload in payloads:
                read(payload)
            library = min(library, clock() - begin)
    return mapper, library


def main() -> int:
    """Print a line per format and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", nargs="*", help="names of mappers; default: all")
    parser.add_argument("--size", nargs="*", type=int, default=[1, 1000], help="events per payload")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="measure processor time")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.cpu else time.perf_counter
    print(f"{'format':9s} {'events':>6s} {'mapper':>8s} {'library':>8s} {'ratio':>6s}   library")
    for format_ in formats():
        if arguments.format and format_.name not in arguments.format:
            continue
        for size in arguments.size:
            if size > 1 and not format_.several:
                continue
            mapper, library = measure(format_, size, arguments.events, arguments.repeat, clock)
            millions = arguments.events / 1e6
            ratio = mapper / library
            mark = "" if ratio <= AIM else " *"
            print(
                f"{format_.name:9s} {size:6d} {millions / mapper:8.3f} {millions / library:8.3f} {ratio:5.2f}{mark:2s}  "
                f"{format_.library}",
                flush=True,
            )
    print(f"M events/s; * more than {AIM:g} times the library's time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
