"""Engine fragments driven without Spark: keys, shuffles, state, watermark and timers as Spark has them, in plain Python."""

from __future__ import annotations

import itertools
import random
import zlib

import pyarrow as pa

from siddhi import SiddhiManager
from siddhi.planner.app import plan
from siddhi.planner.distribution.distribution import KeyExpression
from siddhi.planner.plan.nodes import Plan
from siddhi.query_compiler import parse
from siddhi.spark.checkpoint.key_ranges import key_range_of
from siddhi.spark.checkpoint.stored import key_texts
from siddhi.spark.plan.fragments import cut
from siddhi.spark.plan.key_hash import shard_of_key
from siddhi.spark.plan.keys import FragmentKey
from siddhi.spark.plan.naming import INPUT_STREAM
from siddhi.spark.plan.state_keys import EVEN, StateKeys
from siddhi.spark.workers.input_schema import with_schema_id
from siddhi.spark.workers.program import write_program
from siddhi.spark.workers.record_batch import decode, encode
from siddhi.spark.workers.shard import ARROW_TYPES
from siddhi.spark.workers.stateful import FragmentProcessor

_runs = itertools.count()
LAST_CLOCK = 221_845_392_000_000


class Value:
    def __init__(self):
        self.held = None

    def exists(self):
        return self.held is not None

    def get(self):
        return self.held

    def update(self, value):
        self.held = value

    def clear(self):
        self.held = None


class Mapped:
    def __init__(self):
        self.held = {}

    def getValue(self, key):  # noqa: N802
        return self.held.get(key)

    def updateValue(self, key, value):  # noqa: N802
        self.held[key] = value

    def removeKey(self, key):  # noqa: N802
        self.held.pop(key, None)

    def keys(self):
        return list(self.held)

    def iterator(self):
        return iter(list(self.held.items()))

    def clear(self):
        self.held = {}

    def exists(self):
        return bool(self.held)


class Handle:
    """State and timers of one shard."""

    def __init__(self):
        self.values, self.maps, self.timers = {}, {}, set()

    def getValueState(self, name, _):  # noqa: N802
        return self.values.setdefault(name, Value())

    def getMapState(self, name, *_):  # noqa: N802
        return self.maps.setdefault(name, Mapped())

    def registerTimer(self, at):  # noqa: N802
        self.timers.add(at)

    def deleteTimer(self, at):  # noqa: N802
        self.timers.discard(at)


class Clock:
    def __init__(self, watermark):
        self.watermark = watermark

    def getCurrentWatermarkInMs(self):  # noqa: N802
        return self.watermark


class Conditions:
    """The labels that hold for an event, as an engine of their own says that has a query for each."""

    def __init__(self, stream, key: KeyExpression):
        schema = ", ".join(f"`{a.name}` {a.type}" for a in stream.attributes)
        queries = [f"from S[{text}] select {n} as n insert into O;" for n, (_, text) in enumerate(key.labels)]
        self._labels = [label for label, _ in key.labels]
        self._runtime = SiddhiManager().create_siddhi_app_runtime(
            f"@app:playback define stream S ({schema}); {' '.join(queries)}"
        )
        self._held: list[int] = []
        self._runtime.add_callback("O", lambda events: self._held.extend(event.data[0] for event in events))
        self._runtime.start()
        self._send = self._runtime.input_handler("S").send

    def holding(self, values, time) -> list[str]:
        self._held.clear()
        self._send(values, time)
        return [self._labels[n] for n in self._held]


class FakeStream:
    """An app over a stream: rows in micro-batches, a watermark that trails by ``grace``.

    ``forget``: engines are not kept between batches, so that every batch restores them from their state. ``force``: an
    attribute as key of fragments without key. ``by``: one as key of fragments with labels.
    """

    def __init__(
        self,
        app: str,
        *,
        bound,
        shards: int,
        grace: int,
        forget: bool = False,
        flush: bool = False,
        force: str | None = None,
        by: str | None = None,
    ):
        self.plan: Plan = plan(parse(app))
        self.layout = cut(self.plan, streaming=True, prefer="engine", bound=bound)
        for fragment in self.layout.fragments if force is not None else ():
            if fragment.is_single:
                key = KeyExpression(force, force)
                fragment.key = FragmentKey(dict.fromkeys(fragment.inputs, (key,)))
        self.shards, self.grace, self.forget, self.flush = shards, grace, forget, flush
        self.programs = tuple(
            write_program(self.plan, i, self._leaving(i), shards=shards) for i in self.layout.fragments
        )
        for fragment in self.layout.fragments if by is not None else ():
            if fragment.key is not None and fragment.key.labels:
                fragment.key = FragmentKey(dict.fromkeys(fragment.inputs, (KeyExpression(by, by),)))
        self._ranges: dict[tuple[str, tuple[tuple[str, str], ...]], Conditions] = {}
        self.handles: dict[int, Handle] = {}
        self.watermark, self.latest, self.late = 0, 0, 0
        self.run = f"run {next(_runs)}"
        self.ranges = [
            key_range_of(self.plan, *both, n * shards, shards).shard_range
            for n, both in enumerate(zip(self.layout.fragments, self.programs))
        ]
        self.found: dict[str, list] = {}
        self.keys = StateKeys(EVEN, shards)

    def _leaving(self, fragment):
        return [
            s for s in fragment.produced
            if s in self.plan.streams and all(str(a.type) != "object" for a in self.plan.streams[s].attributes)
        ]  # fmt: skip

    def shards_of(self, fragment, stream, values, time) -> list[int]:
        """As Spark hashes; keys that are not plain attributes aside."""
        if fragment.is_single:
            return [0]
        keys = () if fragment.key is None else fragment.key.streams[stream]
        if keys is None:
            return list(range(self.shards))
        names = [a.name for a in self.plan.streams[stream].attributes]
        if not keys:
            return [zlib.crc32(repr(values).encode()) % self.shards]
        if keys[0].labels:
            at = (stream, keys[0].labels)
            if at not in self._ranges:
                self._ranges[at] = Conditions(self.plan.streams[stream], keys[0])
            labels = self._ranges[at].holding(values, time)
            return sorted({shard_of_key([label], self.shards) for label in labels})
        texts = []
        for key in keys:
            if key.attribute is None:
                raise NotImplementedError(key.text)
            value = values[names.index(key.attribute)]
            texts += key_texts(value)
        return [shard_of_key(texts, self.shards)]

    def batch(self, rows) -> None:
        """One micro-batch of (number, stream, time, values), then the one without data if the watermark moves."""
        self._step(rows)
        moved = max([self.latest, *(time for _, _, time, _ in rows)])
        self.latest = moved
        if moved - self.grace > self.watermark:
            self.watermark = moved - self.grace
            self._step([])

    def _step(self, rows) -> None:
        places = {stream: n for n, stream in enumerate(self.plan.streams)}
        per_shard: dict[int, list] = {}
        for number, stream, time, values in rows:
            told = 0  # one copy of a row tells of it where it is late
            for at, (fragment, program) in enumerate(zip(self.layout.fragments, self.programs)):
                if program.ticks:
                    per_shard.setdefault(self.ranges[at].first, []).append(
                        (time, places[stream], number, -1, -1, *(None for _ in program.columns[1:]))
                    )
                for place, (name, slots) in enumerate(program.inputs):
                    if name != stream:
                        continue
                    values_in = [None] * len(program.columns)
                    if program.input_stream == INPUT_STREAM:
                        values_in[0] = place
                    for slot, value in zip(slots, values):
                        values_in[slot] = value
                    for shard in self.shards_of(fragment, stream, values, time):
                        key = self.ranges[at].first + shard
                        order = (time, places[stream], number, 2 * place + told)
                        told = 1
                        per_shard.setdefault(key, []).append((*order, *values_in))
        for key, found in per_shard.items():
            at = next(n for n, held in enumerate(self.ranges) if 0 <= key - held.first < self.shards)
            program = self.programs[at]
            types = [pa.int64(), pa.int32(), pa.int64(), pa.int32(), *(ARROW_TYPES[kind] for kind in program.kinds)]
            names = ["o0", "o1", "o2", "o3", *program.columns]
            columns = [pa.array([row[n] for row in found], type_) for n, type_ in enumerate(types)]
            rows = pa.RecordBatch.from_arrays(columns, names=names)
            blob = encode(with_schema_id(rows, self.ranges[at].schema.schema_id))
            import pandas as pd

            frame = pd.DataFrame({"shard": [key], "n": [len(found)], "rows": [blob]})
            self._take(
                self._processor(key).handleInputRows((self.keys.key(key),), iter([frame]), Clock(self.watermark))
            )
        for key, handle in list(self.handles.items()):
            for at in sorted(handle.timers):
                if at <= self.watermark:
                    handle.timers.discard(at)
                    self._take(
                        self._processor(key).handleExpiredTimer((self.keys.key(key),), Clock(self.watermark), None)
                    )

    def _processor(self, key) -> FragmentProcessor:
        run = f"{self.run}-{random.random()}" if self.forget else self.run
        last = LAST_CLOCK
        made = FragmentProcessor(self.programs, self.shards, 4, run, "drop", last, self.ranges, self.keys)
        made.init(self.handles.setdefault(key, Handle()))
        return made

    def _take(self, frames) -> None:
        outputs = [(shape.stream) for program in self.programs for shape in program.outputs]
        for frame in frames:
            for out, n, data in zip(frame["out"], frame["n"], frame["rows"]):
                if out >= 1 << 20:
                    self.late += n
                    continue
                rows = decode(data)
                columns = [rows.column(c).to_pylist() for c in range(rows.num_columns)]
                self.found.setdefault(outputs[out], []).extend(zip(columns[-1], *columns[:-1]))

    def finish(self) -> None:
        """The end of input: ``hold`` or ``flush``."""
        self.watermark = LAST_CLOCK if self.flush else self.latest + 1
        self._step([])


def played(app: str, rows, *, shards: int, seed: int, batches: int = 4, grace: int = 500, **options) -> FakeStream:
    """The app over rows (stream, time, values) that are shuffled within the grace and cut into batches."""
    rng = random.Random(seed)
    numbered = [(n, *row) for n, row in enumerate(rows)]
    shuffled = sorted(numbered, key=lambda row: row[2] + rng.randint(0, grace))
    stream = FakeStream(app, bound={row[0] for row in rows}, shards=shards, grace=grace, **options)
    cuts = sorted(rng.randint(0, len(shuffled)) for _ in range(batches - 1))
    for start, stop in zip([0, *cuts], [*cuts, len(shuffled)]):
        stream.batch(shuffled[start:stop])
    stream.finish()
    return stream
