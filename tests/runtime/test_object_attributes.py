"""Objects as group keys, as values that are counted, and in order."""

from __future__ import annotations

import pytest

from tests.kit.running import collect_events, running

ROWS = [([1], 1), ((1, 2), 2), ((1, 2), 3), ("x", 4), ([1], 5), ({"k": [1]}, 6), ({"k": [1]}, 7), (bytearray(b"z"), 8)]


def play(query, rows):
    with running(f"@app:playback define stream S (a object, v int); {query}") as runtime:
        failures = []
        runtime.handle_exception_with(lambda error, origin, events: failures.append(error))
        chunks = collect_events(runtime, "Out")
        for time, row in enumerate(rows):
            runtime.input_handler("S").send(row, time)
        assert not failures
        return [[event.data for event in chunk] for chunk in chunks]


@pytest.mark.parametrize("length", [1, 2, 3, 9])
def test_unhashable_objects_are_grouped_by_content_and_leave_their_group(length):
    query = "select a, min(v) as m, count() as n group by a insert into Out;"
    got = play(f"from S#window.length({length}) {query}", ROWS)
    for at, chunk in enumerate(got):
        held = [row for row in ROWS[max(0, at + 1 - length) : at + 1] if row[0] == ROWS[at][0]]
        assert chunk == [(ROWS[at][0], min(v for _, v in held), len(held))]


@pytest.mark.parametrize("length", [1, 2, 3, 9])
def test_unhashable_values_are_counted_by_content(length):
    got = play(f"from S#window.length({length}) select distinctCount(a) as n insert into Out;", ROWS)
    held = [[row[0] for row in ROWS[max(0, at + 1 - length) : at + 1]] for at in range(len(ROWS))]
    assert got == [[(len({repr(value) for value in values}),)] for values in held]


def test_objects_of_all_kinds_are_ordered_by_their_hashes():
    rows = [([1], 1), ((1, 2), 2), (3, 3), ("x", 4), (None, 5), (True, 6), (2**40, 7), (1.0, 8), ({1: 2}, 9), ("", 10)]
    query = "from S#window.lengthBatch(10) select v, a order by a insert into Out;"
    # Java's hashes: 0, 3, 3, 32, 120, 256, 994, 1231, 1072693248 for 1.0; null comes last.
    assert [v for v, _ in play(query, rows)[0]] == [10, 3, 9, 1, 4, 7, 2, 6, 8, 5]
    assert [v for v, _ in play(query.replace("order by a", "order by a desc"), rows)[0]][:2] == [8, 6]
