"""Workers of ``@async`` streams let other threads run, and a shutdown ends them: also where streams feed each other.

A thread that keeps the interpreter lock stops the test, too: each case is a process of its own with a time limit.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

BEGIN = """
import logging, signal, sys, threading, time
from siddhi import SiddhiManager
from siddhi.errors import NotRunningError
from siddhi.runtime.assembly import async_stream
logging.basicConfig(stream=sys.stdout, format="%(message)s")
async_stream.DRAIN_SECONDS = 0.3
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore SIGINT

def started(app):
    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    runtime.start()
    return runtime

def interrupt_soon():
    main = threading.get_ident()
    threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
"""
SELF = "@async(buffer.size='64') define stream S (v int); from S select v insert into S;"
CIRCLE = """
    @async(buffer.size='64') define stream S (v int); @async(buffer.size='64') define stream B (v int);
    define stream R (v int);
    from S select v insert into B; from B select v insert into S; from R select v insert into S;
"""
HEAVY = (
    "from S#window.length(2000) as a join S#window.length(2000) as b on a.v == b.v + 1000000 select a.v insert into O;"
)
WAIT = 120  # seconds until a process that hangs is ended; none takes that long


def output(script: str) -> list[str]:
    command = [sys.executable, "-c", BEGIN + script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_other_threads_run_while_a_stream_inserts_into_itself() -> None:
    script = f"""
runtime = started("define stream R (k int); define table T (k int);" + {SELF!r} + "from R select k insert into T;")
runtime.input_handler("S").send((1,))
for k in range(20):
    time.sleep(0.001)
    runtime.input_handler("R").send((k,))           # needs the app's lock, as the workers do
print(len(runtime.query("from T select k")), "rows")
runtime.shutdown()
"""
    assert output(script) == ["20 rows", "1 events of @async streams were not delivered before the app was shut down"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals for a thread")
@pytest.mark.parametrize("act", ["time.sleep(1000)", "while True: handler.send((1,))"])
def test_ctrl_c_is_handled_while_a_stream_inserts_into_itself(act: str) -> None:
    script = f"""
runtime = started({SELF!r})
handler = runtime.input_handler("S")
handler.send((1,))
try:
    interrupt_soon()
    {act}
except KeyboardInterrupt:
    print("heard")
runtime.shutdown()
"""
    assert output(script)[0] == "heard"


@pytest.mark.parametrize("events", [1, 10, 64, 100])
def test_a_shutdown_ends_streams_in_a_cycle(events: int) -> None:
    script = f"""
runtime = started({CIRCLE!r})
for v in range({events}):
    runtime.input_handler("S").send((v,))
runtime.shutdown()
"""
    assert output(script) == [f"{events} events of @async streams were not delivered before the app was shut down"]


def test_an_inserting_query_does_not_wait_for_streams_in_a_cycle() -> None:
    script = f"""
runtime = started({CIRCLE!r})
for v in range(300):
    runtime.input_handler("R").send((v,))
print("sent")
runtime.shutdown()
"""
    assert output(script) == ["sent", "300 events of @async streams were not delivered before the app was shut down"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals for a thread")
def test_ctrl_c_ends_a_shutdown_that_delivers_events() -> None:
    script = f"""
async_stream.DRAIN_SECONDS = 1000
runtime = started({CIRCLE!r})
runtime.input_handler("S").send((1,))
try:
    interrupt_soon()
    runtime.shutdown()
except KeyboardInterrupt:
    print("heard")
"""
    assert output(script) == ["heard"]


def test_a_sender_does_not_wait_if_there_is_room() -> None:
    script = f"""
runtime = started("@async(buffer.size='65536', batch.size.max='1') define stream S (v int);" + {HEAVY!r})
runtime.input_handler("S").send_batch({{"v": list(range(20_000))}})
print(len(runtime._assembly.async_streams["S"].buffer) > 10_000)
runtime._assembly.async_streams["S"].close(1)      # deliver nothing more
runtime.shutdown()
"""
    assert output(script)[0] == "True"


def test_a_large_buffer_is_delivered_in_chunks() -> None:
    script = """
runtime = started("@async(buffer.size='65536') define stream S (v int);")
sizes = []
runtime.add_callback("S", lambda events: sizes.append(len(events)))
async_stream.DRAIN_SECONDS = 1000
runtime.input_handler("S").send_batch({"v": list(range(20_000))})
runtime.shutdown()
print(sum(sizes), max(sizes) <= 1024)
"""
    assert output(script) == ["20000 True"]


def test_other_threads_run_while_a_sender_waits_for_room() -> None:
    script = f"""
app = "define stream R (v int); @async(buffer.size='4') define stream S (v int); from R select v insert into S;"
runtime = started(app + {HEAVY!r})
ticks, done = 0, False

def tick():
    global ticks
    while not done:
        time.sleep(0.001)
        ticks += 1

ticker = threading.Thread(target=tick)
ticker.start()
runtime.input_handler("R").send_batch({{"v": list(range(6000))}})
done = True
ticker.join()
print(ticks > 10)
runtime.shutdown()
"""
    assert output(script)[0] == "True"


def test_a_waiting_sender_continues_while_the_buffer_stays_half_full() -> None:
    script = """
runtime = started("@async(buffer.size='64') define stream S (v int); from S[v < 0] select v insert into S;")
handler = runtime.input_handler("S")
for _ in range(40):
    handler.send((-1,))
for _ in range(200):
    handler.send((1,))
print("sent")
runtime.shutdown()
"""
    assert output(script) == ["sent", "40 events of @async streams were not delivered before the app was shut down"]
