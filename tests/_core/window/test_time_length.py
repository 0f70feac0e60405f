"""timeLength: restored snapshots."""

from __future__ import annotations

import struct

import pytest

from siddhi._core.snapshot.format import seal, unseal
from siddhi.errors import CannotRestoreStateError
from tests.kit.running import running


def test_a_snapshot_with_a_timer_before_its_event_expires_is_refused() -> None:
    app = "@app:playback define stream S (v int); from S#window.timeLength(1 sec, 3) select v insert into O;"
    with running(app) as runtime:
        for time in (1000, 1500):
            runtime.input_handler("S").send((1,), time)
        payload = unseal(runtime.snapshot())
        timers = struct.pack("<qqq", 2, 2000, 2500)
        assert payload.count(timers) == 1
        with pytest.raises(CannotRestoreStateError, match="a timer of a timeLength window is earlier"):
            runtime.restore(seal(payload.replace(timers, struct.pack("<qqq", 2, 2000, 2001))))
