"""Settings of one engine of several apply to it, and where permanent to its next start."""

from __future__ import annotations

import pytest

from siddhi import SiddhiManager
from siddhi._core.expression.function import seed_uuids

APP = """@app:name('Spread')
define stream S (k string, v int);
define stream Fill (k string);
define table T (k string);
from Fill insert into T;
@info(name = 'counting') partition with (k of S) begin
    @info(name = 'count') from S select k, count() as n insert into Out;
end;"""


def test_keys_of_other_shards_start_empty() -> None:
    runtime = SiddhiManager().create_siddhi_app_runtime(APP)
    found: list[tuple[object, ...]] = []
    runtime.add_callback("Out", lambda events: found.extend(event.data for event in events))
    with runtime:
        send = runtime.input_handler("S").send
        for key in "abab":
            send((key, 1))
        assert runtime.sharding.retain_keys("counting", lambda key: key == ("a",)) == 1
        assert runtime.sharding.shown("partition 'counting'")
        for key in "ab":
            send((key, 1))
        with pytest.raises(KeyError):
            runtime.sharding.retain_keys("nothing", lambda _: True)
    assert found[-2:] == [("a", 3), ("b", 1)]


def test_excluded_elements_are_in_no_snapshot_also_after_a_restart() -> None:
    runtime = SiddhiManager().create_siddhi_app_runtime(APP)
    runtime.sharding.leave_out("table 'T'")
    for _ in range(2):
        with runtime:
            empty = runtime.snapshot()
            runtime.input_handler("Fill").send(("a",))
            assert len(runtime.query("from T select k")) == 1
            assert len(runtime.snapshot()) == len(empty)


def test_a_seed_gives_the_same_uuids() -> None:
    app = "define stream S (v int); from S select UUID() as id insert into Out;"
    runtime = SiddhiManager().create_siddhi_app_runtime(app)
    found: list[object] = []
    runtime.add_callback("Out", lambda events: found.extend(event.data[0] for event in events))
    try:
        with runtime:
            for seed in (b"one", b"two", b"one"):
                runtime.sharding.seed_uuids(seed)
                runtime.input_handler("S").send((1,))
    finally:
        seed_uuids(None)  # the seed is that of the process, which other tests share
    assert found[0] == found[2] != found[1]
