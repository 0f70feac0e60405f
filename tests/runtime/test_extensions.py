"""Functions, aggregators and stream functions in Python, from their declaration to the output."""

from __future__ import annotations

import pytest

from siddhi import AttributeType, SiddhiManager
from siddhi.errors import ExtensionError, SiddhiAppCreationError
from siddhi.extension import decorators as extension
from siddhi.extension.registry import Registry
from tests.kit.running import collect, running

DOUBLE, INT, LONG, STRING = AttributeType.DOUBLE, AttributeType.INT, AttributeType.LONG, AttributeType.STRING
OWN = Registry()  # declared here, known only to the managers that are given them


@extension.function("test:join", args=(STRING, INT), returns=STRING, registry=OWN)
def join(text: str | None, number: int | None) -> str | None:
    """Text and number, side by side."""
    return None if text is None or number is None else f"{text}/{number}"


@extension.aggregator("test:product", args=(INT,), returns=LONG, registry=OWN)
class Product:
    """The product of all values."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def add(self, value: int) -> None:
        self.values.append(value)

    def remove(self, value: int) -> None:
        self.values.remove(value)

    def reset(self) -> None:
        self.values.clear()

    def value(self) -> int:
        product = 1
        for value in self.values:
            product *= value
        return product

    def snapshot(self) -> list[int]:
        return list(self.values)

    def restore(self, state: list[int]) -> None:
        self.values = list(state)


@extension.stream_function("test:halves", args=(INT,), appends={"half": INT, "rest": INT}, registry=OWN)
def halves(number: int) -> tuple[int, int]:
    """Half of a number, and what remains."""
    return divmod(number, 2)


@pytest.fixture
def manager():
    manager = SiddhiManager()
    manager.set_extension("test:join", join)
    manager.set_extension("test:product", Product)
    manager.set_extension("test:halves", halves)
    return manager


STREAM = "define stream S (t string, v int);"


def play(manager, query, rows):
    with running(f"@app:playback {STREAM} {query}", manager=manager) as runtime:
        out = collect(runtime, "Out")
        for time, row in enumerate(rows):
            runtime.input_handler("S").send(row, time)
        return out


def test_a_function_gets_and_returns_python_values(manager):
    out = play(manager, "from S[test:join(t, v) != 'b/2'] select test:join(t, v + 1) as j insert into Out;",
               [("a", 1), ("b", 2), (None, 3), ("c", None)])  # fmt: skip
    assert out == [("a/2",), (None,), (None,)]


def test_an_aggregator_adds_and_removes(manager):
    query = "from S#window.length(2) select t, test:product(v) as p group by t insert into Out;"
    out = play(manager, query, [("a", 2), ("a", 3), ("a", 5), ("b", 7)])
    assert out == [("a", 2), ("a", 6), ("a", 15), ("b", 7)]


def test_an_aggregator_is_reset_between_batches(manager):
    query = "from S#window.lengthBatch(2) select test:product(v) as p insert into Out;"
    assert play(manager, query, [("a", 2), ("a", 3), ("a", 5), ("a", 7)]) == [(6,), (35,)]


def test_the_state_of_an_aggregator_is_part_of_snapshots(manager):
    app = f"{STREAM} from S select test:product(v) as p insert into Out;"
    with running(app, manager=manager) as runtime:
        for value in (2, 3):
            runtime.input_handler("S").send(("a", value))
        snapshot = runtime.snapshot()
    with running(app, manager=manager) as runtime:
        out = collect(runtime, "Out")
        runtime.restore(snapshot)
        runtime.input_handler("S").send(("a", 5))
        assert out == [(30,)]


def test_a_stream_function_appends_attributes(manager):
    query = "from S#test:halves(v)[rest == 1]#window.length(2) select v, half, sum(half) as s insert into Out;"
    assert play(manager, query, [("a", 7), ("a", 8), ("a", 9)]) == [(7, 3, 3), (9, 4, 7)]


def test_types_are_checked_when_the_app_is_created(manager):
    for query in (
        "from S select test:join(v, v) as j insert into Out;",
        "from S select test:join(t) as j insert into Out;",
        "from S select test:product(t) as j insert into Out;",
        "from S#test:halves(t) select * insert into Out;",
        "from S select test:nothing(t) as j insert into Out;",
    ):
        with pytest.raises(SiddhiAppCreationError):
            manager.create_siddhi_app_runtime(f"{STREAM} {query}")


def test_a_result_of_the_wrong_type_fails_only_the_event(manager):
    @extension.function("test:wrong", args=(INT,), returns=INT, registry=Registry())
    def wrong(value: int) -> object:
        return "text" if value == 2 else value

    manager.set_extension("test:wrong", wrong)
    with running(f"{STREAM} from S select test:wrong(v) as v insert into Out;", manager=manager) as runtime:
        failures = []
        runtime.handle_exception_with(lambda error, origin, events: failures.append(events[0].data))
        out = collect(runtime, "Out")
        for value in (1, 2, 3):
            runtime.input_handler("S").send(("a", value))
        assert out == [(1,), (3,)]
        assert failures == [("a", 2)]


def test_an_exception_of_an_extension_fails_only_the_event(manager):
    @extension.stream_function("test:picky", args=(INT,), appends={"x": INT}, registry=Registry())
    def picky(value: int) -> int:
        return 10 // value

    manager.set_extension("test:picky", picky)
    with running(f"{STREAM} from S#test:picky(v) select x insert into Out;", manager=manager) as runtime:
        failures = []
        runtime.handle_exception_with(lambda error, origin, events: failures.append(type(error)))
        out = collect(runtime, "Out")
        for value in (1, 0, 5):
            runtime.input_handler("S").send(("a", value))
        assert out == [(10,), (2,)]
        assert failures == [ZeroDivisionError]


def test_an_extension_belongs_to_its_manager(manager):
    app = f"{STREAM} from S select test:join(t, v) as j insert into Out;"
    manager.validate_siddhi_app(app)
    with pytest.raises(SiddhiAppCreationError, match="test:join"):
        SiddhiManager().validate_siddhi_app(app)


def test_setting_an_extension_again_replaces_it_for_later_apps(manager):
    @extension.function("test:join", args=(STRING, INT), returns=STRING, registry=Registry())
    def other(text: str, number: int) -> str:
        return "other"

    app = f"{STREAM} from S select test:join(t, v) as j insert into Out;"
    with running(app, manager=manager) as before:
        manager.set_extension("test:join", other)
        with running(app, manager=manager) as after:
            rows = [collect(before, "Out"), collect(after, "Out")]
            for runtime in (before, after):
                runtime.input_handler("S").send(("a", 1))
    assert rows == [[("a/1",)], [("other",)]]


def test_invalid_extensions_are_refused(manager):
    with pytest.raises(ExtensionError):
        manager.set_extension("test:other", join)
    with pytest.raises(ExtensionError):
        manager.set_extension("test:print", print)


@pytest.mark.parametrize("function", [print, max, [].append])
def test_functions_without_a_place_for_the_declaration_are_refused(function):
    for declare in (
        extension.function("test:c", args=(INT,), returns=INT, registry=Registry()),
        extension.stream_function("test:c", args=(INT,), appends={"x": INT}, registry=Registry()),
    ):
        with pytest.raises(ExtensionError, match="wrap it in a function of your own"):
            declare(function)


def test_generators_are_no_functions_of_events():
    def values(value: int):
        yield value

    for declare in (
        extension.function("test:g", args=(INT,), returns=INT, registry=Registry()),
        extension.stream_function("test:g", args=(INT,), appends={"x": INT}, registry=Registry()),
    ):
        with pytest.raises(ExtensionError, match="can't be a generator"):
            declare(values)
    assert not hasattr(values, "__siddhi_extension__")
