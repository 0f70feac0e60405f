"""A policy prevents all effects: writes, reads, processes, imports and subscriptions."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from siddhi import SandboxPolicy, SiddhiManager
from siddhi.errors import OnDemandQueryCreationError, SiddhiAppError
from siddhi.extension import function
from siddhi.extension.registry import Registry, builtin_registry
from siddhi.io import InMemoryBroker
from siddhi.persistence import InMemoryErrorStore
from siddhi.types import AttributeType

TABLE = "define stream S (k string, v int); define table T (k string, v int); from S select k, v insert into T;"


def refusal(manager: SiddhiManager, text: str, *, sandbox: bool = False) -> SiddhiAppError:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_sandbox_siddhi_app_runtime(text) if sandbox else manager.create_siddhi_app_runtime(text)
    assert manager.runtimes == ()
    return caught.value


def test_no_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    manager = SiddhiManager(policy=SandboxPolicy())
    for options in ("", ", url = 'sqlite:///x.db'", f", url = 'sqlite:///{tmp_path}/x.db'"):
        text = f"@app:name('A') define stream S (k string); @store(type = 'rdbms'{options}) define table T (k string);"
        assert refusal(manager, text).code == "E340"
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_an_allowed_folder_is_written(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    policy = SandboxPolicy(stores={"rdbms": ("sqlite:///",)}, folders=(tmp_path,))
    text = f"define stream S (k string, v int); @store(type='rdbms', url='sqlite:///{tmp_path}/x.db') define table T (k string, v int); from S select k, v insert into T;"
    with SiddhiManager(policy=policy).create_siddhi_app_runtime(text) as runtime:
        runtime.input_handler("S").send(("a", 1))
        assert [event.data for event in runtime.query("from T select k, v")] == [("a", 1)]
    assert (tmp_path / "x.db").exists()


@pytest.mark.parametrize("sandbox", [False, True])
def test_environment_and_scripts_are_blocked(sandbox: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDDHI_SECRET", "'); define stream Stolen (a int); --")
    manager = SiddhiManager() if sandbox else SiddhiManager(policy=SandboxPolicy())
    error = refusal(
        manager, "define stream S (a int);\nfrom S select '${SIDDHI_SECRET}' as x insert into O;", sandbox=sandbox
    )
    assert (error.code, error.line, error.column) == ("E340", 2, 15)
    assert "Stolen" not in str(error)
    script = "define stream S (a int);\ndefine function f[python] return int { return 1 };"
    error = refusal(manager, script, sandbox=sandbox)
    assert (error.code, error.line, error.column) == ("E330", 2, 0)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("@source(type='inMemory', topic='t', ref='prod') define stream S (a int);", "E340"),
        ("@OnError(action='store') define stream S (a int);", "E340"),
        ("@sink(type='inMemory', topic='t', on.error='store') define stream S (a int);", "E340"),
        ("define stream S (a int); from S#log() select a insert into O;", "E340"),
        ("@app:statistics('true') define stream S (a int);", "E340"),
        ("define stream S (a int); from S#window.length(2000000000) select a insert into O;", "E341"),
        ("@async(workers='1000') define stream S (a int);", "E341"),
        ("define stream S (a int);" + " " * 200_000, "E341"),
    ],
)
def test_a_sandbox_blocks_connectors_by_default(text: str, code: str) -> None:
    manager = SiddhiManager()
    manager.set_error_store(InMemoryErrorStore())
    assert refusal(manager, text, sandbox=True).code == code


def test_an_app_can_have_its_own_policy() -> None:
    manager = SiddhiManager()
    text = "define function f[python] return int { return 1 }; define stream S (a int);"
    manager.create_siddhi_app_runtime(text)
    with pytest.raises(SiddhiAppError, match="E330"):
        manager.create_siddhi_app_runtime(text, policy=SandboxPolicy())
    with pytest.raises(SiddhiAppError, match="E330"):
        manager.validate_siddhi_app(text, policy=SandboxPolicy())
    closed = SiddhiManager(policy=SandboxPolicy())
    closed.create_siddhi_app_runtime(text, policy=SandboxPolicy(scripts={"python"}))
    with pytest.raises(TypeError, match="SandboxPolicy"):
        SiddhiManager(policy={"scripts": ()})  # type: ignore[arg-type]


def test_forbidding_scripts_restricts_a_policy() -> None:
    manager = SiddhiManager(policy=SandboxPolicy(scripts={"python"}), allow_scripts=False)
    assert (
        refusal(manager, "define function f[python] return int { return 1 }; define stream S (a int);").code == "E330"
    )


def test_topics_are_checked_by_the_policy() -> None:
    taken: list[object] = []
    InMemoryBroker.subscribe("tenant-7-out", taken.append)
    try:
        policy = SandboxPolicy(sources={"inMemory": ("tenant-7-",)}, sinks={"inMemory": ("tenant-7-",)})
        text = """
            @source(type='inMemory', topic='tenant-7-in') define stream S (v int);
            @sink(type='inMemory', topic='tenant-7-out') define stream O (v int);
            from S select v insert into O;
        """
        with SiddhiManager(policy=policy).create_siddhi_app_runtime(text):
            InMemoryBroker.publish("tenant-7-in", (1,))
        assert len(taken) == 1
    finally:
        InMemoryBroker.unsubscribe("tenant-7-out", taken.append)


def test_on_demand_queries_are_checked_by_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(self: EntryPoint) -> object:
        raise AssertionError(f"{self.name} is loaded")

    offered = [EntryPoint("offered", "nowhere", "siddhi.functions")]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda *, group: offered if group == "siddhi.functions" else []
    )
    monkeypatch.setattr(EntryPoint, "load", load)

    @function("host:allowed", args=(AttributeType.INT,), returns=AttributeType.INT, registry=Registry())
    def allowed(v: int) -> int:
        return v + 1

    manager = SiddhiManager(policy=SandboxPolicy(max_text=200))
    # What other tests have looked up is remembered by the registry of the process: the manager gets one of its own.
    manager._registry = Registry(Registry(builtin_registry(), entry_points=True))
    manager.set_extension("host:allowed", allowed)
    assert refusal(manager, "define stream S (v int); from S select offered:f(v) as x insert into O;").code == "E340"
    with manager.create_siddhi_app_runtime(TABLE) as runtime:
        runtime.input_handler("S").send(("a", 1))
        assert [event.data for event in runtime.query("from T select host:allowed(v) as x")] == [(2,)]
        with pytest.raises(OnDemandQueryCreationError) as caught:
            runtime.query("from T\nselect offered:f(v) as x")
        assert (caught.value.code, caught.value.line, caught.value.column) == ("E340", 2, 7)
        with pytest.raises(SiddhiAppError) as too_long:
            runtime.query("from T select v" + " " * 200)
        assert too_long.value.code == "E341"


def test_the_policy_applies_to_window_conditions_in_attributes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def load(self: EntryPoint) -> object:
        raise AssertionError(f"{self.name} is loaded")

    offered = [EntryPoint("offered", "nowhere", "siddhi.functions")]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda *, group: offered if group == "siddhi.functions" else []
    )
    monkeypatch.setattr(EntryPoint, "load", load)
    manager = SiddhiManager(policy=SandboxPolicy())
    manager._registry = Registry(Registry(builtin_registry(), entry_points=True))
    text = "define stream S (c string); from S#window.expression(c) select c insert into O;"
    with caplog.at_level(logging.ERROR, "siddhi"), manager.create_siddhi_app_runtime(text) as runtime:
        runtime.input_handler("S").send(("offered:f(c) == 1",))
    assert "E340" in caplog.text


def test_no_thread_is_started_for_statistics() -> None:
    before = set(threading.enumerate())
    refusal(
        SiddhiManager(policy=SandboxPolicy()),
        "@app:statistics(reporter='console', interval='1') define stream S (v int);",
    )
    assert set(threading.enumerate()) <= before


def test_a_policy_applies_after_a_restart() -> None:
    with SiddhiManager(policy=SandboxPolicy()).create_siddhi_app_runtime(TABLE) as runtime:
        runtime.shutdown()
        runtime.start()
        runtime.input_handler("S").send(("a", 1))
        with pytest.raises(SiddhiAppError, match="E341"):
            runtime.query("from T select v" + " " * 200_000)


FILLING = (
    "from S#window.time(1 hour) select avg(v) as a insert into O;",
    "from S#window.time(1 hour) select k, v insert into O;",
    "from S#window.session(1 hour) select k, v insert into O;",
    "from S#window.expression('count() > 0') select k, v insert into O;",
    "from S select k, v insert into T;",
    "from every e=S -> f=S[v < 0] select e.k insert into O;",
    "partition with (k of S) begin from S#window.time(1 hour) select k, v insert into O; end;",
    "from S#window.time(1 hour) as a join S#window.time(1 hour) as b on a.v == b.v select a.k, b.v insert into O;",
)


@pytest.mark.parametrize("query", FILLING)
def test_events_in_windows_are_limited_in_memory(query: str) -> None:
    text = f"@app:playback define stream S (k string, v int); define table T (k string, v int); {query}"
    taken: list[BaseException] = []
    with SiddhiManager(policy=SandboxPolicy(max_record_bytes=50_000)).create_siddhi_app_runtime(text) as runtime:
        runtime.handle_exception_with(lambda error, *_: taken.append(error))
        handler = runtime.input_handler("S")
        for number in range(3_000):
            try:
                handler.send(("a", number), timestamp=1_000 + number)
            except MemoryError as error:
                taken.append(error)
        assert {type(error) for error in taken} == {MemoryError}
        assert "SandboxPolicy.max_record_bytes" in str(taken[0])
        assert 1_000 < len(taken) < 3_000
    taken.clear()
    with SiddhiManager(policy=SandboxPolicy()).create_siddhi_app_runtime(text) as runtime:
        runtime.handle_exception_with(lambda error, *_: taken.append(error))
        for number in range(3_000):
            runtime.input_handler("S").send(("a", number), timestamp=1_000 + number)
    assert taken == []


@pytest.mark.parametrize("select", ["k, v", "k, count() as v", "k, sum(v) as v group by k"])
@pytest.mark.parametrize("wanted", ["", "all events"])
@pytest.mark.parametrize(
    "window",
    [
        "timeBatch(1 sec)",
        "timeBatch(1 sec, 0, true)",
        "lengthBatch(4)",
        "batch()",
    ],
)
def test_a_batch_window_at_the_limit_emits_again(window: str, select: str, wanted: str) -> None:
    text = f"@app:playback define stream S (k string, v long, at long); from S#window.{window} select "
    text += f"{select} insert {wanted} into O;"
    with SiddhiManager(policy=SandboxPolicy(max_record_bytes=12_000)).create_siddhi_app_runtime(text) as runtime:
        rows: list[object] = []
        runtime.handle_exception_with(lambda error, *_: None)
        runtime.add_callback("O", lambda events: rows.extend(event.data for event in events))
        handler = runtime.input_handler("S")
        for number in range(1_000):
            with suppress(MemoryError):
                handler.send((str(number), number, 1_000), timestamp=1_000)
        for second in range(10, 60):
            with suppress(MemoryError):
                for number in range(4):
                    handler.send(("a", number, 1_000 * second), timestamp=1_000 * second)
            if second == 50:
                rows.clear()
        runtime.advance_clock(100_000)
    assert len(rows) >= 5


def test_memory_released_by_windows_is_available_again() -> None:
    text = "@app:playback define stream S (k string, v int); from S#window.time(1 sec) select k, v insert into O;"
    with SiddhiManager(policy=SandboxPolicy(max_record_bytes=50_000)).create_siddhi_app_runtime(text) as runtime:
        failed: list[BaseException] = []
        runtime.handle_exception_with(lambda error, *_: failed.append(error))
        handler = runtime.input_handler("S")
        for number in range(2_000):
            handler.send(("a", number), timestamp=1_000)
        assert failed
        failed.clear()
        for number in range(5_000):
            handler.send(("a", number), timestamp=100_000 + 10 * number)
        assert failed == []


def test_lists_of_counting_states_are_counted_and_released() -> None:
    text = """@app:playback define stream S (v int);
        from every e1=S[v >= 0]<1:10000> -> e2=S[v < 0] select e1[0].v as v insert into O;"""
    with SiddhiManager(policy=SandboxPolicy(max_record_bytes=500_000)).create_siddhi_app_runtime(text) as runtime:
        failed: list[BaseException] = []
        runtime.handle_exception_with(lambda error, *_: failed.append(error))
        handler = runtime.input_handler("S")
        for number in range(200):
            handler.send((number,), timestamp=1_000)
        assert failed == []
        for number in range(800):
            handler.send((number,), timestamp=1_000)
        assert {type(error) for error in failed} == {MemoryError}
        assert "SandboxPolicy.max_record_bytes" in str(failed[0])
        handler.send((-1,), timestamp=1_000)
        failed.clear()
        for number in range(200):
            handler.send((number,), timestamp=1_000)
        assert failed == []
