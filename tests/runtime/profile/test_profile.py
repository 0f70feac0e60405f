"""Profiles: counts of clauses are exact where every unit is measured, and profiling changes no result."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siddhi
from siddhi.extension import function, stream_function
from siddhi.extension.registry import Registry
from siddhi.runtime.app import SiddhiAppRuntime
from siddhi.runtime.profile.figures import Figure
from siddhi.runtime.profile.profile import Profile
from siddhi.types import AttributeType

TRADES = """
@app:name('trades') @app:playback
define stream Trades (symbol string, price double, volume int);
define table Limits (symbol string, top double);
@info(name = 'means')
from Trades[price > 20.0]#window.length(3)
select symbol, avg(price) as mean group by symbol insert into Means;
@info(name = 'twice')
from Means[mean > 50.0] select symbol, mean * 2.0 as twice insert into Twice;
partition with (symbol of Trades) begin
  @info(name = 'tops')
  from Trades#window.lengthBatch(2) select symbol, max(price) as top insert into Tops;
end;
@info(name = 'limits') from Tops select symbol, top update or insert into Limits on Limits.symbol == symbol;
@info(name = 'falls')
from every e1=Trades[price > 90.0] -> e2=Trades[symbol == e1.symbol and price < 10.0]
select e1.symbol as symbol, e2.price as price insert into Falls;
@info(name = 'known')
from Trades#window.length(1) as t join Limits as l on t.symbol == l.symbol
select t.symbol as symbol, l.top as top insert into Known;
@info(name = 'recent') from Trades#window.time(2 sec) select count() as n output every 3 events insert into Recent;
"""
SYMBOLS = ("A", "B", "C")
ROWS = [(SYMBOLS[i % 3], float(i * 37 % 100), i) for i in range(200)]
STREAMS = ("Means", "Twice", "Tops", "Falls", "Known", "Recent")


@pytest.fixture
def app() -> Iterator[SiddhiAppRuntime]:
    with siddhi.App(TRADES) as runtime:
        yield runtime


def send(app: SiddhiAppRuntime, rows: list[tuple[Any, ...]] = ROWS) -> None:
    for number, row in enumerate(rows):
        app["Trades"].send(row, timestamp=1000 + 100 * number)


def send_columns(app: SiddhiAppRuntime, stream: str = "Trades") -> None:
    columns = {
        "symbol": np.array([row[0] for row in ROWS], dtype=object),
        "price": np.array([row[1] for row in ROWS]),
        "volume": np.array([row[2] for row in ROWS], dtype=np.int32),
    }
    handler = app[stream]
    assert isinstance(handler, siddhi.InputHandler)
    handler.send_batch(columns, timestamp=np.arange(1000, 1000 + 100 * len(ROWS), 100))


def figure(profile: Profile, owner: str, kind: str) -> Figure:
    return next(found for found in profile.figures if (found.owner, found.kind) == (owner, kind))


@pytest.mark.parametrize("sending", [send, send_columns], ids=["rows", "columns"])
def test_events_of_clauses_are_exact_if_all_is_measured(app: SiddhiAppRuntime, sending: Any) -> None:
    emitted: dict[str, int] = dict.fromkeys(STREAMS, 0)

    def counter(stream: str) -> Any:
        def count(events: list[siddhi.Event]) -> None:
            emitted[stream] += len(events)

        return count

    for stream in STREAMS:
        app.add_callback(stream, counter(stream))
    with app.profile(every=1) as profile:
        sending(app)
    passing = sum(price > 20.0 for _, price, _ in ROWS)
    assert figure(profile, "Trades", "input").events_in == len(ROWS) == profile.rows
    assert profile.sampled == 1
    filtered = figure(profile, "means", "filter")
    assert (filtered.events_in, filtered.events_out) == (len(ROWS), passing)
    assert filtered.selectivity == passing / len(ROWS)
    assert figure(profile, "means", "output").events_out == emitted["Means"] == passing
    assert figure(profile, "twice", "filter").events_in == passing
    assert figure(profile, "twice", "output").events_out == emitted["Twice"]
    tops = [found for found in profile.figures if found.owner.endswith("/tops")]
    assert [found.kind for found in tops] == ["from", "window", "select", "output"]
    assert tops[0].events_in == tops[1].events_in == len(ROWS)
    assert tops[3].events_out == emitted["Tops"]
    assert figure(profile, "limits", "output").events_out == emitted["Tops"]
    assert figure(profile, "falls", "pattern").events_in == len(ROWS)
    assert figure(profile, "falls", "output").events_out == emitted["Falls"]
    assert figure(profile, "known", "output").events_out == emitted["Known"]
    recent = figure(profile, "recent", "output")
    assert recent.events_out == emitted["Recent"]
    assert sum(found.share for found in profile.figures) == pytest.approx(1)
    called = {found.owner: found.events_in for found in profile.figures if found.kind == "callback"}
    assert called == {stream: count for stream, count in emitted.items() if count}


def test_keys_and_state_are_those_of_the_end(app: SiddhiAppRuntime) -> None:
    with app.profile() as profile:
        send(app)
    partition = next(found for found in profile.figures if found.kind == "partition")
    assert partition.keys == len(SYMBOLS)
    assert figure(profile, "means", "window, select").keys is not None
    assert figure(profile, "falls", "pattern").partial_matches is not None
    assert (figure(profile, "known", "window").state_bytes or 0) > 0


@pytest.mark.parametrize("sending", [send, send_columns], ids=["rows", "columns"])
def test_profiling_changes_no_output(sending: Any) -> None:
    def outputs(profiled: dict[str, Any] | None) -> dict[str, list[dict[str, Any]]]:
        with siddhi.App(TRADES) as app:
            app.collect(*STREAMS)
            if profiled is None:
                sending(app)
            else:
                with app.profile(**profiled):
                    sending(app)
            return {stream: batch.to_pylist() for stream, batch in app.drain().items()}

    plain = outputs(None)
    assert any(plain.values())
    assert outputs({}) == plain
    assert outputs({"every": 1}) == plain
    assert outputs({"every": 7}) == plain


def test_operators_are_linked_as_before_after_a_profile(app: SiddhiAppRuntime) -> None:
    with app.profile(every=1) as first:
        send(app)
    figures = first.figures
    send(app, [("A", 50.0, 1)])
    assert first.figures == figures
    with app.profile(every=1) as second:
        app["Trades"].send(("A", 50.0, 1), timestamp=90_000)
    assert second.rows == 1


def test_inputs_of_long_runs_are_exact_and_clauses_scaled() -> None:
    with siddhi.App("define stream S (a int); @info(name='q') from S[a > 10] select a insert into T;") as app:
        taken: list[int] = []
        app.add_callback("T", lambda events: taken.append(len(events)))
        with app.profile() as profile:
            for number in range(20_000):
                app["S"].send((number * 7919 % 100,))
        assert 0 < profile.sampled < 1
        assert profile.rows == 20_000
        assert figure(profile, "q", "filter").events_in == pytest.approx(20_000, rel=0.01)
        out = figure(profile, "q", "output").events_out or 0
        assert out == pytest.approx(len(taken), rel=0.5)


@function("profiled:slow_square", args=(AttributeType.DOUBLE,), returns=AttributeType.DOUBLE, registry=Registry())
def slow_square(value: float) -> float:
    total = 0.0
    for _ in range(3000):
        total += value
    return value * value + 0 * total


@pytest.mark.parametrize("place", ["filter", "select", "having"])
def test_a_slow_function_is_named_first(place: str) -> None:
    call = "profiled:slow_square(price) > 0.0"
    app_text = f"""
    define stream Trades (symbol string, price double, volume int);
    @info(name = 'slow') from Trades[{call if place == "filter" else "price > 1.0"}]#window.length(5)
    select symbol, {"profiled:slow_square(price)" if place == "select" else "price"} as x, sum(volume) as total
    group by symbol having {"profiled:slow_square(x) > 0.0" if place == "having" else "total >= 0"} insert into Out;
    @info(name = 'fast') from Out[x > 2.0] select symbol, x insert into More;
    """
    manager = siddhi.SiddhiManager()
    manager.set_extension("profiled:slow_square", slow_square)
    with siddhi.App(app_text, manager=manager) as app, app.profile(every=1) as profile:
        app.add_callback("More", lambda events: None)
        for row in ROWS:
            app["Trades"].send(row)
    hottest = profile.hottest[0]
    assert (hottest.owner, hottest.kind.split(", ")[-1]) == ("slow", "filter" if place == "filter" else "select")
    assert set(hottest.calls) == {"profiled:slow_square"}
    assert hottest.python_seconds > 0.9 * hottest.seconds
    advice = profile.advice()[0]
    assert "of the time in your function profiled:slow_square" in advice
    assert "vectorise it" in advice


def test_a_stream_function_is_a_clause_with_its_function() -> None:
    manager = siddhi.SiddhiManager()

    @stream_function("profiled:twice", args=(AttributeType.INT,), appends={"t": AttributeType.INT}, registry=Registry())
    def twice(v: int) -> int:
        return 2 * v

    manager.set_extension("profiled:twice", twice)
    text = (
        "define stream S (v int); @info(name = 'q') from S[v >= 0]#profiled:twice(v)[t > 0] select t insert into Out;"
    )
    with siddhi.App(text, manager=manager) as app, app.profile(every=1) as profile:
        for v in range(20):
            app["S"].send((v,))
    found = {figure.kind: figure for figure in profile.figures if figure.owner == "q"}
    assert set(found["function"].calls) == {"twice"}
    assert found["function"].events_in == 20
    assert not found["filter"].calls


def test_a_slow_callback_is_named_first(app: SiddhiAppRuntime) -> None:
    def report(events: list[siddhi.Event]) -> None:
        for _ in range(20_000):
            pass

    app.add_query_callback("means", lambda time, current, expired: report([]))
    app.add_callback("Means", report)
    with app.profile(every=1) as profile:
        send(app)
    first, second = profile.hottest[:2]
    assert {first.kind, second.kind} == {"callback"}
    assert any("report" in found.text for found in (first, second))
    assert "add_batch_callback()" in " ".join(profile.advice())


def test_failures_leave_the_profile_intact(app: SiddhiAppRuntime) -> None:
    failures: list[str] = []
    app.handle_exception_with(lambda error, origin, events: failures.append(str(error)))

    def fail(events: list[siddhi.Event]) -> None:
        raise ValueError("no")

    app.add_callback("Means", fail)
    with app.profile(every=1) as profile:
        send(app)
        with pytest.raises(siddhi.SiddhiError):
            app["Trades"].send(("A", "no number", 1))
        send_columns(app)
    assert len(failures) == 2 * sum(price > 20.0 for _, price, _ in ROWS)
    assert figure(profile, "means", "output").events_out == len(failures)


def test_sends_of_callbacks_belong_to_the_callback(app: SiddhiAppRuntime) -> None:
    def send_again(events: list[siddhi.Event]) -> None:
        if events[0]["volume"] < 1000:
            app["Trades"].send(("Z", 1.0, 1000))

    app.add_callback("Trades", send_again)
    with app.profile(every=1) as profile:
        send(app)
    assert profile.rows == 2 * len(ROWS)
    inside = [stack.names for stack in profile.stacks if "input Trades" in stack.names[1:]]
    assert any(any(name.startswith("callback") for name in names[: names.index("input Trades", 1)]) for names in inside)


def test_callbacks_come_and_go_while_a_profile_runs(app: SiddhiAppRuntime) -> None:
    seen: list[int] = []

    def late(events: list[siddhi.Event]) -> None:
        seen.append(len(events))

    with app.profile(every=1) as profile:
        send(app, ROWS[:10])
        app.add_callback("Trades", late)
        send(app, ROWS[:10])
        app.remove_callback(late)
        send(app, ROWS[:10])
    assert sum(seen) == 10
    assert next(found.events_in for found in profile.figures if found.kind == "callback") == 10


@pytest.mark.parametrize("first", ["statistics", "profile"])
def test_statistics_are_measured_together_with_a_profile(app: SiddhiAppRuntime, first: str) -> None:
    profile = app.profile(every=1)
    if first == "profile":
        profile.start()
        app.enable_statistics("BASIC")
    else:
        app.enable_statistics("BASIC")
        profile.start()
    send(app)
    chunks = app.statistics.queries["means"].chunks
    app.enable_statistics("OFF")
    send(app, ROWS[:10])
    profile.stop()
    send(app, ROWS[:10])
    assert chunks == len(ROWS)
    assert figure(profile, "means", "filter").events_in == len(ROWS) + 10
    app.enable_statistics("BASIC")
    send(app, ROWS[:10])
    assert app.statistics.queries["means"].chunks == 10


def test_timers_are_measured(app: SiddhiAppRuntime) -> None:
    with app.profile(every=1) as profile:
        send(app, ROWS[:3])
        app["Trades"].send(("A", 50.0, 1), timestamp=60_000)
    inside = {stack.names[1] for stack in profile.stacks if len(stack.names) > 1 and stack.names[0] == "input Trades"}
    assert any(name.startswith("recent: window") for name in inside)


def test_one_profile_runs_at_a_time(app: SiddhiAppRuntime) -> None:
    with app.profile() as profile:
        with pytest.raises(RuntimeError, match="is being profiled"):
            app.profile().start()
        running = profile.is_running
    assert (running, profile.is_running) == (True, False)
    with pytest.raises(RuntimeError, match="was started before"):
        profile.start()


@pytest.mark.parametrize(("argument", "value"), [("budget", 0), ("budget", 2.0), ("every", 0)])
def test_settings_out_of_range_are_refused(app: SiddhiAppRuntime, argument: str, value: Any) -> None:
    with pytest.raises(ValueError, match=argument):
        app.profile(**{argument: value})


def test_a_profile_ends_where_the_app_is_changed(app: SiddhiAppRuntime) -> None:
    with app.profile(every=1) as profile:
        send(app, ROWS[:10])
        app.replace(TRADES.replace("output every 3 events ", ""), reset=("recent",))
        assert not profile.is_running
        send(app, ROWS[:10])
    assert profile.rows == 10
    assert "means" in app.explain(analyze=True)
    with app.profile(every=1) as again:
        send(app, ROWS[:10])
    assert again.rows == 10


def test_a_profile_may_end_in_a_callback(app: SiddhiAppRuntime) -> None:
    profile = app.profile(every=1)
    app.add_callback("Means", lambda events: profile.stop())
    with profile:
        send(app)
    assert not profile.is_running
    with app.profile(every=1) as again:
        send(app)
    assert again.rows == len(ROWS)


def test_figures_add_up_to_the_cpu_time_of_the_thread(app: SiddhiAppRuntime) -> None:
    with app.profile() as profile:
        for number in range(3000):
            app["Trades"].send(("A", 50.0, number), timestamp=1000 + number)
            sum(range(3000))  # outside
    assert profile.figures[-1] == profile.outside
    assert profile.outside.seconds > 0.1 * profile.thread_seconds
    assert profile.outside not in profile.hottest
    assert profile.measured_seconds == pytest.approx(sum(found.seconds for found in profile.hottest))
    # The clauses are estimates: half of the time may be off where others use the processor, too.
    assert sum(found.seconds for found in profile.figures) == pytest.approx(profile.thread_seconds, rel=0.5)
    assert "outside of siddhi" in repr(profile)
    assert "outside of siddhi" in profile.to_html()


def test_time_outside_of_sends_of_other_threads_is_that_of_the_process(app: SiddhiAppRuntime) -> None:
    with app.profile(every=1) as profile:
        thread = threading.Thread(target=send, args=(app,))
        thread.start()
        thread.join()
    assert profile.rows == len(ROWS)
    total = sum(found.seconds for found in profile.figures)
    assert total <= max(profile.cpu_seconds, profile.measured_seconds) * 1.001
    assert profile.outside.seconds <= profile.cpu_seconds


# --- how it shows


def test_the_text_of_the_app_has_figures_in_its_margin(app: SiddhiAppRuntime) -> None:
    with app.profile(every=1) as profile:
        send(app)
    text = repr(profile)
    assert text.startswith("profile of 'trades'")
    for line in TRADES.strip().splitlines():
        assert any(shown.endswith(f"│ {line}".rstrip()) for shown in text.splitlines())
    assert "\x1b" not in text
    assert "\x1b[" in profile.text(color=True)
    assert str(profile) == text  # standard output is no terminal here


def test_html_shades_lines_and_escapes_text() -> None:
    with siddhi.App("define stream S (a int); from S[a < 5] select a insert into T;") as app:
        with app.profile(every=1) as profile:
            app["S"].send((1,))
        html = profile._repr_html_()
    assert "background:rgba(" in html
    assert "S[a &lt; 5]" in html
    assert "<script" not in html


def test_figures_become_a_frame(app: SiddhiAppRuntime) -> None:
    with app.profile(every=1) as profile:
        send(app)
    for library in ("pandas", "polars"):
        frame = profile.to_frame(library)
        assert type(frame).__module__.startswith(library)
        assert len(frame) == len(profile.figures)
        assert sum(frame["share"]) == pytest.approx(1)
    with pytest.raises(ValueError, match="expected 'pandas' or 'polars'"):
        profile.to_frame("numpy")  # type: ignore[arg-type]


def test_speedscope_gets_the_call_tree(app: SiddhiAppRuntime, tmp_path: Path) -> None:
    with app.profile(every=1) as profile:
        send(app)
    content = profile.to_speedscope(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text("utf-8")) == content
    (shown,) = content["profiles"]
    names = [frame["name"] for frame in content["shared"]["frames"]]
    paths = [[names[frame] for frame in sample] for sample in shown["samples"]]
    assert all(len(sample) == len({*sample}) for sample in paths)
    assert any(path[0] == "input Trades" and "twice: filter [mean > 50.0]" in path for path in paths)
    assert sum(shown["weights"]) == pytest.approx(profile.measured_seconds)


def test_comparison_matches_clauses_of_a_changed_app(app: SiddhiAppRuntime) -> None:
    with app.profile(every=1) as before:
        send(app)
    changed = TRADES.replace("price > 20.0", "price > 30.0").replace("name = 'falls'", "name = 'drops'")
    with siddhi.App(changed) as other, other.profile(every=1) as after:
        send(other)
    comparison = before.compare(after)
    matched = {(change.owner, change.kind): change for change in comparison.changes}
    assert matched["means", "filter"].ratio is not None
    assert matched["falls", "pattern"].after is None
    assert matched["drops", "pattern"].before is None
    assert "time per row" in repr(comparison)
    assert len(comparison.to_frame("pandas")) == len(comparison.changes)
    assert sum(change.before or 0 for change in comparison.changes) == pytest.approx(comparison.before)
