"""Versions of an app whose fragments read other streams: buffered rows keep their meaning."""

from __future__ import annotations

import json
import random

import pytest

pytest.importorskip("pyspark")

from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi.spark.checkpoint.evolution import assign_key_ranges
from siddhi.spark.checkpoint.key_ranges import KeyRange, key_range_of
from siddhi.spark.testing import oracle
from tests.spark.streaming.without_jvm import FakeStream

STREAMS = "define stream S (k string, v int); define stream T (v int, k string, w int);\n"
KEYED = {
    "count": ("S", "from S select k, count() as n group by k"),
    "high": ("S", "from S[v > 3] select k, max(v) as n, min(v) as m group by k"),
    "last": ("T", "from T select k, sum(w) as n, max(v) as m group by k"),
    "other": ("T", "from T[v < 8] select k, count() as n group by k"),
    "joined": ("ST", "from S#window.time(1 sec) join T#window.time(1 sec) on S.k == T.k select S.k as k, S.v as x, T.w as y"),
}  # fmt: skip
ALONE = {
    "length": ("S", "from S#window.length(3) select sum(v) as n"),
    "quiet": ("S", "from every not S[v > 2] for 40 milliseconds select 1 as n"),
    "now_and_then": ("S", "from S select v output last every 50 milliseconds"),
    "both": ("ST", "from every a=S[v > 6] -> b=T[v < a.v] select a.v as x, b.w as y"),
    "sum": ("T", "from T select sum(w) as n"),
}
CLOCKED = {"quiet", "now_and_then"}
"""The outputs of these depend on the time of their start."""


def app(names, queries) -> str:
    return STREAMS + "\n".join(
        f"@info(name = '{name}') {queries[name.split('~')[0]][1]} insert into `O_{name}`;" for name in names
    )


def key_ranges_of(stream: FakeStream) -> list[KeyRange]:
    both = zip(stream.layout.fragments, stream.programs)
    shards = stream.shards
    return [
        key_range_of(stream.plan, fragment, program, n * shards, shards) for n, (fragment, program) in enumerate(both)
    ]


def gone_on(before: FakeStream, key_ranges: list[KeyRange], text: str) -> tuple[FakeStream, list[KeyRange]]:
    """The stream with another form of its app, and its key_ranges as they are written."""
    now = FakeStream(text, bound={"S", "T"}, shards=before.shards, grace=before.grace, forget=before.forget)
    fit = assign_key_ranges(key_ranges, key_ranges_of(now))
    assert fit.refused == []
    key_ranges = [KeyRange.from_json(json.loads(json.dumps(key_range.to_json()))) for key_range in fit.key_ranges]
    mine = [key_ranges[index] for index in fit.indexes]
    now.ranges = [key_range.shard_range for key_range in mine]
    now.handles, now.watermark, now.latest, now.found = before.handles, before.watermark, before.latest, before.found
    return now, key_ranges


class Life:
    """Versions of an app, and what each query was given while it was there."""

    def __init__(self, queries, rng: random.Random) -> None:
        self.queries, self.rng = queries, rng
        self.time, self.number = 10_000, 0
        self.given: dict[str, list] = {}
        self.buffered: list = []
        self.stream: FakeStream | None = None
        self.key_ranges: list[KeyRange] = []

    def begin(self, names) -> None:
        """The first version, or another one. What is new sees the rows that wait of streams that were read all the time."""
        text = app(names, self.queries)
        read: set[str] = set()
        if self.stream is None:
            self.stream = FakeStream(
                text,
                bound={"S", "T"},
                shards=self.rng.choice([1, 3]),
                grace=self.rng.choice([0, 60]),
                forget=self.rng.random() < 0.5,
            )
            self.key_ranges = key_ranges_of(self.stream)
        else:
            read = {stream for name in self.names for stream in self.queries[name.split("~")[0]][0]}
            self.stream, self.key_ranges = gone_on(self.stream, self.key_ranges, text)
        self.buffered = [row for row in self.buffered if row[2] >= self.stream.watermark and row[1] in read]
        for name in names:
            if name not in self.given:
                self.given[name] = list(self.buffered)
        self.names = names

    def end(self, name: str) -> None:
        """A query goes before it has seen the rows that wait."""
        self.given[name] = [row for row in self.given[name] if row[2] < self.stream.watermark]

    def batch(self) -> None:
        rows = []
        for _ in range(self.rng.randint(1, 8)):
            self.time += self.rng.choice([1, 3, 10, 30])
            key, v, w = self.rng.choice("abcde"), self.rng.randint(0, 10), self.rng.randint(0, 99)
            stream = self.rng.choice("ST")
            rows.append((self.number, stream, self.time, (key, v) if stream == "S" else (v, key, w)))
            self.number += 1
        self.stream.batch(rows)
        self.buffered += rows
        for name in self.names:
            self.given[name] += [row for row in rows if row[1] in self.queries[name.split("~")[0]][0]]


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 1 << 30), queries=st.sampled_from([KEYED, ALONE]))
def test_every_query_gets_each_row_once_while_others_are_added_or_removed(seed, queries):
    rng = random.Random(seed)
    life = Life(queries, rng)
    stays, *others = queries
    names = [stays]
    for version in range(rng.randint(2, 5)):
        beside = rng.sample(others, rng.randint(0, 3))
        for name in names[1:]:
            life.end(name)
        names = [stays, *(name if version == 0 else f"{name}~{version}" for name in beside)]
        life.begin(rng.sample(names, len(names)))
        for _ in range(rng.randint(0, 3)):
            life.batch()
    life.stream.finish()
    for name, rows in life.given.items():
        base = name.split("~")[0]
        if base not in CLOCKED:
            mine = [row[1:] for row in rows if row[1] in queries[base][0]]
            want = oracle(app([name], queries), mine, [f"O_{name}"])[f"O_{name}"] if mine else []
            assert sorted(life.stream.found.get(f"O_{name}", [])) == sorted(want), name
