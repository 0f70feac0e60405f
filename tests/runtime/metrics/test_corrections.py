"""Statistics of corrected streams, and errors of apps that correct late events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.runtime.assembly.corrections import CorrectedStreams
from siddhi.runtime.metrics.temporal import CorrectionStatistics
from siddhi.runtime.prometheus import SiddhiCollector
from tests.kit.running import running

APP = """@app:name('Late') @app:statistics
@temporal(model = 'point', policy = 'correct', bound = '200') define stream S (id int, value int);
define table Last (id int, value int);
define function inverse[python] return int { return 12 // data[0] };
@info(name = 'sums') from S#window.length(3) select id, sum(value) as total insert into Sums;
@info(name = 'lasts') from S update or insert into Last set Last.value = value on Last.id == id;
@info(name = 'missed') from every one=S[value == 1] -> not S[value == 2] for 35 milliseconds select one.id as id insert into Missed;
@info(name = 'inverses') from S select id, inverse(value) as part insert into Inverses;
"""

TAPE = [
    (10, 1),
    (20, 0),
    (30, 4),
    (15, 2),
    (50, 1),
    (40, 0),
    (12, 3),
    (90, 0),
    (60, 6),
    (95, 1),
    (200, 2),
    (93, 0),
    (94, 5),
]


@contextmanager
def spacing(entries: int) -> Iterator[None]:
    before, CorrectedStreams.spacing = CorrectedStreams.spacing, entries
    try:
        yield
    finally:
        CorrectedStreams.spacing = before


def send(runtime: SiddhiAppRuntime, tape: Sequence[tuple[int, int]]) -> None:
    handler: Any = runtime.input_handler("S")
    for time, value in tape:
        handler.send((time % 3, value), 1000 + time)


def counted(runtime: SiddhiAppRuntime) -> Any:
    read = runtime.statistics
    return (
        {name: stream.events for name, stream in read.streams.items()},
        {name: (query.events, query.chunks) for name, query in read.queries.items()},
        {key: operation.operations for key, operation in read.operations.items()},
    )


def errors_of(runtime: SiddhiAppRuntime) -> Counter[Any]:
    found: Counter[Any] = Counter()
    runtime.handle_exception_with(lambda _, origin, events: found.update((origin, event) for event in shown(events)))
    return found


def shown(events: Sequence[Event]) -> list[tuple[int, tuple[Any, ...]]]:
    return [(event.timestamp, event.data) for event in events]


@pytest.mark.parametrize("entries", [0, 1, 3])
def test_replays_do_not_count_as_events_and_their_errors_are_repeated(entries: int) -> None:
    with spacing(entries), running(APP) as runtime, running(APP.replace("'Late'", "'InOrder'")) as other:
        errors, expected = errors_of(runtime), errors_of(other)
        runtime.add_temporal_callback("Sums", lambda items: None)
        send(runtime, TAPE)
        send(other, sorted(TAPE))
        assert counted(runtime) == counted(other)
        assert errors == expected
        assert set(errors.values()) == {1}
        assert other.statistics.corrections is not None
        assert other.statistics.corrections.replayed == 0


def test_counting_begins_when_statistics_are_switched_on() -> None:
    with spacing(2), running(APP) as runtime:
        send(runtime, [(10, 1), (20, 2), (30, 3), (40, 4), (50, 5)])
        runtime.enable_statistics("OFF")
        send(runtime, [(25, 1)])
        runtime.enable_statistics("BASIC")
        send(runtime, [(60, 6), (15, 1), (70, 7)])
        streams, queries, _ = counted(runtime)
        assert (streams["S"], streams["Sums"]) == (3, 3)
        assert queries["sums"] == (3, 3)


def test_a_stream_has_its_horizon_and_the_app_what_it_keeps() -> None:
    with spacing(4), running(APP) as runtime:
        before = runtime.statistics.temporal["S"]
        assert (before.cti, before.lag) == (None, None)
        errors_of(runtime)
        runtime.add_temporal_callback("Sums", lambda items: None)
        send(runtime, [*TAPE, (500, 1), (100, 1)])
        found = runtime.statistics.temporal["S"]
        assert (found.cti, found.late, found.dropped) == (1300, 6, 1)
        assert found.lag is not None
        kept = runtime.statistics.corrections
        assert kept is not None
        assert kept.replays == 6
        assert kept.replayed > 6
        assert 0 < kept.retracted <= kept.inserted
        assert 0 < kept.events <= len(TAPE) + 1
        assert kept.rows > 0
        assert kept.checkpoint_bytes > kept.checkpoints > 0
        runtime.input_handler("S").cti(1400)  # type: ignore[union-attr]
        assert runtime.statistics.temporal["S"].cti == 1400
        metrics = runtime.statistics.metrics("*.Corrections.*,*.Streams.S.*")
        prefix = "io.siddhi.SiddhiApps.Late.Siddhi."
        assert metrics[prefix + "Streams.S.late"] == 6
        assert metrics[prefix + "Corrections.app.checkpointBytes"] == kept.checkpoint_bytes


def test_an_app_without_corrections_has_none() -> None:
    with running("@app:statistics define stream S (id int);") as runtime:
        assert runtime.statistics.corrections is None


def test_prometheus_gets_the_statistics_of_corrections() -> None:
    registry = CollectorRegistry()
    with SiddhiManager() as manager, running(APP, manager=manager) as runtime:
        registry.register(SiddhiCollector(manager))
        errors_of(runtime)
        send(runtime, TAPE)
        read = runtime.statistics.corrections
        text = generate_latest(registry).decode()
    assert isinstance(read, CorrectionStatistics)
    assert 'siddhi_temporal_late_total{app="Late",stream="S"} 6.0' in text
    assert f'siddhi_corrections_replayed_total{{app="Late"}} {float(read.replayed)}' in text
    assert f'siddhi_corrections_events{{app="Late"}} {float(read.events)}' in text


@pytest.mark.parametrize("restores", [False, True])
@pytest.mark.parametrize("of_timers", [False, True])
def test_errors_reported_before_are_not_news(*, restores: bool, of_timers: bool) -> None:
    number = "count()" if of_timers else "value"
    app = f"""@temporal(model = 'point', policy = 'correct', bound = '1 sec') define stream S (id int, value int);
        define function inverse[python] return int {{ return 12 // data[0] }};
        from S{"#window.time(20)" * of_timers} select id, inverse({number}) as part insert all events into O;"""
    with running(app) as runtime, running(app) as other:
        found: list[str] = []
        for one in (runtime, other):
            one.handle_exception_with(lambda _, origin, __: found.append(origin))
        send(runtime, [(10, 0), (50, 0), (100, 1)])
        assert found == ["timer" if of_timers else "S"] * 2
        if restores:
            other.restore(runtime.snapshot())
        found.clear()
        late = other if restores else runtime
        send(late, [(11, 1), (9, 1)])
        assert found == []
        send(late, [(200, 0), (80, 0)])
        assert len(found) == 2


def test_the_handler_of_errors_gets_them_once_after_a_restart_too() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(APP)
        errors = errors_of(runtime)
        for _ in range(2):
            errors.clear()
            runtime.start()
            send(runtime, [(10, 1), (20, 0), (5, 1)])
            assert sum(errors.values()) == 1
            runtime.shutdown()


def test_callbacks_that_fail_with_a_correction_are_reported() -> None:
    with running(APP) as runtime:
        found: list[str] = []
        runtime.handle_exception_with(lambda _, origin, __: found.append(origin))

        def fail(items: object) -> None:
            raise ValueError

        runtime.add_temporal_callback("Sums", fail)
        send(runtime, [(10, 1), (20, 1), (15, 1)])
        assert found == ["temporal callback of 'Sums'"] * 3
