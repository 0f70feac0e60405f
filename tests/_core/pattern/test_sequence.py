"""What sequences and patterns make of absences, alone and in groups: what arms a step, what an event that its filter takes
or rejects does to it, and when it is over for good. Random ones are compared with a twin in tests/property."""

from __future__ import annotations

import pytest

from siddhi import SiddhiManager
from siddhi.runtime.app import SiddhiAppRuntime
from tests.kit.patterns import EVENT, run, written

KEYED = "".join(f"define stream {stream} (k string, x int);\n" for stream in "ABCDT")

LEADING_ABSENCE = [
    # Without `every` an A ends a sequence for good, and so does a second event of any kind before the time is over.
    ("not A[x > 2] for 1 sec, e1=B", "A5@1100 B7@3200", ""),
    ("not A[x > 2] for 1 sec, e1=B", "A1@1100 B7@3200", "7@3200"),
    ("not A[x > 2] for 1 sec, e1=B", "A1@1100 A1@1200 B7@3200 B8@5000", ""),
    ("not A[x > 2] for 1 sec, e1=B", "B6@1100 B7@3200 B8@3300", "7@3200"),
    ("not A[x > 2] for 1 sec, e1=B", "A1@1100 B7@3200 A5@3300 B8@5200", "7@3200"),
    ("not A[x > 2] for 1 sec -> e1=B", "A5@1100 B7@3200", "7@3200"),
    ("not A[x > 2] for 1 sec -> e1=B", "A1@1100 A1@1200 B7@3200 B8@5000", "7@3200"),
    # With it, and where the second step has an absence, the time begins with each A.
    ("every not A[x > 2] for 1 sec, e1=B", "A5@1100 B7@3200 B8@3250 A5@3300 A5@4200 B9@5200", "7@3200 9@5200"),
    ("not A[x > 2] for 1 sec, not C and e1=B", "A5@1100 A1@1200 B7@3200", "7@3200"),
]

LEADING_GROUP_WITHOUT_TIME = [
    # An A lets the next B be swallowed; then the group begins again.
    ("every (not A and e1=B), e2=C", "A0 B1 C1 B2 C2", "2,2@1004"),
    ("every (e1=B and not A), e2=C", "A0 B1 C1 B2 C2", "2,2@1004"),
    ("every (not A and e1=B) -> e2=C", "A0 B1 C1 B2 C2", "2,2@1004"),
    ("every (e1=B and not A) -> e2=C", "A0 B1 C1 B2 C2", "2,2@1004"),
    ("every (not A and e1=B), e2=C", "B0 C0 A0 B1 C1 B2 C2 A0 A0 B3 C3 B4 C4", "0,0@1001 2,2@1006 4,4@1012"),
    ("every (not A and e1=B), e2=C", "A0 A0 A0 B1 C1 B2 C2", "2,2@1006"),
    ("every (not A[x > 2] and e1=B), e2=C", "A1 B1 C1 A3 C0 B2 C2 B3 C3", "1,1@1002 3,3@1008"),
    # The same holds if other elements of the `every` group come before or after it.
    ("every (not A and e1=B -> e2=C)", "B1 C1 A9 B2 C2 B3 C3 B4 C4", "1,1@1001 3,3@1006 4,4@1008"),
    ("every (e1=B and not A -> e2=C)", "B1 C1 A9 B2 C2 B3 C3 B4 C4", "1,1@1001 3,3@1006 4,4@1008"),
    ("every (e1=C -> not A and B -> e2=D)", "C1 A9 B1 D1 B2 D2 C3 B3 D3 C4 B4 D4", "3,3@1008 4,4@1011"),
    ("every (e1=C -> B and not A -> e2=D)", "C1 A9 B1 D1 B2 D2 C3 B3 D3 C4 B4 D4", "3,3@1008 4,4@1011"),
    ("D -> every (not A and e1=B -> e2=C)", "D0 A9 B1 C1 B2 C2 B3 C3", "2,2@1005 3,3@1007"),
    # A B that its filter rejects is not swallowed, and ends nothing.
    ("every (not A and e1=B[x > 2]), e2=C", "A0 B1 C1 B3 C3 B4 C4", "4,4@1006"),
    ("every (not A and e1=B[x > 2]), e2=C", "B1 B3 C3 B1 C0 B4 C4", "3,3@1002 4,4@1006"),
    ("every (e1=B[x > 2] and not A[x > 2]), e2=C", "A1 B3 C3 A1 A3 B4 C4 B5 C5", "3,3@1002 5,5@1008"),
    ("(not A and e1=B), e2=C", "A0 B1 C1 B2 C2", ""),
    ("(not A and e1=B) -> e2=C", "A0 B1 C1 B2 C2", ""),
]

LEADING_GROUP_WITH_TIMES = [
    # Each absence has its time; one event that must not come ends neither the other's nor what comes later.
    ("every (not A[x > 2] for 1 sec or not B[x > 2] for 1 sec), e1=C", "T@1000 A5@1500 C1@2100 B5@2400 C2@3200", "1 2"),
    (
        "every (not A[x > 2] for 1 sec or not B[x > 2] for 1 sec) -> e1=C",
        "T@1000 A5@1500 C1@2100 B5@2400 C2@3200",
        "1 2",
    ),
    (
        "every (not A[x > 2] for 1 sec or not B[x > 2] for 1 sec), e1=C",
        "A1@1500 C1@2600 A1@2700 C2@3700 C3@4700",
        "1 2 3",
    ),
    ("every (not A[x > 2] for 1 sec or not B[x > 2] for 1 sec), e1=C", "A5@1500 B5@1600 C1@2300 C2@3000", "2"),
    ("every (not A[x > 2] for 1 sec or not B[x > 2] for 1 sec), e1=C", "A1@1500 A1@1600 A1@1700 C1@2600", "1"),
    (
        "every (not A[x > 2] for 1 sec or not B[x > 2] for 1 sec), e1=C",
        "C0@1000 C0@1900 C1@2100 C0@2900 C3@3100",
        "1 3",
    ),
    ("every (not A[x > 2] for 1 sec and not B[x > 2] for 2 sec), e1=C", "T@1000 A1@1500 B1@1600 C1@2900 C2@3100", "2"),
    ("every (not A[x > 2] for 1 sec and not B[x > 2] for 2 sec), e1=C", "T@1000 B5@2500 C1@3100 C2@4600", "2"),
    ("every (not A for 1 sec and e1=B), e2=C", "T@1000 B1@1500 C1@2100 C2@2200 B2@2500 C3@2600 C4@3100", "1 2"),
    ("every (e1=B and not A for 1 sec), e2=C", "T@1000 B1@1500 A0@1600 C1@2700 B2@2800 C2@2900", "2"),
    ("(not A for 1 sec or not B for 1 sec), e1=C", "B0@1000 A0@1100 C1@2050 C2@4000", "1"),
    # What one absence has done does not move the time of the other.
    ("every (not A for 2 sec or not B for 1 sec), e1=C", "T@1000 B0@1300 C4@2300 C5@3000", "4@2300 5@3000"),
    ("every (not B for 1 sec or not A for 2 sec), e1=C", "T@1000 B0@1300 C4@2300 C5@3000", "4@2300 5@3000"),
    ("every (not A for 1 sec or not B for 1 sec), e1=C", "T@1000 A4@1700 C4@2700 C3@3000", "4@2700 3@3000"),
    ("every (not B for 1 sec or not A for 1 sec), e1=C", "T@1000 A4@1700 C4@2700 C3@3000", "4@2700 3@3000"),
    ("every (not A for 20 sec and e1=B), e2=C", "T@1000 B1@30000 C1@30001 B2@41001 C2@41002", "1 2"),
    ("every (e1=B and not A for 20 sec), e2=C", "T@1000 B1@30000 C1@30001 B2@41001 C2@41002", "1 2"),
]

SECOND_STEP_WITH_ABSENCE = [
    # A sequence without `every` arms again while nothing waits there.
    ("e1=A[x > 2], not B for 200 milliseconds", "A6@1000 A0@1050 A5@1100 T@1500", "5@1300"),
    ("e1=A[x > 2], not B for 200 milliseconds", "B0@1000 A0@1050 A5@1100 B0@1200 A6@1300 T@1500", "6@1500"),
    ("e1=A[x > 2], not B and e2=C", "C1 A5 C2", "5,2@1002"),
    ("e1=A[x > 2], e2=C and not B", "C1 A5 C2", "5,2@1002"),
    ("e1=A[x > 2], not B and e2=C", "A5 B0 A6 C2 C3 A7 C4", "6,2@1003 7,4@1006"),
    ("e1=A[x > 2], not B for 200 milliseconds and e2=C", "C1@1000 A5@1100 C2@1200 T@1400", "5,2@1300"),
    ("e1=A[x > 2], not B for 200 milliseconds or e2=C", "C1@1000 A5@1100 C2@1200 A6@1300 T@1600", "5,2@1200 6,-@1500"),
    ("e1=A[x > 2], not B for 200 milliseconds or not C for 100 milliseconds", "C1@1000 A5@1100 T@1600", "5@1200"),
    ("e1=A[x > 2], not B for 200 milliseconds, e2=C", "C1@1000 A5@1100 C2@1200 A6@1300 C3@1600", "6,3@1600"),
    # An absence whose filter rejected an event, or that is fulfilled, waits no longer, in any order of the operands.
    ("e1=A[x > 2], not B[x > 2] and e2=C", "A5 B1 A6 C9", "5,9@1003 6,9@1003"),
    ("e1=A[x > 2], e2=C and not B[x > 2]", "A5 B1 A6 C9", "5,9@1003 6,9@1003"),
    ("e1=A[x > 2], (not B for 1 sec and e2=C)", "A5@1000 C1@1100 A6@1200 C2@1300 T@3000", "5,1@2000"),
    ("e1=A[x > 2], (e2=C and not B for 1 sec)", "A5@1000 C1@1100 A6@1200 C2@1300 T@3000", "5,1@2000"),
    ("e1=A[x > 2], (not B for 1 sec and e2=C)", "A5@1000 T@2100 A6@2200 C2@2300 T@5000", "5,2@2300 6,2@3200"),
    ("e1=A[x > 2], (e2=C and not B for 1 sec)", "A5@1000 T@2100 A6@2200 C2@2300 T@5000", "5,2@2300 6,2@3200"),
    ("e1=A[x > 2], (not B[x > 2] for 1 sec and not C for 1 sec)", "A5@1000 B1@1100 A6@1200 T@3000", "5@2000"),
    ("e1=A[x > 2], (not C for 1 sec and not B[x > 2] for 1 sec)", "A5@1000 B1@1100 A6@1200 T@3000", "5@2000"),
    ("e1=A[x > 2], e2=C", "C1 A5 C2", ""),
    ("e1=A[x > 2], e2=C, not B for 200 milliseconds", "C1@1000 A5@1100 C2@1200 T@1600", ""),
]

GROUPS_BEHIND = [
    # What must not come ends the match, before or after one that its filter rejects.
    ("every e1=A[x > 2], e2=C and not B[x > 2]", "A5 B1 C2", "5,2@1002"),
    ("every e1=A[x > 2], not B[x > 2] and e2=C", "A5 B1 C2", "5,2@1002"),
    ("every e1=A[x > 2] -> e2=C and not B[x > 2]", "A5 B1 C2", "5,2@1002"),
    ("every e1=A[x > 2], e2=C and not B[x > 2]", "A5 B3 C2", ""),
    ("every e1=A[x > 2], e2=C and not B[x > 2]", "A5 B1 B3 C2", ""),
    ("every e1=A[x > 2], not B[x > 2] and e2=C", "A5 B1 B3 C2", ""),
    ("every e1=A[x > 2] -> not B[x > 2] and e2=C", "A5 B1 B3 C2", ""),
    ("every e1=A[x > 2], not B[x > 2] and e2=C", "A5 B3 B1 C2 A6 C3", "6,3@1005"),
    ("every e1=A[x > 2], not B[x > 2] and e2=C", "A5 B1 B1 B1 C2", "5,2@1004"),
    ("every e1=A, not B[x == e1.x] and e2=C", "A5 B1 C2 A6 B6 C3", "5,2@1002"),
    ("every e1=A, not B[x == e1.x] and e2=C", "A5 B1 B5 C2", ""),
    ("e1=A, e2=C and not B[x > 2] for 1 sec", "A5@1000 B1@1100 C2@1200 T@3000", "5,2@2000"),
    ("e1=A, not B[x > 2] for 1 sec and e2=C", "A5@1000 C2@1100 B1@1200 C3@1300 T@3000", "5,2@2000"),
    ("e1=A, not B[x > 2] for 1 sec and e2=C", "A5@1000 B1@1100 C2@1200 B3@1300 T@3000", ""),
    ("e1=A, not B[x > 2] for 1 sec and not C for 1 sec", "A5@1000 B1@1100 T@3000", "5@2000"),
    ("e1=A, not B[x > 2] for 1 sec or not C for 2 sec", "A5@1000 B1@1100 T@4000", "5@2000"),
    # Of two absences in an `or`, one that is over is enough in a pattern; a sequence ends with either event.
    ("e1=A, (not B for 1 sec or not C for 1 sec)", "A5@1000 B0@1200 T@3000", ""),
    ("e1=A, (not B for 1 sec or not C for 1 sec)", "A5@1000 C0@1200 T@3000", ""),
    ("e1=A, (not B for 1 sec or not C for 1 sec)", "A5@1000 T@3000", "5@2000"),
    ("e1=A -> (not B for 1 sec or not C for 1 sec)", "A5@1000 B0@1200 T@3000", "5@2000"),
    ("e1=A -> (not B for 1 sec or not C for 1 sec)", "A5@1000 B0@1200 C0@1300 T@3000", ""),
    ("e1=A, (not B for 1 sec or not C for 1 sec), e2=D", "A5@1000 C0@1200 D1@2500", ""),
    ("e1=A, (not B for 1 sec or not C for 1 sec), e2=D", "A5@1000 D1@2500", "5,1@2500"),
]

ONE_EVENT = [
    # A wait for a time bears one event that does not end it, and not two; so does an `or`. An `and` bears any number once
    # one of its operands has its event or has passed one over.
    ("every e1=A, not B[x > 2] for 1 sec", "A5@1000 B1@1200 T@3000", "5@2000"),
    ("every e1=A, not B[x > 2] for 1 sec", "A5@1000 B1@1200 B1@1300 T@3000", ""),
    ("every e1=A[x > 2], not B for 1 sec", "A5@1000 A0@1200 T@3000", "5@2000"),
    ("every e1=A[x > 2], not B for 1 sec", "A5@1000 A0@1200 A0@1300 T@3000", ""),
    ("every e1=A -> not B[x > 2] for 1 sec", "A5@1000 B1@1200 B1@1300 T@3000", "5@2000"),
    ("every e1=A, (not B[x > 2] for 1 sec or e2=C)", "A5@1000 B1@1200 T@3000", "5,-@2000"),
    ("every e1=A, (not B[x > 2] for 1 sec or e2=C)", "A5@1000 B1@1200 C2@1300 T@3000", ""),
    ("every e1=A, (e2=C or not B[x > 2] for 1 sec)", "A5@1000 B1@1200 B1@1300 T@3000", ""),
    ("every e1=A, (not B[x > 2] for 1 sec or not C[x > 2] for 1 sec)", "A5@1000 B1@1200 T@3000", "5@2000"),
    ("every e1=A, (not B[x > 2] for 1 sec or not C[x > 2] for 1 sec)", "A5@1000 B1@1200 C1@1300 T@3000", ""),
    ("every e1=A, (not B[x > 2] for 1 sec and not C[x > 2] for 1 sec)", "A5@1000 B1@1200 C1@1300 B1@1400 T@3000", "5"),
    ("every e1=A, (e2=C and not B[x > 2] for 1 sec)", "A5@1000 B1@1200 B1@1250 C2@1300 B1@1400 T@3000", "5,2@2000"),
]

COUNT_OF_NONE = [
    # What waits behind a count that needs no event waits from the first instant, or from the first event of its key.
    ("e1=A<0:2> -> not C for 10 milliseconds", "A3@1007 T@1025", "[3]@1017"),
    ("every e1=A<0:2> -> not C for 10 milliseconds", "A3@1007 T@1025", "[3]@1017"),
    ("every e1=A?, not C for 10 milliseconds", "A3@1007 T@1025", "[3]@1017"),
    ("e1=A*, not C for 10 milliseconds", "A3@1007 T@1025", "[3]@1017"),
    ("every e1=A<0:2>, not C for 10 milliseconds within 30 milliseconds", "A3@1007 T@1025", "[3]@1017"),
    ("every e1=A<0:2> -> not C for 10 milliseconds within 30 milliseconds", "A3@1007 T@1025", "[3]@1017"),
    ("every e1=A<0:2>, (not A for 10 milliseconds or not A[x > 1] for 20 milliseconds)", "A3@1007 T@1025", "[3]@1017"),
    ("every e1=A[x > 2]<0:1> -> not C for 1 sec", "A0@1700000000000 T@1700000001500", "[]@1700000001000"),
    ("every e1=A<0:2>, e2=B<0:1>, not C for 10 milliseconds", "A3@1007 T@1025", "[3],[]@1017"),
]

CASES = (
    LEADING_ABSENCE + LEADING_GROUP_WITHOUT_TIME + LEADING_GROUP_WITH_TIMES + SECOND_STEP_WITH_ABSENCE + GROUPS_BEHIND
)
CASES += ONE_EVENT


class Player:
    """One query, of which everything that comes out for one key is noted as ``values@time``."""

    def __init__(self, pattern: str, *, partitioned: bool = False, key: str = "e1.k") -> None:
        references = [f"e{n}" for n in (1, 2) if f"e{n}=" in pattern]
        self.selected = ", ".join(f"{reference}.x as {reference}" for reference in references)
        query = f"from {pattern} select {self.selected} insert into O;"
        if partitioned:
            keys = ", ".join(f"k of {stream}" for stream in "ABCD")
            query = (
                f"partition with ({keys}) begin from {pattern} select {key} as k, {self.selected} insert into O; end;"
            )
        self.app = f"@app:name('p') @app:playback {KEYED} {query}"
        self.partitioned = partitioned
        self.rows: list[str] = []
        self.runtime = self.start()
        self.now = 999

    def start(self) -> SiddhiAppRuntime:
        runtime = SiddhiManager().create_siddhi_app_runtime(self.app)
        runtime.start()
        runtime.add_callback("O", self.note)
        return runtime

    def note(self, events: list) -> None:  # type: ignore[type-arg]
        for event in events:
            if not self.partitioned:
                self.rows.append(f"{written(event.data)}@{event.timestamp}")
            elif event.data[0] == "a":
                self.rows.append(f"{written(event.data[1:])}@{event.timestamp}")

    def send(self, event: str, *, keys: str = "a") -> None:
        found = EVENT.fullmatch(event)
        assert found is not None, event
        stream, value, at = found.groups()
        self.now = int(at) if at else self.now + 1
        for key in keys:
            self.runtime.input_handler(stream).send((key, int(value or 0)), timestamp=self.now)

    def interrupt(self) -> None:
        state = self.runtime.snapshot()
        self.runtime.shutdown()
        self.runtime = self.start()
        self.runtime.restore(state)
        assert self.runtime.snapshot() == state

    def finish(self, expected: str) -> list[str]:
        """What came out, as detailed as the expectation is."""
        self.runtime.shutdown()
        if "@" in expected:
            return self.rows
        return [row.split("@")[0].split(",")[0] for row in self.rows]


@pytest.mark.parametrize(("pattern", "events", "expected"), CASES)
def test_absences_and_groups_follow_the_rules(pattern: str, events: str, expected: str) -> None:
    player = Player(pattern)
    for event in events.split():
        player.send(event)
    assert player.finish(expected) == expected.split()


@pytest.mark.parametrize(("pattern", "events", "expected"), CASES)
def test_a_restore_between_any_two_events_changes_nothing(pattern: str, events: str, expected: str) -> None:
    player = Player(pattern)
    for event in events.split():
        player.send(event)
        player.interrupt()
    assert player.finish(expected) == expected.split()


@pytest.mark.parametrize(
    ("pattern", "events", "expected"), [case for case in CASES if "e1=" in case[0] and not case[1].startswith("T")]
)
def test_each_partition_key_has_its_own_steps(pattern: str, events: str, expected: str) -> None:
    player = Player(pattern, partitioned=True)
    for event in events.split():
        player.send(event, keys="abc")
    assert player.finish(expected) == expected.split()
    keys = Player(pattern, partitioned=True)
    for at, event in enumerate(events.split()):
        keys.send(event, keys="ab" if at % 2 else "ca")
    assert keys.finish(expected) == expected.split()


@pytest.mark.parametrize("at", [None, 0, 1])
@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize(("pattern", "events", "expected"), COUNT_OF_NONE)
def test_the_time_after_an_empty_count_runs_from_the_start(
    pattern: str, events: str, expected: str, partitioned: bool, at: int | None
) -> None:
    player = Player(pattern, partitioned=partitioned, key="'a'")
    for number, event in enumerate(events.split()):
        if number == at:
            player.interrupt()
        player.send(event)
    assert player.finish(expected) == expected.split()


@pytest.mark.parametrize(
    "behind",
    [
        "not B for 1 sec",
        "(not B for 1 sec and not C for 1 sec)",
        "(not B for 1 sec or not C for 1 sec)",
        "(e2=B or not C for 1 sec)",
    ],
)
def test_an_empty_count_starts_again_when_only_time_has_passed(behind: str) -> None:
    player = Player(f"every e1=A<0:2> -> {behind}")
    for event in ("T@1000", "T@2500", "T@4200"):
        player.send(event)
    player.runtime.shutdown()
    assert [row.split("@")[1] for row in player.rows] == ["2000", "3000", "4000"]


@pytest.mark.parametrize("group", ["e2=B or e3=C", "e3=C or e2=B", "e2=B or e3=C or e4=D", "e4=D or e3=C or e2=B"])
def test_a_count_ends_with_any_operand_of_the_next_group(group: str) -> None:
    rows = run(f"from e1=A<1:> -> ({group}) -> e5=D select e1.x as xs", "A1 B2 A3 D4")
    assert rows == ["[1]@1003"]


@pytest.mark.parametrize("group", ["e2=A or e3=C[x < 3]", "e3=C[x < 3] or e2=A"])
def test_an_optional_first_count_restarts_after_either_operand(group: str) -> None:
    query = f"from every e1=A<0:>, ({group}), e4=A within 8 milliseconds select e1[0].x as x, e2.x as y, e4.x as z"
    events = "C4@1007 A4@1014 A4@1015 B1@1018 A4@1019 B2@1020 A3@1023 A0@1026"
    assert run(query, events) == ["-,4,4@1015", "4,4,4@1019", "4,4,3@1023", "4,3,0@1026"]
