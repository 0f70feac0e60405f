"""``%%siddhi`` and ``%siddhi`` in a shell of IPython."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

pytest.importorskip("IPython", reason="the magics need IPython")

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from siddhi.notebook import magics
from siddhi.notebook.live import LiveView
from siddhi.runtime.app import SiddhiAppRuntime
from siddhi.runtime.profile.profile import Profile

APP = """@app:name('alerts')
define stream Trades (symbol string, price double);
define table Last (symbol string, price double);
from Trades[price > 100.0] select symbol, price insert into Alerts;
from Trades select symbol, price update or insert into Last on Last.symbol == symbol;
"""


new_shell: Any = InteractiveShell  # has no types


@pytest.fixture(scope="module")
def one_shell() -> Iterator[Any]:
    shell: Any = new_shell.instance()
    shell.history_manager.enabled = False
    shell.extension_manager.load_extension("siddhi")
    yield shell
    shell.extension_manager.unload_extension("siddhi")
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.fixture
def shell(one_shell: Any) -> Iterator[Any]:
    one_shell.user_ns["df"] = pd.DataFrame({"symbol": ["A", "B", "C"], "price": [99.0, 101.0, 102.0]})
    yield one_shell
    one_shell.run_line_magic("siddhi", "stop")


def cell(shell: Any, line: str, text: str = APP) -> Any:
    return shell.run_cell_magic("siddhi", line, text)


def test_frames_go_in_and_batches_come_out(shell: Any) -> None:
    batch = cell(shell, "--in Trades=df --out Alerts")
    assert batch.to_dicts() == [{"symbol": "B", "price": 101.0}, {"symbol": "C", "price": 102.0}]
    assert shell.user_ns["Alerts"] is batch
    assert not shell.user_ns["alerts"].is_running


def test_an_app_without_inputs_goes_on(shell: Any) -> None:
    app = cell(shell, "bot")
    assert type(app) is SiddhiAppRuntime
    app["Trades"].send(("A", 5.0))
    rows = shell.run_line_magic("siddhi", "query from Last select symbol, price")
    assert rows.to_dicts() == [{"symbol": "A", "price": 5.0}]
    assert "<td>A</td>" in rows._repr_html_()
    assert shell.run_line_magic("siddhi", "graph bot").startswith("<svg")
    assert "query" in shell.run_line_magic("siddhi", "explain")
    again = cell(shell, "bot")
    assert [app.is_running, again.is_running] == [False, True]
    shell.run_line_magic("siddhi", "stop bot")
    assert [app.is_running, again.is_running] == [False, False]


def test_a_profile_is_the_result(shell: Any) -> None:
    profile = cell(shell, "--in Trades=df --out Alerts --profile")
    assert isinstance(profile, Profile)
    assert profile.rows == 3
    assert len(shell.user_ns["Alerts"]) == 2


def test_errors_show_caret_and_message_only(shell: Any) -> None:
    with capture_output() as captured:
        assert cell(shell, "", "define stream S (a int); from S[b > 1] select a insert into T;") is None
    assert "^" in captured.stderr
    assert "'b'" in captured.stderr
    assert "Traceback" not in captured.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--in Trades=missing", "no variable 'missing'"),
        ("--what", "unknown option '--what'"),
        ("--in Trades=df --live soon", "invalid duration 'soon'"),
        ("--in", "lacks its value"),
        ("one two", "unexpected word"),
    ],
)
def test_wrong_options_are_named(shell: Any, line: str, message: str) -> None:
    with capture_output() as captured:
        cell(shell, line)
    assert message in captured.stderr


def test_the_live_view_is_renewed_in_its_cell(shell: Any) -> None:
    with capture_output() as captured:
        cell(shell, "watch --in Trades=df --out Alerts --live 50ms")
    shown = [output for output in captured.outputs if "text/html" in output.data]
    assert "app <b>watch</b>" in shown[-1].data["text/html"]
    assert "2 events" in shown[-1].data["text/html"]
    assert "<td" in shown[-1].data["text/html"]


def test_errors_of_inputs_that_are_sent_while_the_view_shows_are_told(shell: Any) -> None:
    shell.user_ns["wrong"] = pd.DataFrame({"symbol": ["A"], "prize": [1.0]})
    with capture_output() as captured:
        cell(shell, "watch --in Trades=wrong --live 10ms")
    assert "no column 'price'" in captured.stderr
    assert not [one for one in threading.enumerate() if one.name == "siddhi cell"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_inputs_are_sent_in_parts_while_the_view_shows(shell: Any, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(magics, "_PART", 2)
    shell.user_ns["table"] = make({"symbol": list("ABCDE"), "price": [101.0, 102.0, 103.0, 104.0, 105.0]})
    with capture_output() as captured:
        cell(shell, "watch --in Trades=table --out Alerts --live 1ms")
    assert shell.user_ns["Alerts"].column("price") == [101.0, 102.0, 103.0, 104.0, 105.0]
    assert "5 events" in [one for one in captured.outputs if "text/html" in one.data][-1].data["text/html"]


def test_a_view_lasts_until_all_is_sent(shell: Any) -> None:
    app = cell(shell, "bot")
    more, shown = iter((True, True, False)), []
    LiveView(app, ["Alerts"]).run(0.0, shown.append, 0.001, goes_on=lambda: next(more))
    assert len(shown) == 3


def test_commands_need_a_known_app(shell: Any) -> None:
    for line, message in (
        ("graph", "no cell has an app"),
        ("graph nobody", "no app 'nobody'"),
        ("dance", "expected one of"),
    ):
        with capture_output() as captured:
            shell.run_line_magic("siddhi", line)
        assert message in captured.stderr


def test_several_inputs_are_merged_by_their_times(shell: Any) -> None:
    shell.user_ns["quotes"] = pd.DataFrame({"ts": [1000, 3000], "bid": [1.0, 3.0]})
    shell.user_ns["fills"] = pd.DataFrame({"ts": [2000, 4000], "price": [2.0, 4.0]})
    batch = cell(
        shell,
        "--in Quotes=quotes Fills=fills --out Out --timestamp ts",
        """define stream Quotes (ts long, bid double);
        define stream Fills (ts long, price double);
        from Quotes select bid as value insert into Out;
        from Fills select price as value insert into Out;""",
    )
    assert batch.column("value") == [1.0, 2.0, 3.0, 4.0]
    with capture_output() as captured:
        cell(shell, "--in Trades=df Last=df")
    assert "--timestamp" in captured.stderr


def test_statistics_show_as_a_table(shell: Any) -> None:
    app = cell(shell, "bot")
    app.enable_statistics("basic")
    app["Trades"].send(("A", 5.0))
    assert "<td>Streams.Trades.throughput</td>" in app.statistics._repr_html_()
