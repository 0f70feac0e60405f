"""Output kept as columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi._core.columnar.buffer import drop_kept_blocks
from siddhi.errors import DefinitionNotExistError
from tests.kit.no_memory import each_allocation_failing
from tests.kit.running import running

APP = (
    "@app:playback define stream S (a string, v int);"
    "from S[v > 0] select a, v insert into O; from S#window.lengthBatch(2) select a insert into P;"
)


def test_columns_of_several_streams_with_times_and_chunks() -> None:
    with running(APP) as runtime:
        runtime.collect("O", "P")
        runtime.input_handler("S").send_batch(
            pa.table({"a": ["x", None, "z"], "v": pa.array([1, 2, None], pa.int32()), "t": [10, 20, 30]}), timestamp="t"
        )
        found = {stream: pa.record_batch(batch).to_pylist() for stream, batch in runtime.drain().items()}
        assert found == {
            "O": [
                {"a": "x", "v": 1, "_timestamp": 10, "_chunk": 0},
                {"a": None, "v": 2, "_timestamp": 20, "_chunk": 1},
            ],
            "P": [
                {"a": "x", "_timestamp": 10, "_chunk": 0},
                {"a": None, "_timestamp": 20, "_chunk": 0},
            ],
        }
        runtime.input_handler("S").send(("w", 5), 40)
        found = {stream: pa.record_batch(batch).to_pylist() for stream, batch in runtime.drain().items()}
        assert found == {
            "O": [{"a": "w", "v": 5, "_timestamp": 40, "_chunk": 2}],
            "P": [{"a": "z", "_timestamp": 30, "_chunk": 1}, {"a": "w", "_timestamp": 40, "_chunk": 1}],
        }
        empty = runtime.drain()["O"]
        assert pa.record_batch(empty).num_rows == 0
        assert empty.names == ("a", "v", "_timestamp", "_chunk")


def test_hidden_columns_can_be_named() -> None:
    with running(APP) as runtime:
        runtime.collect("O", timestamp=None, chunk="n")
        runtime.collect("P", timestamp="t", chunk=None)
        runtime.input_handler("S").send(("x", 1), 10)
        runtime.input_handler("S").send(("x", 1), 20)
        drained = runtime.drain()
        assert drained["O"].to_pylist() == [{"a": "x", "v": 1, "n": 0}, {"a": "x", "v": 1, "n": 1}]
        assert drained["P"].to_pylist() == [{"a": "x", "t": 10}, {"a": "x", "t": 20}]


def test_simultaneous_matches_of_a_pattern_are_one_chunk() -> None:
    app = "@app:playback define stream S (v int); from every a=S[v < 5] -> b=S[v >= 5] select a.v as a, b.v as b insert into O;"
    with running(app) as runtime:
        runtime.collect("O")
        runtime.input_handler("S").send_batch(
            pa.table({"v": pa.array([1, 2, 7, 3, 8], pa.int32()), "t": [1, 2, 3, 4, 5]}), timestamp="t"
        )
        rows = runtime.drain()["O"].to_pylist()
    assert [(row["a"], row["b"], row["_chunk"]) for row in rows] == [(1, 7, 0), (2, 7, 0), (3, 8, 1)]


def test_unknown_streams_and_taken_names_are_refused() -> None:
    with running("define stream S (_chunk int); from S select 1 as x insert into O;") as runtime:
        with pytest.raises(ValueError, match="two columns '_chunk'"):
            runtime.collect("O", "S")
        with pytest.raises(DefinitionNotExistError):
            runtime.collect("O", "Nowhere")
        with pytest.raises(ValueError, match="two columns 'x1'"):
            runtime.collect("O", timestamp="x1", chunk="x1")
        assert runtime.drain() == {}


def test_a_stream_can_be_collected_only_once() -> None:
    with running(APP) as runtime:
        runtime.collect("O")
        runtime.collect("O", "P", timestamp="t")
        runtime.input_handler("S").send(("x", 1), 10)
        drained = runtime.drain()
        assert drained["O"].to_pylist() == [{"a": "x", "v": 1, "_timestamp": 10, "_chunk": 0}]
        assert drained["P"].names == ("a", "t", "_chunk")


def test_after_a_failed_allocation_output_stays_collected() -> None:
    def prepare() -> SiddhiAppRuntime:
        runtime = SiddhiManager().create_siddhi_app_runtime(APP)
        runtime.collect("P")
        runtime.start()
        for time in range(40):
            runtime.input_handler("S").send(("x", time), time)
        drop_kept_blocks()
        return runtime

    def check(runtime: SiddhiAppRuntime, done: bool) -> None:
        for time in (40, 41):
            runtime.input_handler("S").send(("x", time), time)
        rows = pa.record_batch(runtime.drain()["P"]).to_pylist()
        assert [row["_chunk"] for row in rows] == [number // 2 for number in range(40 if done else 0, 42)]

    # What is taken in the end is handed on by Python: that is past.
    assert each_allocation_failing(prepare, lambda runtime: runtime._attachments._collectors["P"].drain(), check) >= 6
