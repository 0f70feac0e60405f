"""Limits of partial matches: which events are refused, and which matches are dropped."""

from __future__ import annotations

import logging

import pytest

from siddhi import Event, SandboxPolicy, SiddhiManager
from siddhi.errors import LimitExceededError
from siddhi.runtime.app import SiddhiAppRuntime
from tests.kit.patterns import STREAMS, pattern_of, send, started

REFUSED = (
    "query 'q' holds 2 partial matches, and @info(max.partial.matches = '2') allows no more: the row was refused; "
    "raise the limit, end old ones with 'within', or drop them with partial.matches.overflow = 'drop.oldest'"
)


def test_at_the_limit_an_event_is_refused() -> None:
    runtime = started("from every e1=A -> e2=B select e1.x as x", info="name='q', max.partial.matches='2'")
    failures: list[BaseException] = []
    rows: list[tuple[object, ...]] = []
    runtime.handle_exception_with(lambda error, *_: failures.append(error))
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    send(runtime, "A1 A2 A3 B9 A4 B9")
    runtime.shutdown()
    assert rows == [(1,), (2,), (4,)]
    assert [(type(error), str(error)) for error in failures] == [(LimitExceededError, REFUSED)]


def test_at_the_limit_the_oldest_match_can_be_dropped(caplog: pytest.LogCaptureFixture) -> None:
    info = "name='q', max.partial.matches='2', partial.matches.overflow='drop.oldest'"
    runtime = started("from every e1=A -> e2=B select e1.x as x", info=info)
    rows: list[tuple[object, ...]] = []
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    with caplog.at_level(logging.WARNING, logger="siddhi"):
        send(runtime, "A1 A2 A3 A4 B9")
    assert pattern_of(runtime).dropped == 2
    runtime.shutdown()
    assert rows == [(3,), (4,)]
    assert (
        "query 'q': 1 of its oldest partial matches dropped so far: @info(max.partial.matches = '2') allows 2"
        in caplog.text
    )


def test_a_match_that_begins_with_an_absence_is_counted() -> None:
    query = "from every not A for 1 sec -> e1=B select e1.x as x"
    runtime = started(query, info="name='q', max.partial.matches='2'")
    failures: list[BaseException] = []
    rows: list[tuple[object, ...]] = []
    runtime.handle_exception_with(lambda error, *_: failures.append(error))
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    send(runtime, "T@1000 T@4000 B7@4100 T@5100 B8@5200")
    runtime.shutdown()
    assert rows == [(7,), (7,), (8,)]
    assert [(type(error), str(error)) for error in failures] == [(LimitExceededError, REFUSED)]

    runtime = started(query, info="name='q', max.partial.matches='2', partial.matches.overflow='drop.oldest'")
    send(runtime, "T@1000 T@9000")
    state = runtime.snapshot()
    runtime.restore(state)
    assert runtime.snapshot() == state
    assert (pattern_of(runtime).begun, pattern_of(runtime).dropped) == (2, 6)
    runtime.shutdown()


@pytest.mark.parametrize(
    "pattern",
    [
        "every (not A for 1 sec -> e1=B) -> e2=C",
        "every (not A for 1 sec and not D for 1 sec -> e1=B) -> e2=C",
        "every (not A for 1 sec or not D for 5 sec -> e1=B) -> e2=C",
    ],
)
def test_a_group_refused_in_its_first_absence_begins_again(pattern: str) -> None:
    runtime = started(f"from {pattern} select e1.x as x", info="name='q', max.partial.matches='1'")
    failures: list[BaseException] = []
    rows: list[tuple[object, ...]] = []
    runtime.handle_exception_with(lambda error, *_: failures.append(error))
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    send(runtime, "T@0 T@1100 B1@1200 T@2300 B2@2400 C0@2500 T@3900 B3@4000 C0@4100")
    runtime.shutdown()
    assert rows == [(1,), (3,)]
    assert {type(error) for error in failures} == {LimitExceededError}


@pytest.mark.parametrize("overflow", ["fail", "drop.oldest"])
@pytest.mark.parametrize(
    ("query", "last", "expected"),
    [("every e1=A, e2=A", "e2", [(1, 2), (2, 3)]), ("every e1=A -> e2=B -> e3=A", "e3", [(1, 2), (2, 3)])],
)
def test_a_complete_match_makes_room_for_a_new_one(
    query: str, last: str, expected: list[tuple[int, int]], overflow: str
) -> None:
    info = f"name='q', max.partial.matches='1', partial.matches.overflow='{overflow}'"
    runtime = started(f"from {query} select e1.x as x, {last}.x as y", info=info)
    rows: list[tuple[object, ...]] = []
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    send(runtime, "A1 A2 A3" if last == "e2" else "A1 B1 A2 B2 A3")
    assert pattern_of(runtime).dropped == 0
    runtime.shutdown()
    assert rows == expected


@pytest.mark.parametrize(
    ("app", "most", "said"),
    [
        ("", 2, "SandboxPolicy(max_events=2)"),
        ("", 0, "SandboxPolicy(max_events=0)"),
        ("@app:partialMatches(max = '2')", 5, "@app:partialMatches(max = '2')"),
        ("@app:partialMatches(overflow = 'drop.oldest')", 0, "SandboxPolicy(max_events=0)"),
    ],
)
def test_the_error_names_what_sets_the_limit(app: str, most: int, said: str, caplog: pytest.LogCaptureFixture) -> None:
    text = f"{app} define stream A (x int); @info(name='q') from every e1=A -> e2=A[x == 0] select e1.x as x insert into O;"
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(text, policy=SandboxPolicy(max_events=most))
        failures: list[str] = []
        runtime.handle_exception_with(lambda error, *_: failures.append(str(error)))
        runtime.start()
        for x in (1, 2, 3):
            runtime.input_handler("A").send((x,))
        assert pattern_of(runtime).begun == (0 if most == 0 else 2)
    assert f"{said} allows" in "".join([*failures, caplog.text])


def refusing(query: str, most: int) -> tuple[SiddhiAppRuntime, list[tuple[object, ...]], list[int]]:
    """An app with at most so many partial matches, its rows, and the values of the events that failed."""
    runtime = started(f"from {query}", info=f"name='q', max.partial.matches='{most}'")
    rows: list[tuple[object, ...]] = []
    failed: list[int] = []
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    runtime.handle_exception_with(lambda _error, _stream, events: failed.extend(event.data[0] for event in events))
    return runtime, rows, failed


def test_a_refused_event_does_not_affect_the_others_of_its_chunk() -> None:
    runtime, rows, failed = refusing("every e1=A -> e2=A[x == e1.x + 1] select e1.x as x, e2.x as y", 2)
    runtime.input_handler("A").send_events([Event(1000 + i, (x,)) for i, x in enumerate((1, 5, 2, 9, 3, 6))])
    assert rows == [(1, 2), (2, 3), (5, 6)]
    assert failed == [9]
    runtime.shutdown()


@pytest.mark.parametrize(
    ("query", "most", "events", "expected", "refused"),
    [
        # The older count takes an event or nothing does.
        ("every e1=A<2:3> -> e2=B select e1.x as x", 1, "A1 A2 A3 B9", [([1, 2],)], [3]),
        ("every e1=A<2:4> -> e2=B select e1.x as x", 1, "A1 A2 A3 B9 A4 A5 B8", [([1, 2],), ([4, 5],)], [3]),
        # One event moves on, another begins: together or not at all.
        ("every e1=A -> e2=A -> e3=B select e1.x as x, e2.x as y", 1, "A1 A2 B9", [], [2]),
        ("every e1=A -> e2=A -> e3=B select e1.x as x, e2.x as y", 2, "A1 A2 A3 B9", [(1, 2)], [3]),
        # A group starts again, and what it came from is complete.
        ("e1=A -> every e2=B select e1.x as x, e2.x as y", 1, "A1 B2 B3", [(1, 2), (1, 3)], []),
        ("e1=A -> every e2=B -> e3=C select e2.x as x", 2, "A1 B2 B3 C9", [(2,)], [3]),
        # What was skipped begins with a later event.
        ("every e1=A<0:2> -> e2=B -> e3=C select e2.x as x", 1, "B1 B2 C9 B3 C9", [(1,), (3,)], [2]),
        # A sequence in progress outlives an event that is refused.
        ("every e1=A, e2=A, e3=B select e1.x as x, e2.x as y", 2, "A1 A2 A3 B9", [(1, 2)], [3]),
        ("every e1=A, e2=A, e3=B select e1.x as x, e2.x as y", 1, "A1 A2 B8", [], [2]),
    ],
)
def test_a_refused_event_has_no_effect(
    query: str, most: int, events: str, expected: list[tuple[object, ...]], refused: list[int]
) -> None:
    runtime, rows, failed = refusing(query, most)
    send(runtime, events)
    assert rows == expected
    assert failed == refused
    runtime.shutdown()


def test_all_keys_share_the_limit() -> None:
    query = "@info(name='q', max.partial.matches='2') from every e1=A<1:2> -> e2=B select e1.x as xs insert into O;"
    app = f"@app:playback {STREAMS} partition with (x of A, x of B) begin {query} end;"
    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    rows: list[tuple[object, ...]] = []
    failed: list[int] = []
    runtime.add_callback("O", lambda found: rows.extend(event.data for event in found))
    runtime.handle_exception_with(lambda _error, _stream, events: failed.extend(event.data[0] for event in events))
    runtime.start()
    send(runtime, "A1 A2 A3 A1 B1 A3 B3 B2")
    assert failed == [3, 1]
    assert rows == [([1],), ([3],), ([2],)]
    runtime.shutdown()
