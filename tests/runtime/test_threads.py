"""Many threads send into one app: no event is lost or duplicated."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from siddhi.errors import NotRunningError
from tests.kit.running import collect, running

THREADS = 6
EVENTS = 2_000
APP = """define stream S (sender int, number int);
@info(name = 'each') from S select sender, number insert into Each;
@info(name = 'count') from S#window.length(100) select count() as n insert into Counts;
from S select sender, sum(number) as total group by sender insert into Totals;
"""


def in_threads(work):
    """Run ``work(number)`` in every thread at once; exceptions come out here."""
    start = threading.Barrier(THREADS)

    def run(number):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_every_event_arrives_once_and_in_the_order_of_its_sender():
    with running(APP) as runtime:
        rows = collect(runtime, "Each")
        totals = dict.fromkeys(range(THREADS))
        runtime.add_callback("Totals", lambda events: totals.update(event.data for event in events))
        handler = runtime.input_handler("S")

        def send(sender):
            for number in range(EVENTS):
                handler.send((sender, number))

        in_threads(send)
    assert len(rows) == THREADS * EVENTS
    for sender in range(THREADS):
        assert [number for who, number in rows if who == sender] == list(range(EVENTS))
    assert totals == dict.fromkeys(range(THREADS), sum(range(EVENTS)))


def test_batches_chunks_and_rows_of_several_threads_do_not_mix():
    with running(APP) as runtime:
        sizes = []
        runtime.add_batch_callback("Each", lambda batch: sizes.append((len(batch), len(set(batch["sender"])))))
        handler = runtime.input_handler("S")

        def send(sender):
            for _ in range(50):
                if sender % 2:
                    handler.send_batch({"sender": [sender] * 300, "number": list(range(300))})
                else:
                    handler.send((sender, 0))

        in_threads(send)
    assert sum(size for size, _ in sizes) == THREADS // 2 * 50 * 301
    assert {senders for _, senders in sizes} == {1}
    assert {size for size, _ in sizes} == {1, 300}


def test_snapshots_callbacks_and_queries_can_run_in_any_thread():
    with running(f"@app:playback {APP}") as runtime:
        handler = runtime.input_handler("S")
        rows = collect(runtime, "Each")

        def work(number):
            for turn in range(150):
                if number == 0:
                    runtime.snapshot()
                elif number == 1:
                    runtime.add_callback("Counts", fleeting := [].append)
                    runtime.remove_callback(fleeting)
                elif number == 2:
                    runtime.advance_clock(turn)
                else:
                    handler.send((number, turn), turn)

        in_threads(work)
    assert len(rows) == (THREADS - 3) * 150


def test_a_shutdown_during_sends_ends_every_sender():
    with running(APP) as runtime:
        rows = collect(runtime, "Each")
        handler = runtime.input_handler("S")

        def work(sender):
            if sender == 0:
                while not rows:
                    pass
                runtime.shutdown()
                return None
            sent = 0
            try:
                while True:
                    handler.send((sender, sent))
                    sent += 1
            except NotRunningError:
                return sent

        sent = in_threads(work)
    assert len(rows) == sum(filter(None, sent))


def test_two_apps_may_feed_each_other():
    forth = "define stream S (v int); from S[v > 0] select v - 1 as v insert into Out;"
    with running(forth) as first, running(forth) as second:
        seen = []
        first.add_callback("Out", lambda events: [second.input_handler("S").send(event) for event in events])
        second.add_callback("Out", lambda events: [first.input_handler("S").send(event) for event in events])
        second.add_callback("Out", lambda events: seen.extend(event["v"] for event in events))
        first.input_handler("S").send((6,))
    assert sorted(seen) == [0, 2, 4]


def test_two_apps_can_send_to_each_other_from_two_threads():
    forth = "define stream S (v int); define stream X (v int); from S select v insert into Out; from X select v insert into Y;"
    with running(forth) as first, running(forth) as second:
        seen = {"first": [], "second": []}
        together = threading.Barrier(2)

        def hand_on(target):
            def callback(events):
                if events[0]["v"] % 100 == 0:
                    together.wait(30)  # both are inside their own app before either sends into the other
                target.input_handler("X").send(events[0])

            return callback

        first.add_callback("Out", hand_on(second))
        second.add_callback("Out", hand_on(first))
        first.add_callback("Y", lambda events: seen["first"].append(events[0]["v"]))
        second.add_callback("Y", lambda events: seen["second"].append(events[0]["v"]))
        threads = [
            threading.Thread(
                target=lambda app=app, v=v: [app.input_handler("S").send((v + i,)) for i in range(20)], daemon=True
            )
            for app, v in ((first, 0), (second, 100))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "they wait for each other"
    assert seen == {"first": list(range(100, 120)), "second": list(range(20))}
