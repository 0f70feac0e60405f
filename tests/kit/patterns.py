"""Patterns of one query over streams A, B, C, D and T, and a short notation for events."""

from __future__ import annotations

import re

from siddhi import SiddhiManager
from siddhi.runtime.app import SiddhiAppRuntime

STREAMS = "".join(f"define stream {stream} (x int);\n" for stream in "ABCDT")
EVENT = re.compile(r"([A-DT])(\d*)(?:@(\d+))?")


def started(query: str, *, info: str = "name='q'", playback: bool = True) -> SiddhiAppRuntime:
    clock = "@app:playback\n" if playback else ""
    app = f"@app:name('p') {clock}{STREAMS}@info({info})\n{query} insert into O;"
    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    runtime.start()
    return runtime


def send(runtime: SiddhiAppRuntime, events: str) -> None:
    """Send events such as ``A1@1000 B2``; an event without time comes one ms after the previous one."""
    time = max(runtime.now, 999)
    for written in events.split():
        found = EVENT.fullmatch(written)
        assert found is not None, written
        stream, value, at = found.groups()
        time = int(at) if at else time + 1
        runtime.input_handler(stream).send((int(value or 0),), timestamp=time)


def run(query: str, events: str) -> list[str]:
    """Return the outputs as ``values@time``."""
    runtime = started(query)
    rows: list[str] = []
    runtime.add_callback("O", lambda found: rows.extend(f"{written(e.data)}@{e.timestamp}" for e in found))
    send(runtime, events)
    runtime.shutdown()
    return rows


def written(values: tuple[object, ...]) -> str:
    return ",".join("-" if value is None else str(value).replace(" ", "") for value in values)


def pattern_of(runtime: SiddhiAppRuntime):  # type: ignore[no-untyped-def]
    return runtime._assembly.queries["q"].stateful["pattern"]
