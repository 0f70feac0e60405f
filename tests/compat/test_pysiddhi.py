"""Programs of PySiddhi run over this engine: managers, handlers, callbacks, events, persistence and the debugger."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import siddhi.compat.pysiddhi as PySiddhi
from siddhi.compat.pysiddhi.core.debugger.SiddhiDebugger import SiddhiDebugger
from siddhi.compat.pysiddhi.core.debugger.SiddhiDebuggerCallback import SiddhiDebuggerCallback
from siddhi.compat.pysiddhi.core.event.Event import Event
from siddhi.compat.pysiddhi.core.query.output.callback.QueryCallback import QueryCallback
from siddhi.compat.pysiddhi.core.SiddhiManager import SiddhiManager
from siddhi.compat.pysiddhi.core.stream.output.StreamCallback import StreamCallback
from siddhi.compat.pysiddhi.core.util.EventPrinter import PrintEvent
from siddhi.compat.pysiddhi.DataTypes.DoubleType import DoubleType
from siddhi.compat.pysiddhi.DataTypes.LongType import LongType
from siddhi.errors import EventError, ExtensionError, NoPersistenceStoreError, NotRunningError
from siddhi.extension import Registry, function
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.types import AttributeType

IN, OUT = SiddhiDebugger.QueryTerminal.IN, SiddhiDebugger.QueryTerminal.OUT
STOCKS = """
define stream cseEventStream (symbol string, price float, volume long);
@info(name = 'query1') from cseEventStream[volume < 150] select symbol, price, volume insert into outputStream;
"""


@pytest.fixture
def manager():
    made = SiddhiManager()
    yield made
    made.shutdown()


class Kept(StreamCallback):
    def __init__(self):
        super().__init__()
        self.rows = []

    def receive(self, events):
        self.rows.extend(event.getData() for event in events)


def test_a_program_of_pysiddhi_runs_unchanged():
    program = """
        import siddhi.compat.pysiddhi
        siddhi.compat.pysiddhi.install()

        from PySiddhi.DataTypes.LongType import LongType
        from PySiddhi.core.SiddhiManager import SiddhiManager
        from PySiddhi.core.query.output.callback.QueryCallback import QueryCallback
        from PySiddhi.core.util.EventPrinter import PrintEvent

        siddhiManager = SiddhiManager()
        siddhiAppRuntime = siddhiManager.createSiddhiAppRuntime(
            "@app:playback define stream cseEventStream (symbol string, price float, volume long); "
            "@info(name = 'query1') from cseEventStream[volume < 150] select symbol, price insert into outputStream;"
        )

        class QueryCallbackImpl(QueryCallback):
            def receive(self, timestamp, inEvents, outEvents):
                for event in inEvents:
                    event.setTimestamp(0)
                PrintEvent(0, inEvents, outEvents)

        siddhiAppRuntime.addCallback("query1", QueryCallbackImpl())
        inputHandler = siddhiAppRuntime.getInputHandler("cseEventStream")
        siddhiAppRuntime.start()
        inputHandler.send(["IBM", 700.0, LongType(100)])
        inputHandler.send(["WSO2", 60.5, LongType(200)])
        inputHandler.send(["GOOG", 50, LongType(30)])
        siddhiManager.shutdown()
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == [
        f"Events{{ @timestamp = 0, inEvents = [Event{{timestamp=0, data={data}, isExpired=false}}], RemoveEvents = null }}"
        for data in ("[IBM, 700.0]", "[GOOG, 50.0]")
    ]


def test_modules_are_attributes_of_the_package(manager):
    assert PySiddhi.core.SiddhiManager.SiddhiManager is SiddhiManager
    assert PySiddhi.DataTypes.LongType.LongType is LongType
    assert PySiddhi.SiddhiLoader.loadLibrary() is None


def test_an_imported_package_of_the_name_is_not_replaced(monkeypatch):
    monkeypatch.setitem(sys.modules, "PySiddhi5", sys)
    with pytest.raises(ImportError, match="PySiddhi5 is already imported"):
        PySiddhi.install("PySiddhi5")


def test_numbers_take_the_type_of_their_attribute(manager):
    app = manager.createSiddhiAppRuntime(
        "define stream S (i int, l long, f float, d double); from S select * insert into Out;"
    )
    out = Kept()
    app.addCallback("Out", out)
    app.start()
    app.getInputHandler("S").send([2.9, 60.5, 3, 4])
    app.getInputHandler("S").send([None, -1.5, None, None])
    assert out.rows == [[2, 60, 3.0, 4.0], [None, -1, None, None]]
    assert [type(value) for value in out.rows[0]] == [int, LongType, float, DoubleType]


def test_a_number_that_no_integer_is_names_its_attribute(manager):
    app = manager.createSiddhiAppRuntime("define stream S (a int);")
    app.start()
    with pytest.raises(EventError, match=r"'S'.*'a' \(int\) can't take nan"):
        app.getInputHandler("S").send([float("nan")])


def test_an_app_processes_events_before_its_start(manager):
    app = manager.createSiddhiAppRuntime(STOCKS)
    out = Kept()
    app.addCallback("outputStream", out)
    app.getInputHandler("cseEventStream").send(["IBM", 1.5, 7])
    assert out.rows == [["IBM", 1.5, 7]]


def test_nothing_is_sent_after_a_shutdown(manager):
    app = manager.createSiddhiAppRuntime(STOCKS)
    kept, handler = Kept(), app.getInputHandler("cseEventStream")
    app.addCallback("outputStream", kept)
    handler.send(["IBM", 700.0, 100])
    app.shutdown()
    for sender in (handler, app.getInputHandler("cseEventStream")):
        with pytest.raises(NotRunningError, match="not running"):
            sender.send(["WSO2", 60.5, 100])
    assert kept.rows == [["IBM", 700.0, 100]]
    app.start()
    handler.send(["WSO2", 60.5, 120])
    assert kept.rows[1:] == [["WSO2", 60.5, 120]]


def test_wrapped_data_are_the_values():
    from siddhi.compat.pysiddhi.DataTypes import DataWrapper

    row = [LongType(5), DoubleType(1.0), "a", None, [1]]
    for name in ("wrapData", "unwrapData", "wrapDataList", "unwrapDataList"):
        copied = getattr(DataWrapper, name)(row)
        assert copied == row
        assert copied is not row
        assert [type(value) for value in copied] == [type(value) for value in row]
    assert DataWrapper.wrapDataItem(None) is None
    assert type(DataWrapper.unwrapDataItem(LongType(5))) is DataWrapper.LongType
    assert DataWrapper.unwrapHashMap({"a": {"b": None}}) == {"a": {"b": None}}
    assert DataWrapper.unwrapHashMap(5) == 5


def test_query_callbacks_get_current_and_expired_events(manager):
    app = manager.createSiddhiAppRuntime(
        "define stream S (v int); @info(name = 'q') from S#window.length(1) select v insert all events into Out;"
    )
    got = []

    class Both(QueryCallback):
        def receive(self, timestamp, inEvents, outEvents):  # noqa: N803
            got.append(
                [[(event.getData(0), event.isExpired()) for event in some or ()] for some in (inEvents, outEvents)]
            )

    app.addCallback("q", Both())
    app.start()
    app.getInputHandler("S").send([1])
    app.getInputHandler("S").send([2])
    assert got == [[[(1, False)], []], [[(2, False)], [(1, True)]]]


def test_callbacks_must_be_of_its_classes(manager):
    app = manager.createSiddhiAppRuntime(STOCKS)
    with pytest.raises(TypeError, match="QueryCallback or a StreamCallback"):
        app.addCallback("query1", print)


def test_state_is_saved_and_restored(manager):
    app = manager.createSiddhiAppRuntime(
        "@app:name('A') define stream S (v int); from S#window.length(9) select sum(v) as total insert into Out;"
    )
    out = Kept()
    app.addCallback("Out", out)
    app.start()
    with pytest.raises(NoPersistenceStoreError):
        app.persist()
    manager.setPersistenceStore(InMemoryPersistenceStore())
    send = app.getInputHandler("S").send
    send([1])
    revision = app.persist().getRevision()
    send([2])
    app.restoreRevision(revision)
    send([4])
    app.restoreLastRevision()
    send([8])
    assert app.getName() == "A"
    assert isinstance(app.snapshot(), bytes)
    assert out.rows == [[1], [3], [5], [9]]
    manager.persist()
    manager.restoreLastState()


def test_extensions_in_java_are_known_by_name_or_refused(manager):
    manager.setExtension("coalesce", "io.siddhi.core.executor.function.CoalesceFunctionExecutor")
    assert "coalesce" in manager.getExtensions()
    with pytest.raises(ExtensionError, match=r"is in Java: declare one with siddhi\.extension"):
        manager.setExtension("my:own", "org.example.MyOwn")


def test_an_extension_in_python_is_called_and_listed(manager):
    @function("my:twice", args=[AttributeType.INT], returns=AttributeType.INT, registry=Registry())
    def twice(value: int) -> int:
        return 2 * value

    manager.setExtension("my:twice", twice)
    assert manager.getExtensions()["my:twice"] is twice
    app = manager.createSiddhiAppRuntime("define stream S (v int); from S select my:twice(v) as w insert into Out;")
    out = Kept()
    app.addCallback("Out", out)
    app.getInputHandler("S").send([3])
    assert out.rows == [[6]]


def test_events_compare_by_value_and_type():
    event = Event(1, [2, LongType(3)])
    assert event.getData() == [2, LongType(3)]
    assert type(event.getData(1)) is LongType
    copy = Event(2)
    assert copy.getData() == [None, None]
    copy.copyFrom(event)
    assert copy == event
    assert hash(copy) == hash(event)
    assert str(copy) == "Event{timestamp=1, data=[2, 3], isExpired=false}"
    assert event != Event(1, [2, 3])
    event.setExpired(True)
    event.setId(7)
    event.setData([None])
    assert (event.isExpired(), event.getId(), event.getData(0)) == (True, 7, None)
    assert not event.equals(copy)


@pytest.mark.parametrize(
    "arguments", [{"timeStamp": 1}, {"data": [1]}, {"dataSizeOrTimeStamp": 1, "data": [1], "dataSize": 1}]
)
def test_other_forms_of_events_are_refused(arguments):
    with pytest.raises(TypeError, match="a size, or a timestamp and data"):
        Event(**arguments)


def test_events_are_printed_as_siddhi_prints_them(capsys):
    PrintEvent(5, None, [Event(timeStamp=1, data=["a", True, None])])
    assert capsys.readouterr().out == (
        "Events{ @timestamp = 5, inEvents = null, "
        "RemoveEvents = [Event{timestamp=1, data=[a, true, null], isExpired=false}] }\n"
    )


class Steps(SiddhiDebuggerCallback):
    def __init__(self, change=lambda event: None):
        super().__init__()
        self.stops, self.change = [], change

    def debugEvent(self, complexEvent, queryName, queryTerminal, debugger):  # noqa: N802, N803
        rows, event = [], complexEvent
        while event is not None:
            rows.append(event.getOutputData())
            event = event.getNext()
        self.stops.append((queryName, queryTerminal.name, rows))
        self.change(complexEvent)
        debugger.next()


def debugged(manager, window=""):
    app = manager.createSiddhiAppRuntime(
        f"define stream S (k string, v long); @info(name = 'q') from S{window} select k, v insert into Out;"
    )
    out = Kept()
    app.addCallback("Out", out)
    return app, app.debug(), out


def test_next_stops_where_events_enter_and_leave(manager):
    app, debugger, out = debugged(manager, "#window.lengthBatch(2)")
    debugger.acquireBreakPoint("q", IN)
    steps = Steps()
    debugger.setDebuggerCallback(steps)
    send = app.getInputHandler("S").send
    send(["a", 1])
    send(["b", 2])
    assert steps.stops == [
        ("q", "IN", [["a", 1]]),
        ("q", "IN", [["b", 2]]),
        ("q", "OUT", [["a", 1], ["b", 2]]),
    ]
    debugger.releaseBreakPoint("q", IN)
    debugger.releaseAllBreakPoints()
    assert out.rows == [["a", 1], ["b", 2]]


def test_a_changed_event_goes_on_changed(manager):
    app, debugger, out = debugged(manager)
    debugger.acquireBreakPoint("q", IN)

    def change(event):
        assert (event.getType(), type(event.getAttribute(1))) == (event.Type.CURRENT, LongType)
        event.setOutputData(event.getAttribute(1) * 10.0, 1)
        event.setAttribute(event.getAttribute(0).upper(), 0)

    steps = Steps(change)
    debugger.setDebuggerCallback(steps)
    app.getInputHandler("S").send(["a", 1])
    assert out.rows == [["A", 100]]  # changed at IN, and again at OUT
    assert [rows for _, _, rows in steps.stops] == [[["a", 1]], [["A", 10]]]


def test_without_a_callback_the_query_state_can_be_read(manager):
    app, debugger, out = debugged(manager, "#window.length(3)")
    debugger.setDebuggerCallback(Steps())
    debugger.setDebuggerCallback(None)
    app.getInputHandler("S").send(["a", 1])
    assert "window" in debugger.getQueryState("q")
    assert out.rows == [["a", 1]]
