"""A limit refuses events: a refused event has no effect, and no other is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from tests.property.test_patterns import Event, Written, events_of, written

PLENTY = 1_000_000


class Limited:
    """Run a pattern with a limit of partial matches; return its outputs and the events that failed."""

    def __init__(self, pattern: Written, most: int) -> None:
        info = f"@info(name='q', max.partial.matches='{most}')\nfrom "
        self.runtime = SiddhiManager().create_siddhi_app_runtime(pattern.app.replace("from ", info, 1))
        self.rows: list[tuple[int, tuple[object, ...]]] = []
        self.failed = 0
        self.runtime.add_callback("O", lambda found: self.rows.extend((event.timestamp, event.data) for event in found))
        self.runtime.handle_exception_with(self.fail)
        self.runtime.start()

    def fail(self, error: Exception, *_: object) -> None:
        assert "allows no more" in str(error)
        self.failed += 1

    def send(self, event: Event) -> bool:
        """Whether an event was taken."""
        failed = self.failed
        stream, time, value = event
        self.runtime.input_handler(stream).send((value,), timestamp=time)
        return self.failed == failed

    @property
    def pattern(self):  # type: ignore[no-untyped-def]
        return self.runtime._assembly.queries["q"].stateful["pattern"]

    def finish(self) -> None:
        self.pattern.drop_state(0)
        assert (self.pattern.alive, self.pattern.matches.alive_events, self.pattern.begun) == (0, 0, 0)
        self.runtime.shutdown()


def is_limited_by_events(pattern: Written) -> bool:
    """Whether matches begin again and again, and with events alone: one that a timer would begin is refused without an event."""
    first = pattern.steps[0]
    needed = any if first.kind == "and" else all
    return "every" in pattern.text and needed(operand.for_ms is None for operand in first.operands)


@pytest.mark.parametrize("is_sequence", [False, True], ids=["pattern", "sequence"])
@given(data=st.data())
def test_a_refused_event_has_no_effect(is_sequence: bool, data: st.DataObject) -> None:
    pattern = data.draw(written(is_sequence=is_sequence).filter(is_limited_by_events))
    most = data.draw(st.integers(1, 3))
    limited, free = Limited(pattern, most), Limited(pattern, PLENTY)
    came: list[Event] = []
    for stream, time, value in data.draw(events_of("AAABBT")):
        limited.send(("T", time, 0))
        free.send(("T", time, 0))
        before = free.pattern.begun
        taken = limited.send((stream, time, value))
        free.send((stream, time, value))
        if taken or before <= most:  # timers may have begun more than that
            assert taken == (free.pattern.begun <= max(most, before)), pattern.text
        came += [("T", time, 0)] + [(stream, time, value)] * taken
        if not taken:
            free.finish()
            free = Limited(pattern, PLENTY)
            for event in came:
                free.send(event)
        assert limited.pattern.begun == free.pattern.begun, pattern.text
        assert limited.rows == free.rows, pattern.text
    limited.finish()
    free.finish()
