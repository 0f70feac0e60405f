"""Snapshots with random numbers are rejected or accepted, but never crash the engine."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from siddhi import SiddhiManager
from siddhi._core.snapshot.format import seal, unseal
from siddhi.errors import CannotRestoreStateError
from tests.kit.forked import in_child
from tests.kit.running import running

resource = pytest.importorskip("resource")

HEAD = "@app:name('A') @app:playback define stream S (k string, v int, l long);"
KEYED = "partition with (k of S) begin {} insert into O; end;"
QUERIES = {
    "groups of keys": KEYED.format("from S#window.length(2) select k, sum(l) as s, max(v) as m group by v"),
    "distinct values": KEYED.format("from S#window.length(2) select distinctCount(v) as c group by l"),
    "batches": KEYED.format("from S#window.timeBatch(1 sec) select sum(l) as s group by v"),
    "batches of a length": KEYED.format("from S#window.lengthBatch(2) select sum(v) as s"),
    "rates": KEYED.format("from S select k, sum(l) as s group by v output last every 1 sec"),
    "pictures": KEYED.format("from S#window.length(2) select k, v group by v output snapshot every 1 sec"),
    "counts": "from every a=S -> b=S[v > a.v]<1:3> -> not S[v == 7] for 1 sec select a.k as k insert into O;",
    "sequences": KEYED.format("from every a=S, b=S+, c=S[v == 99] select a.k as k"),
    "tables": "@primaryKey('k') @index('v') define table T (k string, v int, l long); from S insert into T;",
}
NUMBERS = [("<I", 0xFFFF_FFFF), ("<I", 0x0FFF_FFFF), ("<I", 1), ("<B", 2), ("<q", 1 << 40)]
STATM = Path("/proc/self/statm")
ROOM = 256 << 20
"""Bytes that an app may take to read a snapshot of some hundred."""


def send(runtime, start):
    for i in range(5):
        runtime.input_handler("S").send(("abc"[i % 3], i % 2, start + i), start + 100 * i)


def try_each_number(app):
    with running(app, manager=SiddhiManager()) as runtime:
        runtime.handle_exception_with(lambda *failure: None)
        send(runtime, 1000)
        payload = unseal(runtime.snapshot())
        taken = int(STATM.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, taken + ROOM))
        for at in range(len(payload)):
            for form, number in NUMBERS:
                damaged = bytearray(payload)
                if at + struct.calcsize(form) > len(payload):
                    continue
                struct.pack_into(form, damaged, at, number)
                try:
                    runtime.restore(seal(bytes(damaged)))
                except CannotRestoreStateError as error:
                    if isinstance(error.__cause__, MemoryError):
                        pytest.fail(f"{number} ({form}) at {at} asked for memory: {error}")
                else:
                    runtime.snapshot()
                    # What is due long ago or far ahead is another matter.
                    if 0 <= runtime.now < 10_000 and (runtime.next_due is None or 0 <= runtime.next_due < 10_000):
                        send(runtime, 1500)
                runtime.restore(seal(payload))
                assert unseal(runtime.snapshot()) == payload
    return 0


@pytest.mark.skipif(not STATM.exists(), reason="needs to know how much memory it has taken")
@pytest.mark.parametrize("kind", QUERIES)
def test_numbers_of_a_snapshot_are_checked_against_its_data(kind):
    # In a process of its own: what is not checked may be read or written outside of all memory.
    assert in_child(lambda: try_each_number(HEAD + QUERIES[kind])) == 0
