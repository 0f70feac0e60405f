"""All operations at once, from many threads, for a limited time: no event is lost or duplicated, and no thread blocks."""

from __future__ import annotations

import faulthandler
import itertools
import sys
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from siddhi import Event, SiddhiManager
from siddhi.errors import NotRunningError
from siddhi.persistence import InMemoryPersistenceStore
from tests.kit.running import collect, running

SECONDS = 60.0
"""A thread that has not ended after this time counts as blocked."""
SENDERS = 6
EVENTS = 3_000

APP = """@app:name('Stress')
define stream S (sender int, number int);
define stream Again (sender int, number int);
@async(buffer.size='32', workers='3', batch.size.max='8') define stream A (sender int, number int);
@async(buffer.size='16') define stream B (sender int, number int);
@primaryKey('sender') define table Latest (sender int, number int);
define table Seen (sender int, number int);
define window W (sender int, number int) length(50);
from S select sender, number insert into Direct;
from S select sender, number insert into A;
from A select sender, number insert into B;
from B select sender, number insert into Late;
from S select sender, number insert into Seen;
from S select sender, number update or insert into Latest set Latest.number = number on Latest.sender == sender;
from S select sender, number insert into W;
from W select sender, count() as n group by sender insert into Windowed;
from S[Latest.sender == sender in Latest]#window.length(20) select sender, count() as n insert into Known;
partition with (sender of S) begin
from S select sender, number, count() as n insert into #Counted;
from #Counted[n == number + 1] select sender, number insert into InOrder;
end;
from every a=S -> b=S[sender == a.sender and number == a.number + 1]
select a.sender as sender, b.number as number insert into Followed;
"""


@pytest.fixture(autouse=True)
def busy_interpreter():
    """Threads take turns a thousand times as often as they do by default."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def run_all(*works: Callable[[], object]) -> None:
    """Run these at once, each in a thread; what they raise comes out here."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        try:
            start.wait(SECONDS)
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    if any(thread.is_alive() for thread in threads):
        faulthandler.dump_traceback(sys.stderr)
        pytest.fail("a thread is blocked")
    if errors:
        raise errors[0]


def sender_of(handler, sender: int, *, until: Callable[[], bool] | None = None) -> Callable[[], int]:
    """Sends one event after the other, in every way there is; gives how many were taken."""

    def send() -> int:
        number = 0
        try:
            while until() if until is not None else number < EVENTS:
                way = number // 10 % 3 if until is None else 0
                if way == 0:
                    handler.send((sender, number))
                    number += 1
                elif way == 1:
                    handler.send_events([Event(0, (sender, number + i)) for i in range(10)])
                    number += 10
                else:
                    handler.send_batch({"sender": [sender] * 10, "number": list(range(number, number + 10))})
                    number += 10
        except NotRunningError:
            pass
        return number

    return send


EVERYTHING = Counter(itertools.product(range(SENDERS), range(EVENTS)))


def test_many_senders_lose_and_repeat_nothing_through_any_input():
    with running(APP) as runtime:
        found = {stream: collect(runtime, stream) for stream in ("Direct", "Late", "InOrder", "Followed")}
        known, windowed = collect(runtime, "Known"), collect(runtime, "Windowed")
        again = collect(runtime, "Again")
        back = runtime.input_handler("Again")
        runtime.add_callback("Direct", lambda events: [back.send(event) for event in events])
        handler = runtime.input_handler("S")
        run_all(*(sender_of(handler, sender) for sender in range(SENDERS)))
        seen = [event.data for event in runtime.query("from Seen select sender, number")]
        latest = {event.data for event in runtime.query("from Latest select sender, number")}
    assert Counter(seen) == EVERYTHING
    assert latest == {(sender, EVENTS - 1) for sender in range(SENDERS)}
    for stream in ("Direct", "Late"):
        assert Counter(found[stream]) == EVERYTHING, stream
    assert Counter(again) == EVERYTHING
    # The counts of a chunk come out once per group: those of its last event.
    assert Counter(found["Followed"]) == Counter({key: 1 for key in EVERYTHING if key[1] > 0})
    for sender in range(SENDERS):
        assert [number for who, number in found["Direct"] if who == sender] == list(range(EVENTS))
        assert [number for who, number in found["InOrder"] if who == sender][-1] == EVENTS - 1
    assert known
    assert windowed


def test_senders_and_sending_callbacks_do_not_deadlock():
    """Callbacks send from one stream into another, in a circle, through buffers that are too small for all of it."""
    app = """define stream S (hops int, id int);
    @async(buffer.size='4', workers='2') define stream A (hops int, id int);
    @async(buffer.size='2') define stream B (hops int, id int);
    from S[hops > 0] select hops - 1 as hops, id insert into A;
    from A select hops, id insert into B;
    """
    with running(app) as runtime:
        rows = collect(runtime, "S")
        back = runtime.input_handler("S")
        runtime.add_callback("B", lambda events: [back.send(event.data) for event in events])
        handlers = [runtime.input_handler(stream) for stream in ("S", "A", "B")]

        def sender(number: int) -> Callable[[], None]:
            def send() -> None:
                for turn in range(100):
                    handlers[number % 3].send((3, number * 1000 + turn))

            return send

        run_all(*(sender(number) for number in range(6)))
    # From S an event passes S with 3, 2, 1 and 0 hops left; from A and B it comes to S with 3 first.
    assert Counter(row[1] for row in rows) == Counter(
        {number * 1000 + turn: 4 for number in range(6) for turn in range(100)}
    )


@pytest.mark.parametrize("stream", ["S", "A"])
def test_a_shutdown_during_sends_delivers_accepted_events(stream):
    out = {"S": "Direct", "A": "Late"}[stream]
    runtime = SiddhiManager().create_siddhi_app_runtime(APP)
    runtime.start()
    rows = collect(runtime, out)
    handler = runtime.input_handler(stream)
    taken = dict.fromkeys(range(SENDERS), 0)

    def work(sender: int) -> Callable[[], None]:
        send = sender_of(handler, sender, until=lambda: True)

        def run() -> None:
            taken[sender] = send()

        return run

    enough = threading.Event()
    runtime.add_callback(out, lambda events: enough.set() if len(rows) > 200 else None)

    def stop() -> None:
        assert enough.wait(SECONDS)
        runtime.shutdown()

    run_all(stop, stop, *(work(sender) for sender in range(SENDERS)))
    assert Counter(rows) == Counter((sender, number) for sender, count in taken.items() for number in range(count))


COUNTING = """@app:name('Counting')
define stream S (sender int, number int);
@async(buffer.size='16') define stream A (sender int, number int);
@primaryKey('sender') define table One (sender int, n long);
@primaryKey('sender') define table Two (sender int, n long);
from S select sender, count() as n group by sender update or insert into One set One.n = n on One.sender == sender;
from S select sender, count() as n group by sender update or insert into Two set Two.n = n on Two.sender == sender;
from S select sender, number insert into A;
from S select sender, number insert into Direct;
from A select sender, number insert into Late;
"""


def counts(runtime, table: str) -> dict[int, int]:
    return dict(event.data for event in runtime.query(f"from {table} select sender, n"))


def test_a_snapshot_during_sends_is_consistent():
    manager = SiddhiManager()
    store = InMemoryPersistenceStore()
    manager.set_persistence_store(store)
    revisions: list[str] = []
    with manager.create_siddhi_app_runtime(COUNTING) as runtime:
        direct, late = collect(runtime, "Direct"), collect(runtime, "Late")
        handler = runtime.input_handler("S")
        done = threading.Event()

        def save() -> None:
            while not done.is_set() and len(revisions) < 200:
                revisions.append(runtime.persist())

        def send_all() -> None:
            run_all(*(sender_of(handler, sender) for sender in range(SENDERS)))
            done.set()

        run_all(save, send_all)
        assert counts(runtime, "One") == dict.fromkeys(range(SENDERS), EVENTS)
    assert Counter(direct) == EVERYTHING
    assert Counter(late) == EVERYTHING
    assert revisions
    with manager.create_siddhi_app_runtime(COUNTING) as runtime:
        for revision in revisions[:: max(1, len(revisions) // 10)]:
            runtime.restore_revision(revision)
            assert counts(runtime, "One") == counts(runtime, "Two")


def test_a_restore_during_sends_never_mixes_two_states():
    with running(COUNTING) as runtime:
        direct = collect(runtime, "Direct")
        handler = runtime.input_handler("S")
        snapshots = [runtime.snapshot()]
        done = threading.Event()

        def save_and_restore() -> None:
            for turn in range(50):
                if done.is_set():
                    return
                if turn % 3:
                    snapshots.append(runtime.snapshot())
                else:
                    runtime.restore(snapshots[len(snapshots) // 2])

        def send_all() -> None:
            run_all(*(sender_of(handler, sender) for sender in range(SENDERS)))
            done.set()

        run_all(save_and_restore, send_all)
        assert counts(runtime, "One") == counts(runtime, "Two")
        runtime.restore(snapshots[-1])
        assert counts(runtime, "One") == counts(runtime, "Two")
    assert Counter(direct) == EVERYTHING
