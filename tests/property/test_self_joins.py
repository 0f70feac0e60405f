"""A self join: each event passes the left side, then the right one, also within a chunk."""

from __future__ import annotations

from itertools import chain
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from tests.property.test_joins import Chunk, Row, Twin, app_of, joins, listen, rows, twin_of

WINDOWS = (
    "",
    "#window.length(1)",
    "#window.length(3)",
    "#window.lengthBatch(2)",
    "#window.batch()",
    "#window.sort(2, v)",
)
SELECTIONS = (
    "select l.k as lk, l.v as lv, r.v as rv",
    "select l.k as lk, l.v as lv, r.v as rv order by lv desc limit 2",
    "select l.v as lv, r.v as rv, count() as c",
    "select l.v as lv, sum(r.v) as s having s > 2",
    "select l.k as lk, max(l.v) as m, count() as c group by l.k",
    "select r.v as rv, count() as c group by r.v having c > 1 order by rv limit 1",
)
sides = st.tuples(st.sampled_from(["", "[v > 0]", "[k != 'b']"]), st.sampled_from(WINDOWS))
queries = {
    "left": sides,
    "right": sides,
    "kind": joins["kind"],
    "condition": joins["condition"],
    "marked": joins["marked"],
    "selection": st.sampled_from(SELECTIONS),
    "clause": st.sampled_from(["insert into O", "insert all events into O", "insert expired events into O"]),
}
chunks_of_rows = st.lists(st.lists(rows, min_size=1, max_size=5), max_size=12)


def self_join_of(
    left: tuple[str, str],
    right: tuple[str, str],
    kind: str,
    condition: str,
    marked: int | None,
    selection: str,
    clause: str,
    source: str = "S",
) -> str:
    marks = [" unidirectional" if marked == side else "" for side in (0, 1)]
    on = f"on {condition}" if condition else ""
    return f"""@info(name = 'q')
        from {source}{"".join(left)} as l{marks[0]} {kind} {source}{"".join(right)} as r{marks[1]} {on} {selection} {clause};"""


def run(text: str, sent: list[list[Row]]) -> list[Chunk]:
    chunks: list[Chunk] = []
    app = f"define stream S (k string, v int); {text}"
    with SiddhiManager().create_siddhi_app_runtime(app) as runtime:
        listen(runtime, chunks)
        send_all(runtime, sent)
    return chunks


def send_all(runtime: SiddhiAppRuntime, sent: list[list[Row]]) -> None:
    for chunk in sent:
        runtime.input_handler("S").send_events([Event(0, row) for row in chunk])


def singly(sent: list[list[Row]]) -> list[list[Row]]:
    return [[row] for row in chain.from_iterable(sent)]


@settings(max_examples=100)
@given(sent=chunks_of_rows, **joins)
def test_each_event_of_a_chunk_passes_left_then_right(
    lengths: tuple[int, int], kind: str, condition: str, marked: int | None, sent: list[list[Row]]
) -> None:
    twin: Twin = twin_of(lengths, kind, condition, marked)
    text = app_of(lengths, kind, condition, marked).replace("L#window", "S#window").replace("R#window", "S#window")
    chunks = run(text[text.index("@info") :], sent)
    for row in chain.from_iterable(sent):
        twin.send(0, [row])
        twin.send(1, [row])
    assert chunks == twin.chunks


@settings(max_examples=100)
@given(sent=chunks_of_rows, **queries)
def test_a_self_joined_chunk_equals_its_events_one_by_one(sent: list[list[Row]], **query: Any) -> None:
    assert run(self_join_of(**query), sent) == run(self_join_of(**query), singly(sent))


@settings(max_examples=60)
@given(sent=chunks_of_rows, size=st.integers(2, 4), **queries)
def test_a_chunk_of_a_query_equals_its_events_one_by_one(sent: list[list[Row]], size: int, **query: Any) -> None:
    came = list(chain.from_iterable(sent))
    released = [came[i : i + size] for i in range(0, len(came) - size + 1, size)]
    upstream = f"from S#window.lengthBatch({size}) select k, v insert into X;"
    assert run(upstream + self_join_of(**query, source="X"), sent) == run(self_join_of(**query), singly(released))


@settings(max_examples=60)
@given(sent=chunks_of_rows, **queries)
def test_a_chunk_in_a_partition_equals_its_events_one_by_one(sent: list[list[Row]], **query: Any) -> None:
    text = f"partition with (k of S) begin {self_join_of(**query)} end;"
    assert run(text, sent) == run(text, singly(sent))


@settings(max_examples=60)
@given(before=chunks_of_rows, after=chunks_of_rows, **queries)
def test_a_restored_self_join_continues(before: list[list[Row]], after: list[list[Row]], **query: Any) -> None:
    app = f"define stream S (k string, v int); {self_join_of(**query)}"
    manager = SiddhiManager()
    uninterrupted: list[Chunk] = []
    restored: list[Chunk] = []
    with manager.create_siddhi_app_runtime(app) as runtime:
        send_all(runtime, before)
        state = runtime.snapshot()
        listen(runtime, uninterrupted)
        send_all(runtime, after)
    with manager.create_siddhi_app_runtime(app) as runtime:
        runtime.restore(state)
        listen(runtime, restored)
        send_all(runtime, after)
    assert restored == uninterrupted
