"""State of temporal streams and queries: a restored app goes on as if nothing had happened."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi._core.snapshot.format import seal, unseal
from siddhi.errors import CannotRestoreStateError, CtiViolation, SiddhiTemporalError
from siddhi.persistence import FileSystemPersistenceStore
from siddhi.temporal import MAX
from tests.kit.forked import in_child
from tests.kit.running import running
from tests.runtime.temporal.test_laws import OPERATORS, STREAMS, histories, physical

FEW = settings(max_examples=max(4, (settings.default or settings()).max_examples // 12))
Sent = tuple[str, str, tuple[Any, ...]]
"""Stream, method of its handler, arguments."""

OUTPUTS = {
    "interval": "",
    "by start": "@temporal(model = 'interval', order = 'start') define stream Out (id int, value int);",
    "edge": "@temporal(model = 'edge') define stream Out (id int, value int);",
    "point": "@temporal(model = 'point') define stream Out (id int, value int);",
}
APPS = {name: f"{STREAMS}{query} insert into Out;" for name, (query, _) in OPERATORS.items()}
APPS |= {f"output {name}": f"{STREAMS}{out} from A select id, value insert into Out;" for name, out in OUTPUTS.items()}
APPS["two stages"] = f"""{STREAMS}
from A#temporal:alterDuration(7) join B on A.id == B.id select A.id as id, B.value as value insert into Mid;
from Mid#window.snapshot() select id, count() as value group by id insert into Out;
"""
APPS["output edge of windows"] = f"""{STREAMS}
@temporal(model = 'edge') define stream Out (id int, value int, rank long);
from A#window.hopping(9, 4) select id, value, temporal:rank() as rank order by value limit 1 insert into Out;
"""
APPS["infinite lifetimes of some rows"] = f"""{STREAMS}
from A#temporal:alterDuration(ifThenElse(value > 4, temporal:infinity(), 3L)) select * insert into Mid;
from Mid[value < 8] select id, value insert into Out;
"""
APPS["rows rejected by a window"] = f"""{STREAMS}
from A#window.snapshot() select id, value having value > 3 insert into Out;
"""
APPS["partition"] = f"""{STREAMS}
partition with (id of A, id of B) begin
from A#window.snapshot()[value > 2] select id, sum(value) as total insert into #Sums;
from #Sums as s left outer join B on s.total > B.value select s.id as id, s.total as total, B.value as value insert into #Both;
from #Both#temporal:clipByNext(total)#window.hopping(6, 3) select id, temporal:rank() as rank order by id limit 2
insert into Out;
end;
"""
APPS["adjusted"] = f"""{STREAMS.replace("'edge'", "'edge', policy = 'adjust', @advance(count = '2', delay = '3')")}
from A left outer join B on A.id == B.id select A.id as id, B.value as value insert into Out;
"""
APPS["classical queries"] = f"""{STREAMS}
from A#window.time(9) select id, sum(value) as total insert all events into Sums;
from every e1 = A[id == 0] -> not B[id == 1] for 5 millisec select e1.value as value insert into Found;
from A select id, value insert into Out;
"""


def watch(runtime: SiddhiAppRuntime) -> list[Any]:
    shown: list[Any] = []
    runtime.add_temporal_callback("Out", shown.extend)
    for stream in ("Sums", "Found"):
        if stream in runtime.stream_definitions:
            runtime.add_callback(
                stream, lambda events: shown.extend((e.timestamp, e.data, e.is_expired) for e in events)
            )
    return shown


def send(runtime: SiddhiAppRuntime, items: Sequence[Sent]) -> None:
    for stream, method, arguments in items:
        getattr(runtime.input_handler(stream), method)(*arguments)


@st.composite
def tapes(draw: st.DrawFn) -> list[Sent]:
    """Tell two histories, item by item in turns, up to their ends."""
    waiting = {stream: draw(physical(draw(histories(6)))) for stream in "AB"}
    turns = draw(st.lists(st.sampled_from("AB"), max_size=20))
    order = [*turns, *(stream for stream, items in waiting.items() for _ in items)]
    tape = [(stream, *waiting[stream].pop(0)) for stream in order if waiting[stream]]
    return [*tape, ("A", "cti", (MAX,)), ("B", "cti", (MAX,))]


@pytest.mark.parametrize("name", APPS)
@FEW
@given(data=st.data())
def test_a_restored_app_goes_on(name: str, data: st.DataObject) -> None:
    app, tape = APPS[name], data.draw(tapes())
    middle = data.draw(st.integers(0, len(tape)))
    with running(app) as runtime:
        whole = watch(runtime)
        send(runtime, tape)
    with running(app) as runtime:
        shown = watch(runtime)
        send(runtime, tape[:middle])
        snapshot = runtime.snapshot()
        before = len(shown)
        send(runtime, tape[middle:])
        assert shown == whole
        runtime.restore(snapshot)  # back in time, in the same runtime
        again = len(shown)
        send(runtime, tape[middle:])
        assert shown[again:] == whole[before:]
    with running(app) as runtime:
        runtime.restore(snapshot)
        shown = watch(runtime)
        assert runtime.snapshot() == snapshot
        send(runtime, tape[middle:])
        assert shown == whole[before:]


METER = """@app:name('A')
@temporal(model = 'edge', policy = '{policy}', @advance(count = '3', delay = '10')) define stream A (id int, value int);
from A#window.snapshot() select id, count() as n, max(value) as high group by id insert into Out;
"""


def test_the_counters_of_a_stream_are_state() -> None:
    with running(METER.format(policy="adjust")) as runtime:
        send(runtime, [("A", "insert", (start, start + 20, (1, 2))) for start in (1, 60, 61, 3, 30, 62)])
        handler: Any = runtime.input_handler("A")
        counters = (handler.cti_time, handler.dropped, handler.adjusted)
        assert counters == (51, 2, 0)
        snapshot = runtime.snapshot()
    with running(METER.format(policy="adjust")) as runtime:
        runtime.restore(snapshot)
        handler = runtime.input_handler("A")
        assert (handler.cti_time, handler.dropped, handler.adjusted) == counters
        send(runtime, [("A", "insert", (70, 80, (1, 2)))] * 2)
        assert handler.cti_time == 60  # one start had been counted


def test_input_replayed_after_a_restore_is_late() -> None:
    with running(METER.format(policy="error")) as runtime:
        send(runtime, [("A", "point", (5, (1, 2))), ("A", "cti", (9,))])
        snapshot = runtime.snapshot()
    with running(METER.format(policy="error")) as runtime:
        runtime.restore(snapshot)
        with pytest.raises(CtiViolation, match="CTI 9"):
            send(runtime, [("A", "point", (5, (1, 2)))])
        send(runtime, [("A", "point", (9, (1, 2)))])


def test_an_end_after_a_restore_finds_its_start() -> None:
    with running(METER.format(policy="error")) as runtime:
        watch(runtime)
        send(runtime, [("A", "start_edge", (5, (1, None))), ("A", "cti", (9,))])
        snapshot = runtime.snapshot()
    with running(METER.format(policy="error")) as runtime:
        shown = watch(runtime)
        runtime.restore(snapshot)
        send(runtime, [("A", "end_edge", (5, 20, (1, None))), ("A", "cti", (MAX,))])
    assert [item[:3] for item in shown] == [("insert", 5, 20), ("cti", MAX, None)]


def test_another_definition_does_not_take_the_state() -> None:
    with running(METER.format(policy="error")) as runtime:
        snapshot = runtime.snapshot()
    with (
        running(METER.format(policy="drop")) as runtime,
        pytest.raises(CannotRestoreStateError, match="the definition of temporal queries has changed"),
    ):
        runtime.restore(snapshot)


def test_other_classical_readers_do_not_take_the_state() -> None:
    reader = "@info(name = 'r') from A#window.length(2) select id insert into Read;"
    with running(METER.format(policy="error")) as runtime:
        snapshot = runtime.snapshot()
    with (
        running(METER.format(policy="error") + reader) as runtime,
        pytest.raises(CannotRestoreStateError, match="classical queries read have changed"),
    ):
        runtime.restore(snapshot)


@pytest.mark.parametrize("incremental", [False, True])
def test_a_killed_process_goes_on_from_its_last_revision(tmp_path: Any, incremental: bool) -> None:
    tape: list[Sent] = [("A", "insert", (10 * number, 10 * number + 25, (number % 3, number))) for number in range(40)]
    app = METER.format(policy="drop")

    def managed() -> SiddhiManager:
        manager, store = SiddhiManager(), FileSystemPersistenceStore(tmp_path)
        if incremental:
            manager.set_incremental_persistence_store(store)
        else:
            manager.set_persistence_store(store)
        return manager

    def die() -> int:
        with running(app, manager=managed()) as runtime:
            watch(runtime)
            for at in range(0, 24, 8):
                send(runtime, tape[at : at + 8])
                runtime.persist()
            send(runtime, tape[24:30])
            os.kill(os.getpid(), signal.SIGKILL)
        return 1

    with running(app) as runtime:
        whole = watch(runtime)
        send(runtime, tape[:24])
        before = len(whole)
        send(runtime, tape[24:])
    assert in_child(die) == -signal.SIGKILL
    with running(app, manager=managed()) as runtime:
        runtime.restore_last_revision()
        shown = watch(runtime)
        send(runtime, [*tape[20:22], *tape[24:]])  # the first two, before the CTI, are in the state
        handler: Any = runtime.input_handler("A")
        assert handler.dropped == 2
    assert shown == whole[before:]


NUMBERS = [("<I", 0xFFFF_FFFF), ("<I", 0x0FFF_FFFF), ("<I", 0), ("<I", 1), ("<B", 2), ("<q", 1 << 40)]
DAMAGED = [
    "full outer join",
    "top",
    "average over the covered time",
    "count by start",
    "duration of the end",
    "adjusted",
]
STEADY = [("A", "insert", (start, start + length, (start % 3, value))) for start, length, value in
          [(1, 9, 3), (2, 30, 1), (3, MAX - 3, 7), (5, 1, None), (8, 8, 3)]] + [
          ("A", "start_edge", (9, (1, 4))), ("B", "insert", (2, 12, (1, 2))), ("B", "insert", (4, 40, (2, 3))),
          ("A", "cti", (10,)), ("B", "cti", (9,))]  # fmt: skip
LATER: list[Sent] = [("A", "end_edge", (9, 17, (1, 4))), ("B", "point", (14, (1, 1))), ("A", "point", (15, (2, 2))),
                     ("A", "cti", (30,)), ("B", "cti", (31,))]  # fmt: skip


def try_each_number(app: str) -> int:
    with running(app) as runtime:
        runtime.handle_exception_with(lambda *failure: None)
        watch(runtime)
        send(runtime, STEADY)
        payload = unseal(runtime.snapshot())
        begin = payload.index(b"lifetimes")
        for at in range(begin, len(payload)):
            form, number = NUMBERS[at % len(NUMBERS)]
            damaged = bytearray(payload)
            if at + struct.calcsize(form) > len(payload):
                continue
            struct.pack_into(form, damaged, at, number)
            try:
                runtime.restore(seal(bytes(damaged)))
            except CannotRestoreStateError as error:
                if isinstance(error.__cause__, MemoryError | SystemError | RuntimeError):
                    pytest.fail(f"{number} ({form}) at {at}: {error.__cause__!r}")
            else:
                runtime.snapshot()
                for item in LATER:
                    with contextlib.suppress(SiddhiTemporalError):
                        send(runtime, [item])
            runtime.restore(seal(payload))
            assert unseal(runtime.snapshot()) == payload
    return 0


@pytest.mark.parametrize("name", DAMAGED)
def test_numbers_of_a_temporal_state_are_checked(name: str) -> None:
    # In a process of its own: what is not checked may be read or written outside of all memory.
    assert in_child(lambda: try_each_number(APPS[name])) == 0


def test_an_increment_has_what_has_changed() -> None:
    app = STREAMS + "from A#window.snapshot() select id, count() as n group by id insert into Out;"
    with running(app) as runtime:
        a: Any = runtime.input_handler("A")
        for number in range(6_000):
            a.start_edge(number, (number % 50, number))
        a.cti(6_000)
        whole = sum(map(len, runtime.snapshot_blocks().values()))  # type: ignore[arg-type]
        for number in range(3):
            a.end_edge(number, 6_001, (number % 50, number))
        a.cti(6_002)
        changed = runtime.snapshot_blocks(dirty_only=True)
        assert sum(len(block) for name, block in changed.items() if block and name) < whole / 5
