"""Stream processors and windows in Python, from their declaration to the output."""

from __future__ import annotations

import gc
from collections import deque
from typing import Any

import pytest

from siddhi import AttributeType, Event, SiddhiManager, extension
from siddhi._core.record.event import live_events, live_pools
from siddhi.errors import ExtensionError, SiddhiAppCreationError, SiddhiAppError
from siddhi.extension import RESET, Parameter, Registry
from tests.kit.running import collect, collect_events, running

INT, LONG, STRING = AttributeType.INT, AttributeType.LONG, AttributeType.STRING
OWN = Registry()
TIME = frozenset({INT, LONG})
STREAM = "define stream S (k string, v int);"


def _positive(_types: Any, constants: Any) -> None:
    if any(constant is not None and constant <= 0 for constant in constants if not isinstance(constant, str)):
        raise ValueError("a period must be positive", "write it as a time, such as 10 sec")


@extension.stream_processor(
    "t:deduplicate", args=(STRING, Parameter("period", TIME, dynamic=False)), check=_positive, registry=OWN
)
class Deduplicate:
    """Drops events whose key has been seen within the period."""

    def __init__(self, context: extension.ProcessorContext) -> None:
        self.context = context
        self.seen: dict[str, int] = {}

    def process(self, event: Event, key: str, period: int) -> Event | None:
        if key in self.seen:
            return None
        self.seen[key] = self.context.now + period
        self.context.schedule(self.context.now + period)
        return event

    def on_timer(self, time: int) -> None:
        self.seen = {key: until for key, until in self.seen.items() if until > time}


@extension.stream_processor("t:sample", args=(Parameter("every", frozenset({INT}), dynamic=False),), registry=OWN)
class Sample:
    """Passes every n-th event."""

    def __init__(self, context: extension.ProcessorContext) -> None:
        (self.every,) = context.arguments
        self.count = 0

    def process(self, event: Event, _every: int) -> Event | None:
        self.count += 1
        return event if self.count % self.every == 0 else None


@extension.stream_processor("t:words", args=(STRING,), appends={"word": STRING, "n": INT}, registry=OWN)
class Words:
    """One event for every word."""

    def __init__(self, context: extension.ProcessorContext) -> None:
        self.context = context

    def process(self, event: Event, text: str) -> Any:
        for n, word in enumerate(text.split()):
            yield Event(event.timestamp, (*event.data, word, n), event.is_expired)


@extension.stream_processor("t:late", args=(TIME,), registry=OWN)
class Late:
    """Holds events back for a time."""

    def __init__(self, context: extension.ProcessorContext) -> None:
        self.context = context
        self.held: deque[tuple[int, Event]] = deque()

    def process(self, event: Event, period: int) -> None:
        self.held.append((self.context.now + period, event))
        self.context.schedule(self.context.now + period)

    def on_timer(self, time: int) -> Any:
        while self.held and self.held[0][0] <= time:
            yield self.held.popleft()[1]


@extension.window(
    "t:hopping",
    args=(Parameter("length", TIME, dynamic=False), Parameter("hop", TIME, dynamic=False)),
    batch=True,
    check=_positive,
    registry=OWN,
)
class Hopping:
    """What came in the last period, every hop."""

    def __init__(self, context: extension.ProcessorContext) -> None:
        self.context = context
        self.length, self.hop = context.arguments
        self.held: list[Event] = []
        self.shown: list[Event] = []

    def process(self, event: Event, *_: int) -> None:
        if not self.held and not self.shown:
            self.context.schedule(self.context.now + self.hop)
        self.held.append(event)

    def on_timer(self, time: int) -> Any:
        yield from (Event(time, event.data, True) for event in self.shown)
        yield RESET
        self.held = [event for event in self.held if event.timestamp > time - self.length]
        self.shown = list(self.held)
        yield from self.shown
        if self.shown:
            self.context.schedule(time + self.hop)

    def events(self) -> list[Event]:
        return self.shown

    def snapshot(self) -> Any:
        return self.held, self.shown

    def restore(self, state: Any) -> None:
        self.held, self.shown = state


@extension.window("t:latest", args=(STRING,), registry=OWN)
class Latest:
    """The latest event of each key."""

    def __init__(self, context: extension.ProcessorContext) -> None:
        self.context = context
        self.held: dict[str, Event] = {}

    def process(self, event: Event, key: str) -> Any:
        before = self.held.get(key)
        self.held[key] = event
        if before is not None:
            yield Event(self.context.now, before.data, is_expired=True)
        yield event

    def events(self) -> Any:
        return self.held.values()


@pytest.fixture
def manager():
    manager = SiddhiManager()
    for one in (Deduplicate, Sample, Words, Late, Hopping, Latest):
        manager.set_extension(one.__siddhi_extension__.full_name, one)
    return manager


def play(manager, app, rows, *, until=None, cut=None):
    """The chunks of Out; the app is snapshotted and restored into a new one where ``cut`` rows have come."""
    app = f"@app:playback {STREAM} {app}"
    chunks = []
    snapshot = None
    parts = [rows] if cut is None else [rows[:cut], rows[cut:]]
    for part in parts:
        with running(app, manager=manager) as runtime:
            if snapshot is not None:
                runtime.restore(snapshot)
            runtime.add_callback("Out", lambda events: chunks.append([event.data for event in events]))
            for time, *row in part:
                runtime.input_handler("S").send(tuple(row), time)
            if part is parts[-1] and until is not None:
                runtime.advance_clock(until)
            snapshot = runtime.snapshot()
    return chunks


DEDUPLICATED = "from S#t:deduplicate(k, 1 sec) select k, v insert into Out;"
ROWS = [(1000, "a", 1), (1500, "a", 2), (1600, "b", 3), (2000, "a", 4), (2300, "b", 5), (2700, "b", 6)]


@pytest.mark.parametrize("cut", [None, 1, 2, 3, 4, 5])
def test_a_processor_can_drop_events_and_use_timers(manager, cut):
    assert play(manager, DEDUPLICATED, ROWS, cut=cut) == [[("a", 1)], [("b", 3)], [("a", 4)], [("b", 6)]]


def test_a_processor_has_literals_and_state_per_partition_key(manager):
    app = "partition with (k of S) begin from S#t:sample(2) select k, v insert into Out; end;"
    rows = [(1, "a", 1), (2, "b", 2), (3, "a", 3), (4, "a", 4), (5, "b", 5), (6, "a", 6)]
    for cut in (None, 3):
        assert play(manager, app, rows, cut=cut) == [[("a", 3)], [("b", 5)], [("a", 6)]]


def test_a_processor_can_add_events_and_attributes_in_one_chunk(manager):
    app = "from S#t:words(k)[n != 1]#t:words(word) select * insert into Out;"
    with pytest.raises(SiddhiAppError, match="appends attribute 'word'"):
        play(manager, app, [])
    app = "from S#t:words(k)[n != 1]#window.length(2) select word, n, v insert into Out;"
    assert play(manager, app, [(1, "x y z", 1), (2, "u", 2)]) == [[("x", 0, 1), ("z", 2, 1)], [("u", 0, 2)]]


@pytest.mark.parametrize("cut", [None, 1, 2])
def test_a_processor_can_delay_events(manager, cut):
    app = "from S#t:late(v * 100) select k, v insert into Out;"
    rows = [(1000, "a", 2), (1000, "b", 2), (1100, "c", 3)]
    assert play(manager, app, rows, until=9999, cut=cut) == [[("a", 2), ("b", 2)], [("c", 3)]]


def test_a_processor_after_a_window_gets_expired_events(manager):
    app = "from S#window.length(1)#t:words(k) select word, n, sum(v) as s group by word insert all events into Out;"
    assert play(manager, app, [(1, "x y", 1), (2, "z", 5)]) == [
        [("x", 0, 1), ("y", 1, 1)],
        [("x", 0, None), ("y", 1, None), ("z", 0, 5)],
    ]


def test_a_processor_can_be_in_joins_and_aggregations(manager):
    app = (
        "define table T (k string, f int); define stream F (k string, f int);"
        "define aggregation A from S#t:sample(2) select sum(v) as total aggregate every sec;"
        "from F insert into T; from S#t:sample(2) join T on S.k == T.k select S.k as k, v, f insert into Out;"
    )
    with running(f"@app:playback {STREAM} {app}", manager=manager) as runtime:
        out = collect(runtime, "Out")
        runtime.input_handler("F").send(("a", 7), 1000)
        for v in (1, 2, 3, 4):
            runtime.input_handler("S").send(("a", v), 1000)
        snapshot = runtime.snapshot()
        assert out == [("a", 2, 7), ("a", 4, 7)]
        assert runtime.query("from A within 0L, 9000L per 'sec' select total")[0].data == (6,)
        runtime.restore(snapshot)


HOPS = "from S#window.t:hopping(2 sec, 1 sec) select k, sum(v) as s group by k insert into Out;"
HOP_ROWS = [(1000, "a", 1), (1500, "b", 2), (2500, "a", 4)]


@pytest.mark.parametrize("cut", [None, 1, 2])
def test_a_batch_window_emits_one_event_per_batch_and_group(manager, cut):
    # At 2000 a and b; at 3000 those after 1000; at 4000 those after 2000; at 5000 none.
    want = [[("a", 1), ("b", 2)], [("b", 2), ("a", 4)], [("a", 4)]]
    assert play(manager, HOPS, HOP_ROWS, until=9000, cut=cut) == want


def test_a_batch_window_expires_its_batches(manager):
    app = HOPS.replace("insert into", "insert expired events into").replace("sum(v)", "max(v)")
    chunks = play(manager, app, HOP_ROWS, until=9000)
    assert [sorted(row[0] for row in chunk) for chunk in chunks] == [["a", "b"], ["a", "b"], ["a"]]


@pytest.mark.parametrize("cut", [None, 2, 3])
def test_expired_events_of_a_window_are_removed_from_aggregates(manager, cut):
    app = "from S#window.t:latest(k) select k, sum(v) as s, count() as c insert into Out;"
    rows = [(1, "a", 1), (2, "b", 2), (3, "a", 10), (4, "b", 20)]
    assert play(manager, app, rows, cut=cut) == [[("a", 1, 1)], [("b", 3, 2)], [("a", 12, 2)], [("b", 30, 2)]]


def test_a_window_can_be_searched_by_joins_and_on_demand(manager):
    app = (
        "define window W (k string, v int) t:latest(k); define stream Q (k string); from S insert into W;"
        "from Q join W on Q.k == W.k select W.k as k, W.v as v insert into Out;"
        "from Q join S#window.t:latest(k) as L select Q.k as k, L.v as v insert into Out2;"
    )
    with running(f"@app:playback {STREAM} {app}", manager=manager) as runtime:
        out, out2 = collect(runtime, "Out"), collect(runtime, "Out2")
        for time, row in enumerate([("a", 1), ("b", 2), ("a", 3)]):
            runtime.input_handler("S").send(row, time)
        runtime.input_handler("Q").send(("a",), 9)
        assert out == [("a", 3)]
        assert out2[-2:] == [("a", 3), ("a", 2)]
        assert [event.data for event in runtime.query("from W on v > 1 select k, v")] == [("a", 3), ("b", 2)]


def test_a_window_without_events_cannot_be_searched(manager):
    @extension.window("t:blind", registry=Registry())
    class Blind:
        def __init__(self, context):
            pass

        def process(self, event):
            return event

    manager.set_extension("t:blind", Blind)
    with pytest.raises(SiddhiAppCreationError, match="t:blind"):
        play(manager, "from S#window.t:blind() as A join S#window.length(1) as B select A.k as k insert into Out;", [])


def test_batches_have_the_output_of_rows(manager):
    apps = [DEDUPLICATED, "from S#window.t:latest(k) select k, sum(v) as s insert all events into Out;", HOPS]
    rows = [(1000 + 130 * n, f"k{n * 7 % 5}", n) for n in range(60)]
    for app in apps:
        want = play(manager, app, rows)
        with running(f"@app:playback {STREAM} {app}", manager=manager) as runtime:
            out = collect(runtime, "Out")
            times, keys, values = zip(*rows, strict=True)
            runtime.input_handler("S").send_batch({"k": keys, "v": values}, timestamp=times)
            assert out == [row for chunk in want for row in chunk]


@extension.stream_processor("t:clockwork", args=(TIME,), registry=OWN)
class Clockwork:
    """Wakes itself again and again."""

    def __init__(self, context: extension.ProcessorContext) -> None:
        self.context = context

    def process(self, event: Event, period: int) -> Event:
        self.period = period
        self.context.schedule(self.context.now + period)
        return event

    def on_timer(self, time: int) -> Event:
        self.context.schedule(time + self.period)
        return Event(time, ("tick", 0))


@pytest.mark.parametrize("timers", ["jump", "exact"])
def test_a_processor_with_endless_timers_has_no_end(manager, timers):
    manager.set_extension("t:clockwork", Clockwork)
    app = f"@app:name('A') @app:playback(timers = '{timers}') {STREAM} @info(name = 'q') from S#t:clockwork(10) select k insert into Out;"
    with running(app, manager=manager) as runtime:
        ticks = collect(runtime, "Out")
        runtime.input_handler("S").send(("a", 1), 1000)
        with pytest.raises(ValueError, match=r"'A' do not end: at 1050, after 5 rounds, query 'q' still waits"):
            runtime.advance_to_end(most_rounds=5)
        assert ticks == [("a",)] + [("tick",)] * 5


def test_a_processor_cannot_set_a_timer_for_the_current_time(manager):
    manager.set_extension("t:clockwork", Clockwork)
    app = f"@app:playback {STREAM} from S#t:clockwork(0) select k insert into Out;"
    errors: list[str] = []
    with running(app, manager=manager) as runtime:
        runtime.handle_exception_with(lambda error, *_: errors.append(str(error)))
        runtime.input_handler("S").send(("a", 1), 1000)
        runtime.advance_clock(2000)
        runtime.advance_to_end()
    assert errors == [
        "stream processor 't:clockwork' failed in on_timer: ValueError: on_timer(1000) cannot schedule 1000: expected a later time"
    ]


def test_live_timers_call_a_processor(manager):
    from threading import Event as Signal

    arrived = Signal()
    with running(f"{STREAM} from S#t:late(1) select k insert into Out;", manager=manager) as runtime:
        runtime.add_callback("Out", lambda events: arrived.set())
        runtime.input_handler("S").send(("a", 1))
        assert arrived.wait(30)


@pytest.mark.parametrize(
    ("query", "said", "place"),
    [
        ("from S#t:deduplicate(k) select k insert into Out;", "does not accept", (1, 42)),
        ("from S#t:deduplicate(k, v) select k insert into Out;", "must be a literal", (1, 59)),
        ("from S#t:deduplicate(k, 0 sec) select k insert into Out;", "must be positive", (1, 42)),
        ("from S#t:dedup(k, 1 sec) select k insert into Out;", "t:dedup", (1, 42)),
        ("from S#window.t:hopping(1 sec) select k insert into Out;", "does not accept", (1, 42)),
        ("from S#t:hopping(1 sec, 1 sec) select k insert into Out;", "t:hopping", (1, 42)),
    ],
)
def test_errors_are_found_when_the_app_is_created(manager, query, said, place):
    with pytest.raises(SiddhiAppCreationError, match=said) as caught:
        manager.create_siddhi_app_runtime(f"{STREAM} {query}")
    assert (caught.value.line, caught.value.column) >= place
    assert caught.value.hint or "literal" in said


def test_a_failing_processor_fails_only_the_event_and_emits_nothing(manager):
    @extension.stream_processor("t:picky", registry=Registry())
    class Picky:
        def __init__(self, context):
            self.context = context

        def process(self, event):
            yield event
            if event["v"] == 1:
                raise KeyError("one")
            if event["v"] == 2:
                yield Event(0, ("too", "long", 3))
            if event["v"] == 3:
                yield "no event"
            if event["v"] == 4:
                yield Event(0, (5, "text"))
            if event["v"] == 5:
                yield RESET

    manager.set_extension("t:picky", Picky)
    with running(f"{STREAM} from S#t:picky() select k, v insert into Out;", manager=manager) as runtime:
        failures = []
        runtime.handle_exception_with(lambda error, origin, events: failures.append((str(error), events[0].data[1])))
        out = collect(runtime, "Out")
        for v in range(7):
            runtime.input_handler("S").send(("a", v))
    assert out == [("a", 0), ("a", 6)]
    assert [v for _, v in failures] == [1, 2, 3, 4, 5]
    assert all("t:picky" in text for text, _ in failures)


def test_unsupported_state_is_refused_by_name(manager):
    @extension.stream_processor("t:odd", registry=Registry())
    class Odd:
        def __init__(self, context):
            self.lock = object()

        def process(self, event):
            return event

    manager.set_extension("t:odd", Odd)
    with running(f"{STREAM} from S#t:odd() select k insert into Out;", manager=manager) as runtime:
        runtime.input_handler("S").send(("a", 1))
        with pytest.raises(Exception, match=r"t:odd.* failed in snapshot"):
            runtime.snapshot()


def test_events_of_a_restored_state_have_their_names(manager):
    rows = [(1000, "a", 2)]

    @extension.stream_processor("t:named", registry=Registry())
    class Named:
        def __init__(self, context):
            self.kept = []

        def process(self, event):
            self.kept.append((event, "\0siddhi.event"))
            return [Event(event.timestamp, (one["k"], one["v"])) for one, _ in self.kept]

    manager.set_extension("t:named", Named)
    app = "from S#t:named() select k, v insert into Out;"
    assert play(manager, app, rows * 2, cut=1) == [[("a", 2)], [("a", 2), ("a", 2)]]


def test_invalid_declarations_are_refused():
    class NoProcess:
        pass

    class NoContext:
        def process(self, event): ...

    class HalfState:
        def __init__(self, context): ...

        def process(self, event): ...

        def snapshot(self): ...

    for one in (NoProcess, NoContext, HalfState):
        for declare in (extension.stream_processor, extension.window):
            with pytest.raises(ExtensionError, match="t:wrong"):
                declare("t:wrong", registry=Registry())(one)
    declare = extension.stream_processor("t:wrong", args=(INT, INT), registry=Registry())
    with pytest.raises(ExtensionError, match="process"):
        declare(Words)


def test_functions_and_processors_of_streams_share_their_names():
    registry = Registry()
    extension.stream_processor("t:words", args=(STRING,), registry=registry)(Words)
    with pytest.raises(ExtensionError, match="taken by"):
        extension.stream_function("t:words", args=(STRING,), registry=registry)(lambda text: None)


def test_chunks_are_separated_by_their_end(manager):
    @extension.window("t:chunk", batch=True, registry=Registry())
    class Chunk:
        def __init__(self, context):
            self.held = []

        def process(self, event):
            self.held.append(event)

        def end_chunk(self):
            held, self.held = self.held, []
            return [RESET, *held]

    manager.set_extension("t:chunk", Chunk)
    with running(f"{STREAM} from S#window.t:chunk() select sum(v) as s insert into Out;", manager=manager) as runtime:
        chunks = collect_events(runtime, "Out")
        runtime.input_handler("S").send_events([Event(1, ("a", 1)), Event(1, ("a", 2))])
        runtime.input_handler("S").send(("a", 5))
    assert [[event.data for event in chunk] for chunk in chunks] == [[(3,)], [(5,)]]


def test_a_collected_app_leaves_no_event_and_no_pool(manager):
    partitioned = "partition with (k of S) begin from S#window.t:latest(k)#t:late(5) select k insert into Out; end;"

    def use() -> None:
        for app in (DEDUPLICATED, HOPS, partitioned):
            play(manager, app, ROWS, cut=3)
        test_a_window_can_be_searched_by_joins_and_on_demand(manager)

    use()
    gc.collect()
    before = live_events(), live_pools()
    for _ in range(3):
        use()
    gc.collect()
    assert (live_events(), live_pools()) == before
