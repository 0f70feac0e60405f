"""Joins against an oracle without index: each event is compared with all events of the other side."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime, SiddhiManager

Row = tuple[str | None, int]
Pair = tuple[object, ...]
Chunk = tuple[list[Pair], list[Pair]]
Step = tuple[str, list[Row]]

CONDITIONS = {
    "l.k == r.k": lambda left, right: left[0] is not None and left[0] == right[0],
    "l.k == r.k and l.v <= r.v": lambda left, right: (
        left[0] is not None and left[0] == right[0] and left[1] <= right[1]
    ),
    "r.v == l.v and l.k == r.k": lambda left, right: left[0] is not None and left == right,
    "l.v < r.v": lambda left, right: left[1] < right[1],
    "l.v * 2 == r.v": lambda left, right: left[1] * 2 == right[1],
    "": lambda left, right: True,
}
OUTER = {
    "join": (False, False),
    "left outer join": (True, False),
    "right outer join": (False, True),
    "full outer join": (True, True),
}


@dataclass
class Twin:
    """A join of two length windows, spelled out."""

    lengths: tuple[int, int]
    condition: str
    outer: tuple[bool, bool]
    triggers: tuple[bool, bool]
    held: tuple[list[Row], list[Row]] = field(default_factory=lambda: ([], []))
    chunks: list[Chunk] = field(default_factory=list)

    def send(self, side: int, rows: list[Row]) -> None:
        """A chunk arrives on one side."""
        current: list[Pair] = []
        expired: list[Pair] = []
        for row in rows:
            if len(self.held[side]) == self.lengths[side]:
                expired += self._matches(side, self.held[side].pop(0))
            self.held[side].append(row)
            current += self._matches(side, row)
        if current or expired:
            self.chunks.append((current, expired))

    def _matches(self, side: int, row: Row) -> list[Pair]:
        if not self.triggers[side]:
            return []
        holds = CONDITIONS[self.condition]
        pairs: list[tuple[Row, Row]] = [(row, other) if side == 0 else (other, row) for other in self.held[1 - side]]
        found: list[Pair] = [(*left, *right) for left, right in pairs if holds(left, right)]
        if not found and self.outer[side]:
            return [(*row, None, None) if side == 0 else (None, None, *row)]
        return found


def app_of(lengths: tuple[int, int], kind: str, condition: str, marked: int | None) -> str:
    left, right = (" unidirectional" if marked == side else "" for side in (0, 1))
    on = f"on {condition}" if condition else ""
    return f"""
        define stream L (k string, v int);
        define stream R (k string, v int);
        @info(name='q')
        from L#window.length({lengths[0]}) as l{left} {kind} R#window.length({lengths[1]}) as r{right} {on}
        select l.k as lk, l.v as lv, r.k as rk, r.v as rv insert all events into O;
    """


def listen(runtime: SiddhiAppRuntime, chunks: list[Chunk]) -> None:
    def note(_: int, current: list[Event] | None, expired: list[Event] | None) -> None:
        chunks.append(([event.data for event in current or []], [event.data for event in expired or []]))

    runtime.add_query_callback("q", note)


def send(runtime: SiddhiAppRuntime, steps: list[Step]) -> None:
    for stream, rows in steps:
        runtime.input_handler(stream).send_events([Event(0, row) for row in rows])


rows = st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 4))
steps = st.lists(st.tuples(st.sampled_from("LR"), st.lists(rows, min_size=1, max_size=4)), max_size=25)
joins = {
    "lengths": st.tuples(st.integers(1, 5), st.integers(1, 5)),
    "kind": st.sampled_from(sorted(OUTER)),
    "condition": st.sampled_from(sorted(CONDITIONS)),
    "marked": st.sampled_from([None, 0, 1]),
}


def twin_of(lengths: tuple[int, int], kind: str, condition: str, marked: int | None) -> Twin:
    return Twin(lengths, condition, OUTER[kind], (marked in (None, 0), marked in (None, 1)))


@settings(max_examples=200)
@given(steps=steps, **joins)
def test_a_join_finds_every_matching_pair(
    lengths: tuple[int, int], kind: str, condition: str, marked: int | None, steps: list[Step]
) -> None:
    twin = twin_of(lengths, kind, condition, marked)
    chunks: list[Chunk] = []
    with SiddhiManager().create_siddhi_app_runtime(app_of(lengths, kind, condition, marked)) as runtime:
        listen(runtime, chunks)
        send(runtime, steps)
    for stream, sent in steps:
        twin.send("LR".index(stream), sent)
    assert chunks == twin.chunks


@settings(max_examples=60)
@given(before=steps, after=steps, **joins)
def test_a_restored_join_continues(
    lengths: tuple[int, int], kind: str, condition: str, marked: int | None, before: list[Step], after: list[Step]
) -> None:
    app = app_of(lengths, kind, condition, marked)
    manager = SiddhiManager()
    uninterrupted: list[Chunk] = []
    restored: list[Chunk] = []
    with manager.create_siddhi_app_runtime(app) as runtime:
        send(runtime, before)
        state = runtime.snapshot()
        listen(runtime, uninterrupted)
        send(runtime, after)
    with manager.create_siddhi_app_runtime(app) as runtime:
        send(runtime, after)
        runtime.restore(state)
        listen(runtime, restored)
        send(runtime, after)
    assert restored == uninterrupted


@settings(max_examples=60)
@given(steps=steps, **joins)
def test_a_join_in_a_partition_is_one_join_per_key(
    lengths: tuple[int, int], kind: str, condition: str, marked: int | None, steps: list[Step]
) -> None:
    app = app_of(lengths, kind, condition, marked)
    definitions, query = app.split("@info")
    partitioned = f"{definitions} partition with (k of L, k of R) begin @info{query} end;"
    single = [(stream, [row]) for stream, sent in steps for row in sent]
    chunks: list[Chunk] = []
    with SiddhiManager().create_siddhi_app_runtime(partitioned) as runtime:
        listen(runtime, chunks)
        send(runtime, single)
    twins = {key: twin_of(lengths, kind, condition, marked) for key in "abc"}
    expected: list[Chunk] = []
    for stream, [row] in single:
        if row[0] is not None:
            twin = twins[row[0]]
            twin.send("LR".index(stream), [row])
            expected += twin.chunks
            twin.chunks.clear()
    assert chunks == expected


@settings(max_examples=60)
@given(before=steps, after=steps, condition=joins["condition"], sizes=joins["lengths"])
def test_a_restored_join_of_batches_continues_with_its_times(
    before: list[Step], after: list[Step], condition: str, sizes: tuple[int, int]
) -> None:
    text = app_of(sizes, "join", condition, None).replace("R#window.length", "R#window.lengthBatch")
    app = f"@app:playback {text.replace('L#window.length', 'L#window.lengthBatch')}"
    manager = SiddhiManager()
    runs: list[list[Event]] = [[], []]

    def play(runtime: SiddhiAppRuntime, played: list[Step], start: int) -> None:
        for i, (stream, sent) in enumerate(played):
            runtime.input_handler(stream).send_events([Event(start + i, row) for row in sent])

    with manager.create_siddhi_app_runtime(app) as runtime:
        play(runtime, before, 1000)
        state = runtime.snapshot()
        runtime.add_callback("O", runs[0].extend)
        play(runtime, after, 2000)
    with manager.create_siddhi_app_runtime(app) as runtime:
        runtime.restore(state)
        runtime.add_callback("O", runs[1].extend)
        play(runtime, after, 2000)
    assert runs[0] == runs[1]
