"""The runtime of an app: lifecycle, and access to its elements."""

from __future__ import annotations

import pytest

import siddhi
from siddhi import SiddhiManager
from siddhi.errors import DefinitionNotExistError, NotRunningError, SiddhiAppCreationError
from siddhi.query_compiler import parse
from tests.kit.running import TRADES, collect, running

APP = (
    f"@app:name('A') @app:playback {TRADES}"
    "@info(name = 'means') from Trades#window.length(2) select symbol, avg(price) as mean insert into Means;"
    "from Means select mean insert into Bare;"
)


def create(app: str = APP):
    return SiddhiManager().create_siddhi_app_runtime(app)


def test_events_can_be_sent_between_start_and_shutdown_only():
    runtime = create()
    handler = runtime.input_handler("Trades")
    for send in (
        lambda: handler.send(("IBM", 1.0, 1)),
        lambda: handler.send_events([]),
        lambda: handler.send_batch({"symbol": [], "price": [], "volume": []}),
    ):
        with pytest.raises(NotRunningError, match="'A' is not running, cannot send event to 'Trades'"):
            send()
    runtime.start()
    handler.send(("IBM", 1.0, 1))
    runtime.shutdown()
    with pytest.raises(NotRunningError):
        handler.send(("IBM", 1.0, 1))


def test_starting_and_stopping_twice_changes_nothing():
    runtime = create()
    runtime.start()
    runtime.start()
    assert runtime.is_running
    runtime.shutdown()
    runtime.shutdown()
    assert not runtime.is_running


def test_a_with_statement_starts_and_always_shuts_down():
    runtime = create()
    with runtime as entered:
        assert entered is runtime
        assert runtime.is_running
    assert not runtime.is_running

    def fail():
        with create() as failing:
            runtimes.append(failing)
            raise KeyError

    runtimes = []
    with pytest.raises(KeyError):
        fail()
    assert not runtimes[0].is_running


def test_its_repr_shows_the_state_of_its_lifecycle():
    runtime = create()
    assert repr(runtime) == "<App 'A' (not started)>"
    runtime.start()
    assert repr(runtime) == "<App 'A' (running)>"
    runtime.shutdown()
    assert repr(runtime) == "<App 'A' (shut down)>"


def test_streams_and_queries_are_listed():
    runtime = create()
    assert list(runtime.stream_definitions) == ["Trades", "Means", "Bare"]
    assert [attribute.name for attribute in runtime.stream_definitions["Means"].attributes] == ["symbol", "mean"]
    assert runtime.stream_attributes("Trades") == [("symbol", "string"), ("price", "double"), ("volume", "int")]
    assert runtime.query_names == ("means", "query_2")
    assert runtime.query_attributes("means") == [("symbol", "string"), ("mean", "double")]
    assert runtime.plan.name == "A"


def test_an_unknown_name_is_an_error_with_a_suggestion():
    runtime = create()
    for ask in (
        runtime.input_handler,
        runtime.stream_attributes,
        lambda name: runtime.add_callback(name, print),
        lambda name: runtime.add_batch_callback(name, print),
    ):
        with pytest.raises(DefinitionNotExistError, match=r"no stream 'Trade'.*'Trades'"):
            ask("Trade")
    for ask in (runtime.query_attributes, lambda name: runtime.add_query_callback(name, print)):
        with pytest.raises(DefinitionNotExistError, match="no query 'mean'; did you mean 'means'"):
            ask("mean")


def test_there_is_one_input_handler_per_stream():
    runtime = create()
    assert runtime.input_handler("Trades") is runtime.input_handler("Trades")
    assert runtime.input_handler("Trades").stream == "Trades"
    assert repr(runtime.input_handler("Trades")) == "InputHandler('Trades')"


def test_events_can_be_sent_into_inserted_streams():
    with running(APP) as runtime:
        rows = collect(runtime, "Bare")
        runtime.input_handler("Means").send(("IBM", 2.5))
        assert rows == [(2.5,)]


def test_queries_without_receivers_update_their_state():
    with running(APP) as runtime:
        handler = runtime.input_handler("Trades")
        handler.send(("IBM", 1.0, 1))
        rows = collect(runtime, "Means")
        handler.send(("IBM", 2.0, 1))
        assert rows == [("IBM", 1.5)]


# --- an app with a manager of its own


def test_an_app_is_made_from_its_text():
    app = siddhi.App("define stream S (v int); from S[v > ${least}] select v insert into Out;", least=3)
    rows = collect(app, "Out")
    with app:
        app["S"].send((3,))
        app["S"].send((4,))
    assert rows == [(4,)]
    assert app.manager.runtimes == ()


def test_an_app_knows_its_streams():
    app = siddhi.App("define stream S (v int);")
    assert "S" in app
    assert "T" not in app
    with pytest.raises(DefinitionNotExistError, match="has no stream 'T'"):
        app["T"]


def test_an_app_can_share_a_manager():
    with siddhi.SiddhiManager() as manager:
        app = siddhi.App("@app:name('A') define stream S (v int);", manager=manager)
        assert manager.runtime("A") is app
        app.start()
        with pytest.raises(SiddhiAppCreationError, match="already running"):
            siddhi.App("@app:name('A') define stream S (v int);", manager=manager)
        assert app.is_running
        other = siddhi.App("@app:name('A') define stream S (v int);", manager=manager, replace=True)
        assert not app.is_running
        assert manager.runtime("A") is other


def test_an_object_model_has_no_parameters():
    with pytest.raises(TypeError, match="parameters are for the text of an app"):
        siddhi.App(parse("define stream S (v int);"), v=1)


def test_names_of_another_type_are_refused_in_words_of_the_user():
    app = create()
    assert list(app) == ["Trades", "Means", "Bare"]
    for ask in (app.__getitem__, app.remove, app.collect, app.stream):
        with pytest.raises(
            (DefinitionNotExistError, TypeError, SiddhiAppCreationError), match="a name is a str, not of type int"
        ):
            ask(5)
    for reset in (None, True, 5):
        with pytest.raises(TypeError, match=f"invalid reset {reset}: expected names of elements"):
            app.restore(b"", reset=reset)
    with pytest.raises(TypeError, match=r"invalid manager 3: expected a SiddhiManager; .*parameter \$\{manager\}"):
        siddhi.App("define stream ${manager} (a int);", manager=3)
