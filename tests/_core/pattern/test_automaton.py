"""What patterns and sequences find, form by form: events are written as stream, value and time (``A1@1000``)."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest

from siddhi import Event, SiddhiManager
from siddhi.errors import CannotRestoreStateError
from tests.kit.patterns import STREAMS, pattern_of, run, send, started, written

CHAINS = [
    ("e1=A -> e2=B", "A1 A2 B10 A3 B11", "1,10@1002"),
    ("every e1=A -> e2=B", "A1 A2 B10 A3 B11", "1,10@1002 2,10@1002 3,11@1004"),
    ("every (e1=A -> e2=B)", "A1 A2 B10 A3 B11", "1,10@1002 3,11@1004"),
    ("every e1=A -> e2=A[x > e1.x]", "A1 A3 A2 A5", "1,3@1001 3,5@1003 2,5@1003"),
    ("every e1=A -> e2=B within 1 sec", "A1@1000 A2@1500 B10@2000 A3@3000 B11@4001", "1,10@2000 2,10@2000"),
    ("e1=A -> e2=B within 1 sec", "A1@1000 B10@2500 A3@3000 B11@3100", ""),
    ("every (e1=A -> e2=B) within 1 sec", "A1@1000 A2@2500 B3@2600 A4@2700 B5@2800", "2,3@2600 4,5@2800"),
    ("e1=A -> every e2=B", "A1 B2 B3", "1,2@1001 1,3@1002"),
    ("e1=A -> every e2=B within 1 sec", "A1@1000 B2@1100 B3@1200 B4@2100", "1,2@1100 1,3@1200"),
    ("every e1=A -> every e2=B", "A1 B2 A3 B4", "1,2@1001 1,4@1003 3,4@1003"),
]


@pytest.mark.parametrize(("pattern", "events", "expected"), CHAINS)
def test_chains(pattern: str, events: str, expected: str) -> None:
    assert run(f"from {pattern} select e1.x as x, e2.x as y", events) == expected.split()


COUNTS = [
    ("every e1=A<2:4> -> e2=B", "A1 A2 A3 A4 A5 B12 A6 A7 B13", "[1,2,3,4],12@1005 [3,4,5],12@1005 [5,6,7],13@1008"),
    ("every e1=A<1:> -> e2=B", "A1 A2 B4 A5 B7", "[1,2],4@1002 [2],4@1002 [5],7@1004"),
    ("e1=A<0:2> -> e2=B", "B12", "[],12@1000"),
    ("every e1=A<0:2> -> e2=B", "B12 A1 B13 B14", "[],12@1000 [1],13@1002 [],14@1003"),
    ("every (e1=A<2:> -> e2=B)", "A1 A2 A3 B4 A5 A6 B7", "[1,2,3],4@1003 [5,6],7@1006"),
    ("every e1=A<2:> -> e2=B within 1 sec", "A1@1000 A2@1500 A3@2100 B9@2200 A4@3000 A5@3100 B10@3200", ""),
    ("every e1=A+, e2=B", "B1 A2 B3 A4 A5 A6 B7", "[2],3@1002 [4,5,6],7@1006"),
    ("every e1=A*, e2=B", "B1 A2 B3 A4 A5 B6", "[],1@1000 [2],3@1002 [4,5],6@1005"),
    ("every e1=A<2:3>, e2=B", "A1 A2 B3 A4 B5 A6 A7 A8 B9", "[1,2],3@1002 [6,7,8],9@1008"),
]


@pytest.mark.parametrize(("pattern", "events", "expected"), COUNTS)
def test_counting(pattern: str, events: str, expected: str) -> None:
    assert run(f"from {pattern} select e1.x as xs, e2.x as y", events) == expected.split()


def test_a_count_ends_with_an_event_of_one_of_the_next_two_states() -> None:
    # Those of `e3 or e4` are e4 and e3, in this order: e3 does not end e1.
    query = "from e1=A+, e2=A*, e3=A[x > 4] or e4=A select e1.x as x, e2.x as y, e3.x as z, e4.x as w"
    assert run(query, "A1 A8 A63 A2 A9 A5") == ["[1],[],8,-@1001", "[1,8],[],63,-@1002", "[1,8,63],[],-,2@1003"]
    query = "from e1=A<1:> -> e2=B or e3=C -> e4=D select e1.x as x, e3.x as z, e4.x as w"
    assert run(query, "A1 C2 A3 D4") == ["[1],2,4@1003"]
    query = "from e1=A<1:> -> e2=B<:1> -> e3=C or e4=D -> e5=C select e1.x as x, e5.x as y"
    assert run(query, "A1 D2 A3 C4") == ["[1],4@1003"]
    assert run(query, "A1 C2 A3 C4") == ["[1,3],4@1003"]


def test_events_that_a_count_no_longer_collects_are_not_in_its_group() -> None:
    query = "from every e1=A[x == 1]<1:3> -> e2=A -> e3=C within 1 sec select e1.x as x, e2.x as y, e3.x as z"
    assert run(query, "A1@1000 A5@1100 A7@1200 A1@2500 A5@2600 C9@2700") == ["[1],5,9@2700"]


def test_collected_events_are_named_by_their_index() -> None:
    query = (
        "from e1=A<2:4> -> e2=B select e1[0].x as a, e1[3].x as b, e1[last].x as c, e1[last - 1].x as d, "
        "e1[last - 3].x as e, e2[0].x as f, e2[1].x as g, e1 is null as h, e1[3] is null as i, eventTimestamp(e1) as j"
    )
    assert run(query, "A1 A2 A3 B11") == ["1,-,3,2,-,11,-,False,True,1000@1003"]


GROUPS = [
    ("every e1=A and e2=B -> e3=C", "B1 A2 C3 A4 A5 B6 C7", "2,1,3@1002 4,6,7@1006"),
    ("every e1=A -> e2=B and e3=C", "A1 B2 A3 C4 B5", "1,2,4@1003 3,5,4@1004"),
    ("every e1=A or e2=B -> e3=C", "A1 B2 C3 B4 C5", "1,-,3@1002 -,2,3@1002 -,4,5@1004"),
    ("every (e1=A and e2=B and e3=C)", "C1 A2 B3 B4 C5 C6 A7", "2,3,1@1002 7,4,5@1006"),
    ("e1=A or e2=B or e3=C", "C1 A2", "-,-,1@1000"),
    ("every (e1=A and not B) -> e2=C and e3=D", "A1 D2 C3", "1,3,2@1002"),
    ("every e1=A, e2=B and e3=C", "A1 B2 C3 A4 C5 B6 A7 B8 B9 C10", "1,2,3@1002 4,6,5@1005 7,8,10@1009"),
]


@pytest.mark.parametrize(("pattern", "events", "expected"), GROUPS)
def test_groups(pattern: str, events: str, expected: str) -> None:
    assert run(f"from {pattern} select e1.x as x, e2.x as y, e3.x as z", events) == expected.split()


HANDED_ON_AGAIN = [
    ("e0=A<1:>, e1=A[x > 5] and e2=B", "A1 A2 A3 A9 B4", "[1,2,3],9,4@1004"),
    ("every e0=A<1:>, e1=A[x > 5] and e2=B", "A1 A2 A9 B4 A1 A2 A3 A9 B5", "[1,2],9,4@1003 [1,2,3],9,5@1008"),
    ("e0=A<1:>, e3=B<0:>, e1=A and e2=B", "A1 A2 A3 B4", "[1,2,3],3,4@1003"),
    ("e0=A<1:>, (e1=A and e2=B and e3=B)", "A1 A2 B4", "[1],2,4@1002"),
    ("e0=A<1:>, (e1=A[x > 5] and e2=B and e3=B)", "A1 A2 A3 A9 B5", "[1,2,3],9,5@1004"),
    ("e0=A<1:>, (e1=A[x > 5] and e2=B and e3=B), e4=C", "A1 A2 A9 B4 C5", "[1,2],9,4@1004"),
    ("e3=C, e0=A<1:>, e1=A[x > 5] and e2=B[x == e3.x]", "C4 A1 A2 A3 A9 B4", "[1,2,3],9,4@1005"),
    ("e0=A<1:>, (e1=A[x > 5] and e2=B and not C)", "A1 A2 A9 B4", "[1,2],9,4@1003"),
    ("e0=A<1:>, (e1=A[x > 5] and not C for 1 sec and e2=B)", "A1@1000 A2 A3 A9 B4 T@5000", "[1,2,3],9,4@2002"),
]


@pytest.mark.parametrize(("sequence", "events", "expected"), HANDED_ON_AGAIN)
def test_a_count_that_passes_on_several_matches_completes_each_once(sequence: str, events: str, expected: str) -> None:
    runtime = started(f"from {sequence} select e0.x as run, e1.x as x, e2.x as y")
    rows: list[str] = []
    runtime.add_callback("O", lambda found: rows.extend(f"{written(e.data)}@{e.timestamp}" for e in found))
    send(runtime, events)
    send(runtime, "D1 C2 C3")
    at_work = pattern_of(runtime)
    at_work.drop_state(0)
    assert (rows, at_work.alive, at_work.matches.alive_events) == (expected.split(), 0, 0)
    runtime.shutdown()


ABSENCES = [
    ("every e1=A -> not B for 1 sec", "A1@1000 A2@1400 T@2100 T@2500 A3@3000 B@3500 T@5000", "1@2000 2@2400"),
    ("e1=A -> not B[x > e1.x] for 1 sec", "A10@1000 B5@1500 T@2100", "10@2000"),
    ("every e1=A -> not B for 1 sec", "A1@5000 A2@4500 T@7000", "2@5500 1@6000"),
    ("not A for 1 sec -> e1=B", "A@500 B9@900 B1@1400 T@1600 B2@2100 B3", "2@2100"),
    ("every not A for 1 sec -> e1=B", "T@100 B1@1200 B2@1300 T@2300 B3@2400", "1@1200 3@2400"),
    ("not A and e1=B", "B1 B2", "1@1000"),
    ("not A and e1=B", "A1 B2 B3", ""),
    ("every e1=C -> not A and e2=B", "C1 B2 C3 A4 B5 C6 B7", "1@1001 6@1006"),
    ("every e1=C -> not A for 1 sec and e2=B", "C1@1000 B1@1500 T@2100 C2@3000 T@4100 B2@4200", "1@2000 2@4200"),
    (
        "every e1=C -> not A for 1 sec or e2=B",
        "C1@1000 B1@1500 C2@3000 T@4100 C3@5000 A@5100 B3@5200",
        "1@1500 2@4000 3@5200",
    ),
    (
        "every e1=C -> not A for 1 sec and not B for 1 sec",
        "C1@1000 T@2100 C2@3000 A@3500 T@4500 C3@5000 T@6100",
        "1@2000 3@6000",
    ),
    ("every e1=C -> not A for 1 sec or not B for 1 sec", "C1@1000 T@2001 C2@3000 A@3500 T@4001", "1@2000 2@4000"),
    ("e1=A<2:> -> not B for 1 sec", "A1@1000 A2@1100 A3@1500 T@3000", "[1,2,3]@2500"),
    ("e1=A<1:> -> not B for 1 sec and e2=C", "A1@1000 A2@1500 C3@1600 A4@1700 T@3000", "[1,2]@2500"),
    ("every not A[x > 3] and e1=A -> e2=A within 1 sec", "A1@1000 A2@1100 A9@2300 A3@2400 A0@2500", "1@1100 3@2500"),
    ("every not A[x > 3] and e1=A -> e2=B -> e3=A", "A1 A2 B A3", "1@1003 2@1003"),
    ("every (not A and e1=B)", "B1 B2 A B3 B4", "1@1000 2@1001 4@1004"),
    ("every e1=A, not B for 1 sec", "A1@1000 T@2100 A2@3000 B@3500 A3@5000 A4@5500 T@7000", "1@2000 4@6500"),
    ("every not A for 1 sec, e1=B", "T@100 T@1200 B1@1300 A@1500 B2@2000 T@3100 B3@3200", "1@1300 3@3200"),
    ("every e1=C, not A and e2=B", "C1 B2 C3 A4 B5 C6 B7", "1@1001 6@1006"),
]


@pytest.mark.parametrize(("pattern", "events", "expected"), ABSENCES)
def test_absences(pattern: str, events: str, expected: str) -> None:
    assert run(f"from {pattern} select e1.x as x", events) == expected.split()


def test_an_absence_can_be_one_of_several_in_a_sequence() -> None:
    query = "from every e1=A, not B and e2=C and e3=D select e1.x as a, e2.x as b, e3.x as c"
    events = "A1 D2 C4 A5 D6 C7 A8 D9 B1 C2 A3 C4 D5 A6 B7 C8 D9"
    assert run(query, events) == ["1,4,2@1002", "5,7,6@1005", "3,4,5@1012"]
    query = "from every e1=A, e2=C and not B for 1 sec and e3=D select e1.x as a, e2.x as b, e3.x as c"
    assert run(query, "A1@1000 D2@1100 C4@1200 A5@4000 D6@4100 B1@4200 C7@4300 A9@6000") == ["1,4,2@2000"]


def test_the_timer_of_a_removed_match_does_not_affect_a_new_one() -> None:
    query = "from every e1=C, (e2=A or not A for 40 millisec), e3=A select e1.x as x, e2.x as y, e3.x as z"
    events = "C3@1030 A4@1050 A5@1050"
    assert run(query, events) == ["3,4,5@1050"]
    # The wait of the first one ends between C and A, and it has met its A long before.
    assert run(query, "C1@1000 A2@1010 " + events) == ["3,4,5@1050"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("e1=A<1:>, e2=A<0:> within 5 millisec", "[1],[]@1000 [1,2],[]@1001 [1,2,3],[]@1004"),
        ("e1=A -> every (e3=A<0:> -> e2=A) -> e4=A<0:> within 5 millisec", "1,2@1001 1,3@1004"),
    ],
)
def test_an_emitted_match_that_continues_can_expire(pattern: str, expected: str) -> None:
    assert (
        run(f"from {pattern} select e1.x as x, e2.x as y", "A1@1000 A2@1001 A3@1004 A4@1006 A5@1008")
        == expected.split()
    )


SEQUENCES = [
    ("every e1=A, e2=B", "A1 A2 B3 B4 A5 B6", "2,3@1002 5,6@1005"),
    ("every e1=A, e2=B", "A1 C2 B3", "1,3@1002"),
    ("e1=A, e2=B", "A1 B2 A3 B4", "1,2@1001"),
    ("e1=A, e2=B", "B1 A2 B3", ""),
    ("every e1=A, e2=A[x > e1.x]", "A1 A2 A3 A1 A5", "1,2@1001 2,3@1002 1,5@1004"),
    ("every e1=A, e2=B within 1 sec", "A1@1000 B2@2000 A3@3000 B4@4001", "1,2@2000"),
]


@pytest.mark.parametrize(("sequence", "events", "expected"), SEQUENCES)
def test_sequences(sequence: str, events: str, expected: str) -> None:
    assert run(f"from {sequence} select e1.x as x, e2.x as y", events) == expected.split()


def test_a_peak_is_a_rise_and_a_fall() -> None:
    query = (
        "from every e1=A, e2=A[(e2[last].x is null and x >= e1.x) or (not (e2[last].x is null) and x >= e2[last].x)]+, "
        "e3=A[x < e2[last].x] select e1.x as low, e2.x as run, e3.x as end"
    )
    assert run(query, "A29 A25 A35 A40 A30 A31 A20") == ["25,[35,40],30@1004", "30,[31],20@1006"]


def test_aggregates_and_groups_run_over_matches() -> None:
    query = "from every e1=A -> e2=B select e1.x as x, sum(e2.x) as s, count() as n group by e1.x having s > 10L"
    assert run(query, "A1 A1 A2 B10 A1 B5") == ["1,20,2@1003", "1,25,3@1005"]


def test_matches_of_a_stateless_pattern_are_separate_chunks() -> None:
    for query, sizes in (
        ("from every e1=A -> e2=B select e1.x as x", [1, 1]),
        ("from every e1=A -> e2=A[x == 9] select e1.x as x", [2]),
    ):
        runtime = started(query)
        calls: list[int] = []
        runtime.add_query_callback("q", lambda _time, current, _expired, calls=calls: calls.append(len(current or ())))
        send(runtime, "A1 A2 B9" if len(sizes) == 2 else "A1 A2 A9")
        runtime.shutdown()
        assert calls == sizes


def test_a_chunk_of_events_is_processed_before_its_matches_are_emitted() -> None:
    runtime = started("from every e1=A -> e2=A[x > e1.x] select e1.x as x, e2.x as y")
    chunks: list[list[tuple[object, ...]]] = []
    runtime.add_callback("O", lambda found: chunks.append([event.data for event in found]))
    runtime.input_handler("A").send_events([Event(1000, (value,)) for value in (1, 2, 3, 1, 5)])
    runtime.shutdown()
    assert chunks == [[(1, 2)], [(2, 3)], [(3, 5), (1, 5)]]


def test_each_partition_key_has_its_own_matches() -> None:
    app = (
        "@app:playback define stream S (k string, v int); define stream R (k string, w int);"
        "partition with (k of S, k of R) begin from every e1=S -> e2=R[w == e1.v] within 1 sec "
        "select e1.k as k, e2.w as w insert into O; end;"
    )
    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    rows: list[tuple[object, ...]] = []
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    runtime.start()
    for stream, row in (("S", ("a", 1)), ("S", ("b", 2)), ("R", ("a", 2)), ("R", ("b", 2)), ("R", ("a", 1))):
        runtime.input_handler(stream).send(row, timestamp=1000)
    runtime.shutdown()
    assert rows == [("b", 2), ("a", 1)]


def test_keys_of_every_type_find_their_partial_match() -> None:
    columns = "i int, l long, f float, d double, b bool, s string"
    for name, one, other in (
        ("i", 1, 2),
        ("l", 1, 2),
        ("f", 0.5, 1.5),
        ("d", -0.0, 1.0),
        ("b", True, False),
        ("s", "a", "b"),
    ):
        app = (
            f"@app:playback define stream S ({columns}); define stream R ({columns});"
            f"from every e1=S -> e2=R[{name} == e1.{name} and i >= e1.i] select e1.i as x, e2.i as y insert into O;"
        )
        runtime = SiddhiManager().create_siddhi_app_runtime(app)
        rows: list[tuple[object, ...]] = []
        runtime.add_callback("O", lambda found, rows=rows: rows.extend(event.data for event in found))
        runtime.start()

        def row(value: object, i: int, name: str = name) -> tuple[object, ...]:
            values = dict.fromkeys("ilfdbs") | {"i": i, name: i if name == "i" and value is not None else value}
            return tuple(values.values())

        handlers = {stream: runtime.input_handler(stream) for stream in "SR"}
        handlers["S"].send(row(None, 0), timestamp=1)
        handlers["S"].send(row(one, 1), timestamp=2)
        handlers["S"].send(row(other, 2), timestamp=3)
        handlers["R"].send(row(None, 3) if name != "i" else (None,) * 6, timestamp=4)
        handlers["R"].send(row(other, 2), timestamp=5)
        handlers["R"].send(row(0.0 if name == "d" else one, 1), timestamp=6)
        runtime.shutdown()
        assert rows == [(2, 2), (1, 1)], name


KEYED = [
    ("every e1=A -> not B[x == e1.x] for 1 sec", "A1@1000 A2@1000 A1@1100 B1@1200 T@3000", "2@2000"),
    ("every e1=A -> e2=B[x == e1.x]<2> -> e3=C", "A1 A2 B1 B2 B3 B1 C9 B2 C9", "1@1006 2@1008"),
    ("every e1=A -> e2=B[x == e1.x] and e3=C[x == e1.x]", "A1 A2 C2 B1 C1 B2", "1@1004 2@1005"),
    ("every e1=A -> not B[x == e1.x] and e2=C[x == e1.x]", "A1 A2 B1 C1 C2", "2@1004"),
    ("every e1=A -> e2=B[x == e1.x] or e3=C[x == e1.x]", "A1 A2 A3 B2 C1 C2 C3", "2@1003 1@1004 3@1006"),
    (
        "every e1=A -> not B[x == e1.x] for 1 sec or e2=C[x == e1.x]",
        "A1@1000 A2@1000 A3@1000 B2@1100 C3@1200 T@3000",
        "3@1200 1@2000",
    ),
]


@pytest.mark.parametrize(("pattern", "events", "expected"), KEYED)
def test_states_of_every_kind_find_their_partial_match_by_key(pattern: str, events: str, expected: str) -> None:
    assert run(f"from {pattern} select e1.x as x", events) == expected.split()


@pytest.mark.parametrize(("pattern", "events"), [(pattern, events) for pattern, events, _ in KEYED])
def test_partial_matches_found_by_key_are_released(pattern: str, events: str) -> None:
    runtime = started(f"from {pattern} within 10 sec select e1.x as x")
    send(runtime, events)
    at_work = pattern_of(runtime)
    state = runtime.snapshot()
    runtime.restore(state)
    assert runtime.snapshot() == state
    send(runtime, "C77@20000")
    assert (at_work.alive, at_work.matches.alive_events) == (0, 0)
    runtime.shutdown()


def test_a_failed_filter_fails_only_its_event() -> None:
    app = (
        "@app:name('p') @app:playback define function odd[python] return bool "
        f"{{ if data[0] == 7: raise ValueError('seven')\nreturn data[0] % 2 == 1 }};{STREAMS}"
        "@info(name='q') from every e1=A -> e2=B[odd(x)] select e1.x as x, e2.x as y insert into O;"
    )
    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    failures: list[str] = []
    runtime.handle_exception_with(lambda error, *_: failures.append(str(error)))
    rows: list[tuple[object, ...]] = []
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    runtime.start()
    send(runtime, "A1 B7 B4 B9 A2 B5")
    runtime.shutdown()
    assert rows == [(1, 9), (2, 5)]
    assert len(failures) == 1
    assert "seven" in failures[0]


def test_an_emitted_match_can_be_inserted_into_its_input() -> None:
    runtime = started("from every e1=A -> e2=A[x == e1.x + 1] select e1.x as x, e2.x as y")
    rows: list[tuple[object, ...]] = []

    def again(found: list[Event]) -> None:
        for event in found:
            rows.append(event.data)
            if event.data[1] < 5:
                runtime.input_handler("A").send((event.data[1] + 1,), timestamp=2000)

    runtime.add_callback("O", again)
    send(runtime, "A1 A2")
    runtime.shutdown()
    assert rows == [(1, 2), (2, 3), (3, 4), (4, 5)]


def test_expired_partial_matches_are_released() -> None:
    runtime = started("from every e1=A -> e2=B[x == e1.x] within 100 millisec select e1.x as x")
    pattern = pattern_of(runtime)
    handler = runtime.input_handler("A")
    for start in range(0, 20_000, 1_000):
        time = np.arange(start, start + 1_000, dtype=np.int64)
        handler.send_batch({"x": time.astype(np.int32), "ts": time}, timestamp="ts")
        assert pattern.alive <= 101
        assert pattern.matches.alive_events <= 101
    send(runtime, "B1@50000")
    assert (pattern.alive, pattern.matches.alive_events) == (0, 0)
    runtime.shutdown()


def test_a_million_expired_partial_matches_do_not_grow_memory() -> None:
    runtime = started("from every e1=A -> e2=B[x == e1.x] within 100 millisec select e1.x as x")
    pattern = pattern_of(runtime)
    handler = runtime.input_handler("A")
    held = set()
    for start in range(0, 1_000_000, 10_000):
        time = np.arange(start, start + 10_000, dtype=np.int64)
        handler.send_batch({"x": (time * 2_654_435_761 % 2**31).astype(np.int32), "ts": time}, timestamp="ts")
        held.add((pattern.alive, pattern.matches.alive_events, pattern.matches.reserved_bytes))
    assert len(held) == 1, "what is held, and the memory for it, is the same after the first ten thousand and the last"
    runtime.shutdown()


def test_keys_that_share_an_index_bucket_are_distinguished() -> None:
    """A model of the index: random keys, few enough to meet again, that begin, wait for a while, are found and expire."""
    runtime = started("from every e1=A -> e2=B[x == e1.x] within 40 millisec select e1.x as x, e2.x as y")
    rows: list[tuple[int, ...]] = []
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    random = np.random.default_rng(4)
    waiting: list[tuple[int, int]] = []
    for time in range(1, 20_001):
        key = int(random.integers(60)) * 0x1000193
        key = (key + 2**31) % 2**32 - 2**31
        waiting = [(other, since) for other, since in waiting if since >= time - 40]
        if random.integers(2):
            runtime.input_handler("A").send((key,), timestamp=time)
            waiting.append((key, time))
        else:
            before = len(rows)
            runtime.input_handler("B").send((key,), timestamp=time)
            assert rows[before:] == [(key, key)] * sum(other == key for other, _ in waiting)
            waiting = [(other, since) for other, since in waiting if other != key]
    runtime.shutdown()
    assert len(rows) > 1_000


def test_a_collected_app_releases_its_partial_matches() -> None:
    app = f"{STREAMS}from every e1=A -> e2=B[x == e1.x] -> not C for 1 hour select e1.x as x insert into O;"
    for _ in range(20):
        runtime = SiddhiManager().create_siddhi_app_runtime(app)
        runtime.add_callback("O", lambda found, runtime=runtime: runtime)  # a cycle for the collector
        runtime.start()
        for value in range(50):
            runtime.input_handler("A").send((value,))
            runtime.input_handler("B").send((value // 2,))
        del runtime
        gc.collect()


def damaged(change: Callable[[bytearray], None]) -> None:
    runtime = started("from every e1=A<1:2> -> e2=B[x == e1[0].x] -> not C for 1 sec select e1.x as x")
    send(runtime, "A1 A2 B1")
    state = bytearray(runtime.snapshot())
    change(state)
    before = runtime.snapshot()
    with pytest.raises(CannotRestoreStateError):
        runtime.restore(bytes(state))
    assert runtime.snapshot() == before
    pattern = pattern_of(runtime)
    pattern.drop_state(0)
    assert (pattern.alive, pattern.matches.alive_events) == (0, 0)
    runtime.shutdown()


def test_a_damaged_snapshot_changes_nothing() -> None:
    damaged(lambda state: state.__delitem__(slice(-20, None)))
    damaged(lambda state: state.__setitem__(-9, state[-9] ^ 0xFF))


def test_a_leading_absence_counts_from_the_start() -> None:
    runtime = started("from not A for 1 hour -> e1=B select e1.x as x", playback=False)
    before = runtime.now
    assert runtime.next_due is not None
    assert 0 <= runtime.next_due - 3_600_000 <= before
    runtime.shutdown()


@pytest.mark.parametrize(
    ("query", "events", "expected"),
    [
        ("every e1=A<2:> -> e2=B", "A1@1000 A2@1100 A3@2200 A4@2300 B9@2400", [([3, 4], 9)]),
        ("every e1=A<1:> -> e2=B -> e3=C", "A1@1000 B1@1100 A3@2200 B4@2300 C9@2400", [([3], 4)]),
        ("every (e1=A<1:> -> e2=B)", "A1@1000 B1@1100 A3@2200 B4@2300", [([1], 1), ([3], 4)]),
        ("every (e1=A<2:> -> e2=B)", "A1@1000 A2@1100 A3@2200 A4@2300 B9@2400", [([3, 4], 9)]),
    ],
)
def test_an_expired_count_behind_its_group_does_not_start_it_again(
    query: str, events: str, expected: list[tuple[object, ...]]
) -> None:
    runtime = started(f"from {query} within 1 sec select e1.x as x, e2.x as y")
    rows: list[tuple[object, ...]] = []
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    send(runtime, events)
    runtime.shutdown()
    assert rows == expected


def test_expired_counts_do_not_accumulate() -> None:
    runtime = started("from every e1=A<2:> -> e2=B within 100 millisec select e1.x as x")
    handler = runtime.input_handler("A")
    for i in range(3000):
        handler.send((i,), timestamp=1000 + i)
    assert pattern_of(runtime).alive < 100
    runtime.shutdown()
