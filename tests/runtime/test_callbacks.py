"""Stream, query and batch callbacks: arguments, order, exceptions."""

from __future__ import annotations

import pytest

from siddhi import Event, SiddhiManager
from tests.kit.running import TRADES, collect, collect_events, running

PASS = f"{TRADES} @info(name = 'q') from Trades select symbol, volume insert into Out;"
ROW = ("IBM", 1.0, 7)


def test_a_stream_callback_gets_chunks_of_events():
    with running(PASS) as runtime:
        chunks = collect_events(runtime, "Out")
        handler = runtime.input_handler("Trades")
        handler.send(ROW, 1000)
        handler.send_events([Event(1001, ROW), Event(1002, ROW)])
        assert [[event.timestamp for event in chunk] for chunk in chunks] == [[1000], [1001, 1002]]
        event = chunks[0][0]
        assert event.data == ("IBM", 7)
        assert (event["volume"], event[0], len(event), event.to_dict()) == (7, "IBM", 2, {"symbol": "IBM", "volume": 7})
        assert repr(event) == "Event(1000, (symbol='IBM', volume=7))"
        assert event == Event(1000, ("IBM", 7))


def test_events_are_valid_after_the_shutdown_of_the_app():
    with running(PASS) as runtime:
        chunks = collect_events(runtime, "Out")
        runtime.input_handler("Trades").send(ROW, 1000)
    del runtime
    assert chunks[0][0].data == ("IBM", 7)


def test_a_query_callback_gets_both_kinds_of_events_before_the_stream_does():
    app = f"{TRADES} @info(name = 'q') from Trades#window.length(1) select volume insert all events into Out;"
    with running(f"@app:playback {app}") as runtime:
        seen = []
        runtime.add_callback("Out", lambda events: seen.append(("stream", [event.data[0] for event in events])))
        runtime.add_query_callback("q", lambda *call: seen.append(("query", call)))
        for number in (1, 2):
            runtime.input_handler("Trades").send(("IBM", 1.0, number), 1000 * number)
        assert [what for what, _ in seen] == ["query", "stream", "query", "stream"]
        assert seen[0][1] == (1000, [Event(1000, (1,))], None)
        assert seen[2][1] == (2000, [Event(2000, (2,))], [Event(2000, (1,), is_expired=True)])
        assert seen[3][1] == [1, 2]


def test_a_batch_callback_gets_columns_once_per_batch():
    with running(PASS) as runtime:
        batches = []
        runtime.add_batch_callback("Out", batches.append)
        handler = runtime.input_handler("Trades")
        handler.send_batch({"symbol": ["A", None], "price": [1.0, 2.0], "volume": [1, 2], "ts": [5, 6]}, timestamp="ts")
        handler.send(ROW, 7)
        assert [len(batch) for batch in batches] == [2, 1]
        assert batches[0].timestamps.tolist() == [5, 6]
        assert batches[0]["volume"].tolist() == [1, 2]
        assert batches[0].column("symbol") == ["A", None]


def test_callbacks_of_a_stream_are_called_in_order_of_registration():
    with running(PASS) as runtime:
        order = []
        for name in "abc":
            runtime.add_callback("Trades", lambda events, name=name: order.append(name))
        runtime.input_handler("Trades").send(ROW)
        assert order == ["a", "b", "c"]


def test_a_removed_callback_is_not_called_again():
    with running(PASS) as runtime:
        seen = []
        runtime.add_callback("Out", seen.append)
        runtime.add_query_callback("q", lambda *call: None)
        runtime.input_handler("Trades").send(ROW)
        runtime.remove_callback(seen.append)
        runtime.input_handler("Trades").send(ROW)
        assert len(seen) == 1


def test_removing_a_function_removes_it_from_all_streams():
    with running(PASS) as runtime:
        calls = []

        def note(*arguments):
            calls.append(arguments)

        runtime.add_callback("Trades", note)
        runtime.add_callback("Out", note)
        runtime.add_batch_callback("Out", note)
        runtime.add_query_callback("q", note)
        runtime.input_handler("Trades").send(ROW)
        assert len(calls) == 4
        runtime.remove_callback(note)
        runtime.input_handler("Trades").send(ROW)
        assert len(calls) == 4
        with pytest.raises(ValueError, match="is not a callback of app"):
            runtime.remove_callback(note)


def test_a_callback_can_remove_itself_and_others():
    with running(PASS) as runtime:
        calls = []

        def once(events):
            calls.append("once")
            runtime.remove_callback(once)
            runtime.remove_callback(other)

        def other(events):
            calls.append("other")

        runtime.add_callback("Out", once)
        runtime.add_callback("Out", other)
        rows = collect(runtime, "Out")
        for _ in range(2):
            runtime.input_handler("Trades").send(ROW)
        assert calls == ["once"]
        assert len(rows) >= 1


def test_a_callback_can_send():
    app = f"@app:playback {TRADES} from Trades[volume > 0] select symbol, price, volume insert into Out;"
    with running(app) as runtime:
        handler = runtime.input_handler("Trades")
        order = []

        def halve(events):
            for event in events:
                order.append(("begin", event["volume"]))
                handler.send((event["symbol"], event["price"], event["volume"] // 2))
                order.append(("end", event["volume"]))

        runtime.add_callback("Out", halve)
        handler.send(("IBM", 1.0, 4), 1000)
        # Depth first: the inner send is over before the outer callback goes on.
        assert order == [("begin", 4), ("begin", 2), ("begin", 1), ("end", 1), ("end", 2), ("end", 4)]


def test_a_callback_can_send_into_its_own_window():
    app = f"@app:playback {TRADES} from Trades#window.length(2) select volume, sum(volume) as total insert into Out;"
    with running(app) as runtime:
        handler = runtime.input_handler("Trades")
        rows = []

        def again(events):
            for event in events:
                rows.append(event.data)
                if event["volume"] == 1:
                    handler.send(("again", 1.0, 10), 1000)

        runtime.add_callback("Out", again)
        for number in (1, 2, 1, 3):
            handler.send(("IBM", 1.0, number), 1000)
        assert rows == [(1, 1), (10, 11), (2, 12), (1, 3), (10, 11), (3, 13)]


def test_a_callback_can_add_callbacks_and_send_during_a_batch():
    with running(PASS) as runtime:
        handler = runtime.input_handler("Trades")
        rows = collect(runtime, "Out")

        def interfere(events):
            runtime.remove_callback(interfere)
            handler.send(("between", 0.0, 0), 5)

        runtime.add_callback("Trades", interfere)
        handler.send_batch({"symbol": ["a", "b"], "price": [1.0, 2.0], "volume": [1, 2]}, timestamp=[1, 2])
        assert rows == [("a", 1), ("between", 0), ("b", 2)]


class TestExceptions:
    """An exception of a callback goes to the handler; neighbours and later events are not affected."""

    @pytest.fixture
    def failures(self):
        return []

    @pytest.fixture
    def runtime(self, failures):
        with running(PASS) as runtime:
            runtime.handle_exception_with(lambda *failure: failures.append(failure))
            yield runtime

    @staticmethod
    def fail(*arguments):
        raise RuntimeError("out of order")

    def test_of_a_stream_callback(self, runtime, failures):
        runtime.add_callback("Out", self.fail)
        rows = collect(runtime, "Out")
        for _ in range(2):
            runtime.input_handler("Trades").send(ROW, 1000)
        assert rows == [("IBM", 7)] * 2
        assert len(failures) == 2
        error, origin, events = failures[0]
        assert str(error) == "out of order"
        assert origin == "callback of 'Out'"
        assert events == [Event(1000, ("IBM", 7))]

    def test_of_a_query_callback(self, runtime, failures):
        runtime.add_query_callback("q", self.fail)
        rows = collect(runtime, "Out")
        runtime.input_handler("Trades").send(ROW, 1000)
        assert rows == [("IBM", 7)]
        assert failures[0][1:] == ("query callback", [Event(1000, ("IBM", 7))])

    def test_of_a_batch_callback(self, runtime, failures):
        runtime.add_batch_callback("Out", self.fail)
        sizes = []
        runtime.add_batch_callback("Out", lambda batch: sizes.append(len(batch)))
        for _ in range(2):
            runtime.input_handler("Trades").send_batch({"symbol": ["a"], "price": [1.0], "volume": [1]})
        assert sizes == [1, 1]
        assert [origin for _, origin, _ in failures] == ["batch callback of 'Out'"] * 2

    def test_of_a_handler_reaches_the_sender(self):
        def give_up(error, origin, events):
            raise error

        with running(PASS) as runtime:
            runtime.handle_exception_with(give_up)
            runtime.add_callback("Out", self.fail)
            rows = collect(runtime, "Trades")
            with pytest.raises(RuntimeError, match="out of order"):
                runtime.input_handler("Trades").send(ROW)
            runtime.remove_callback(self.fail)
            runtime.input_handler("Trades").send(ROW)
            assert len(rows) >= 1

    def test_an_interrupt_is_not_handled(self, runtime, failures):
        def interrupt(events):
            raise KeyboardInterrupt

        runtime.add_callback("Out", interrupt)
        with pytest.raises(KeyboardInterrupt):
            runtime.input_handler("Trades").send(ROW)
        assert failures == []
        runtime.remove_callback(interrupt)
        rows = collect(runtime, "Out")
        runtime.input_handler("Trades").send(ROW)
        assert rows == [("IBM", 7)]


@pytest.mark.parametrize("add", ["add_callback", "add_batch_callback", "add_query_callback"])
@pytest.mark.parametrize("form", ["coroutine", "async generator"])
def test_a_callback_that_returns_an_awaitable_is_an_error(add, form):
    ran, errors = [], []

    async def work():
        ran.append(1)

    async def numbers():
        yield ran.append(1)

    function = work if form == "coroutine" else numbers
    with running(PASS) as runtime:
        runtime.handle_exception_with(
            lambda error, origin, events: errors.append((type(error), str(error), len(events)))
        )
        getattr(runtime, add)("q" if "query" in add else "Out", lambda *_: function())
        later = collect(runtime, "Out")
        runtime.input_handler("Trades").send(ROW, 1000)
        assert later == [("IBM", 7)]
    assert ran == []
    [(kind, told, events)] = errors
    assert (kind, events) == (TypeError, 0 if "batch" in add else 1)
    assert f"returned {form} '{function.__qualname__}', which the engine does not await" in told


def test_other_return_values_of_callbacks_are_ignored():
    with running(PASS) as runtime:
        for add, name in (("add_callback", "Out"), ("add_batch_callback", "Out"), ("add_query_callback", "q")):
            getattr(runtime, add)(name, lambda *_: (n for n in range(3)))
        seen = collect(runtime, "Out")
        runtime.input_handler("Trades").send(ROW, 1000)
        assert seen == [("IBM", 7)]


def test_a_cycle_of_sends_ends_with_an_error():
    failures = []
    with SiddhiManager().create_siddhi_app_runtime(f"{TRADES} from Trades select * insert into Out;") as runtime:
        runtime.handle_exception_with(lambda error, origin, events: failures.append(type(error)))
        handler = runtime.input_handler("Trades")
        runtime.add_callback("Out", lambda events: handler.send(ROW))
        handler.send(ROW)
    assert RecursionError in failures
