"""``priority:time``."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi.errors import SiddhiAppCreationError
from tests.kit.running import running

APP = """@app:name('priority') @app:playback define stream S (k string, p int, v int);
from S#priority:time(k, p, 100) select priorityKey, currentPriority, v insert into O;"""
EVENTS = [(("a", 2, 1), 1000), (("b", 1, 2), 1050), (("a", 1, 3), 1060), (("c", 0, 4), 1400), (("a", -1, 5), 1401)]


@pytest.mark.parametrize("restart_after", [len(EVENTS), 2])
def test_a_priority_grows_with_events_and_falls_with_time(restart_after: int) -> None:
    found: list[tuple[Any, ...]] = []
    state = None
    for events in (EVENTS[:restart_after], EVENTS[restart_after:]):
        with running(APP) as runtime:
            if state is not None:
                runtime.restore(state)
            runtime.add_callback("O", lambda got: found.extend((each.timestamp, *each.data) for each in got))
            for row, time in events:
                runtime.input_handler("S").send(row, timestamp=time)
            state = runtime.snapshot()
    assert found == [
        (1000, "a", 2, 1),
        (1050, "b", 1, 2),
        (1060, "a", 3, 3),
        (1150, "b", 0, 2),
        (1160, "a", 2, 3),
        (1260, "a", 1, 3),
        (1360, "a", 0, 3),
        (1400, "c", 0, 4),
        (1401, "a", 0, 5),
    ]


def test_a_period_of_zero_is_refused() -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"timeout\.constant"), running(APP.replace("100", "0")):
        pass
