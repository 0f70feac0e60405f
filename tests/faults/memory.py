"""Allocations fail, one after the other: of Python's allocators through ``_testcapi.set_nomemory``, and of the C library where
the engine asks it itself. Each try is a forked child, so that a crash is a finding; what was tried is an error or has
happened, and the app goes on.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiError
from tests.faults.report import Report
from tests.faults.shim import Calls, failing_memory

__all__ = ["run"]

Act = Callable[[SiddhiAppRuntime], None]

PATIENCE_S = 30.0
CLEAN = 60
"""After so many points in a row at which nothing failed, tried or between two tries, there are no more."""
APPS = {
    "windows": """from S#window.length(3) select k, sum(v) as n, max(v) as m group by k insert all events into O;
        from S#window.time(1 sec) select k, count() as n insert into O2;
        from S#window.sort(2, v) select k, v insert into O3;
        from S#window.frequent(2, k) select k insert into O4;
        from S#window.session(1 sec, k) select k, v insert into O5;""",
    "aggregates": """from S select k, distinctCount(v) as a, stdDev(v) as b, unionSet(createSet(k)) as c group by v insert into O;
        from S#window.lengthBatch(2) select k, minForever(v) as a, avg(v) as b insert all events into O2;""",
    "patterns": """from every a=S -> b=S[k == a.k] within 10 sec select a.k as k, b.v as v insert into O;
        from every a=S+, b=S[v > 3] select a[0].v as v, b.v as w insert into O2;
        from every a=S -> not S[v > 5] for 1 sec select a.k as k insert into O3;""",
    "joins": """define table T (k string, v long); from S select k, v insert into T;
        from S#window.length(3) as a join S#window.length(2) as b on a.k == b.k select a.v as v, b.v as w insert into O;
        from S left outer join T on S.k == T.k select S.k as k, T.v as v insert into O2;""",
    "tables": """@primaryKey('k') @index('v') define table T (k string, v long);
        define aggregation A from S select k, sum(v) as n group by k aggregate every sec...hour;
        from S select k, v update or insert into T set T.v = v on T.k == k; from S[v > 5] delete T on T.v == v;""",
    "partitions": """@purge(enable = 'true', interval = '1 sec', idle.period = '1 sec') partition with (k of S) begin
        from S#window.length(2) select k, sum(v) as n insert into #I; from #I select k, n insert into O;
        from S select k, v output last every 2 events insert into O2; end;""",
    "rates": """from S select k, v output all every 3 events insert into O;
        from S select k, sum(v) as n group by k output last every 1 sec insert into O2;
        from S select k, v output snapshot every 1 sec insert into O3;
        from S[v > 3 or k is null] select coalesce(k, 'x') as k, convert(v, 'string') as w insert into O4;""",
}
TABLE = pa.table({"k": [f"key {number}" for number in range(70)], "v": list(range(70)), "t": [2000] * 70})
ROWS = [("a", 1), ("b", 2), ("a", 7), ("c", 3), ("a", 4)]


_CODES = {False: 0, True: 1, None: 2}
"""How a child ends that found nothing, by what it tells."""


def run(report: Report, every: int) -> None:
    """Fail every ``every``-th allocation of each step of each app, more of the first ones, and all of the engine's own."""
    for name, text in APPS.items():
        tried = _Tried(f"@app:playback define stream S (k string, v long); {text}")
        for step, act in STEPS.items():
            tried.warm(act)
            first = 1 + zlib.crc32(f"{name} {step}".encode()) % min(every, 4)  # not the same ones of all
            for kind, failing, nth, widest in (("Python", _python, first, every), ("C", failing_memory, 1, 1)):
                clean = unfailed = 0
                while clean < CLEAN or unfailed < 2:
                    what = f"memory: {name}: {step}: allocation {nth} of {kind}"
                    failed = _forked(report, what, partial(tried.attempt, act, partial(failing, nth)))
                    if failed is None:
                        break
                    stride = min(widest, 3 * nth)
                    clean, unfailed = (0, 0) if failed else (clean + stride, unfailed + 1)
                    nth += stride


@contextmanager
def _python(nth: int) -> Iterator[None]:
    """The ``nth`` allocation of Python's fails."""
    import _testcapi

    _testcapi.set_nomemory(nth - 1, nth)
    try:
        yield
    finally:
        _testcapi.remove_mem_hooks()


def _forked(report: Report, what: str, attempt: Callable[[], bool | None]) -> bool | None:
    """Try in a child; whether something failed there, None: there is no such allocation. How the child ends is what it found."""
    report.tries += 1
    with tempfile.TemporaryFile() as said:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            code = 3
            try:
                faulthandler.enable()
                sys.unraisablehook = lambda hooked: None
                code = _CODES[attempt()]
            except BaseException:  # noqa: BLE001 - whatever it is, it is a finding
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writing)
        ended = select.select([reading], [], [], PATIENCE_S)[0]  # readable when the child has closed its end
        os.close(reading)
        if not ended:
            os.kill(child, signal.SIGABRT)
            time.sleep(1)
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code not in _CODES.values():
            said.seek(0)
            text = said.read().decode(errors="replace")[:5000]
            report.add(what, f"{'it hangs' if not ended else f'it ends with {code}'}\n{text}")
    return None if code == _CODES[None] else code != _CODES[False]


def _is_of_python(error: BaseException) -> bool:
    """Python 3.11 loses the MemoryError where it has no frame for a function written in Python."""
    return isinstance(error, SystemError) and str(error).startswith("<function ") and "returned NULL" in str(error)


class _Tried:
    """An app with some state; each try goes on from here, in a process of its own."""

    def __init__(self, app: str) -> None:
        self._app = app
        self._failed: list[BaseException] = []
        self._runtime = self._started()

    def _started(self) -> SiddhiAppRuntime:
        runtime = SiddhiManager().create_siddhi_app_runtime(self._app)
        for stream in runtime.stream_definitions:
            if stream != "S" and not stream.startswith("#"):
                runtime.add_callback(stream, lambda events: [event.data for event in events])
        runtime.handle_exception_with(lambda error, origin, events: self._failed.append(error))
        runtime.start()
        for number, row in enumerate(ROWS):
            runtime.input_handler("S").send(row, 1000 + number)
        return runtime

    def warm(self, act: Act) -> None:
        """Do it once where nothing fails: what it imports is there."""
        runtime = self._started()
        act(runtime)
        runtime.shutdown()

    def attempt(self, act: Act, failing: Callable[[], AbstractContextManager[Calls | None]]) -> bool | None:
        """Whether an error came of it; None: there were not so many allocations."""
        error: BaseException | None = None
        with failing() as calls:
            try:
                act(self._runtime)
            except BaseException as raised:  # noqa: BLE001 - looked at below
                error = raised
        for found in [error, *self._failed]:
            if found is not None and not isinstance(found, (MemoryError, SiddhiError)) and not _is_of_python(found):
                cause = found.__cause__ or found.__context__
                assert isinstance(cause, MemoryError), f"{type(found).__name__}: {found}"
        happened = error is not None or bool(self._failed)
        self._failed.clear()
        self._goes_on()
        return None if calls is not None and calls.count == 0 else happened

    def _goes_on(self) -> None:
        """Send, let time pass, save and restore."""
        seen: list[Any] = []
        self._runtime.add_callback("S", seen.extend)
        handler = self._runtime.input_handler("S")
        for number, row in enumerate(ROWS):
            handler.send(row, 5000 + number)
        handler.send_batch({"k": ["a", "b"], "v": [1, 2]}, timestamp=[6000, 6001])
        assert [event.data for event in seen] == [*ROWS, ("a", 1), ("b", 2)]
        assert not self._failed, f"a later event failed: {self._failed[0]!r}"
        self._runtime.advance_clock(20_000)
        self._runtime.restore(self._runtime.snapshot())
        self._runtime.shutdown()


def _send(runtime: SiddhiAppRuntime) -> None:
    handler = runtime.input_handler("S")
    for number in range(3):
        handler.send(("abc"[number], number), 2000 + number)


def _send_events(runtime: SiddhiAppRuntime) -> None:
    runtime.input_handler("S").send_events([Event(2000 + number, ("abcd"[number], number)) for number in range(4)])


def _send_batch(runtime: SiddhiAppRuntime) -> None:
    runtime.input_handler("S").send_batch(TABLE, timestamp="t")


def _advance(runtime: SiddhiAppRuntime) -> None:
    runtime.advance_clock(4500)


def _snapshot(runtime: SiddhiAppRuntime) -> None:
    runtime.snapshot()


def _restore(runtime: SiddhiAppRuntime) -> None:
    runtime.restore(runtime.snapshot())


def _ask(runtime: SiddhiAppRuntime) -> None:
    for name in runtime.table_definitions:
        runtime.query(f"from {name} select * order by k")


def _drain(runtime: SiddhiAppRuntime) -> None:
    runtime.collect("S")
    _send(runtime)
    runtime.drain()


STEPS: dict[str, Act] = {
    "send": _send,
    "send_events": _send_events,
    "send_batch": _send_batch,
    "advance_clock": _advance,
    "snapshot": _snapshot,
    "restore": _restore,
    "query": _ask,
    "collect and drain": _drain,
}
