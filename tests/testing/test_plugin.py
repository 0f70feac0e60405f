"""The plug-in of pytest: apps with a virtual clock, expected output, snapshots, errors that fail a test."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from siddhi import Event
from siddhi.errors import DefinitionNotExistError
from siddhi.testing.app import AppUnderTest

pytest_plugins = ["pytester"]
APP = """
define stream S (k string, v double);
@info(name = 'q') from S#window.timeBatch(1 sec) select k, sum(v) as total group by k insert into Out;
"""


@pytest.fixture
def tested():
    """Create apps, which are shut down after the test."""
    made: list[AppUnderTest] = []

    def create(text: str, **options: Any) -> AppUnderTest:
        made.append(AppUnderTest(text, **options))
        return made[-1]

    yield create
    for one in made:
        one.shutdown()


@pytest.fixture
def app():
    made = AppUnderTest(APP)
    yield made
    made.shutdown()


def test_time_passes_when_the_test_says_so(app: AppUnderTest) -> None:
    app["S"].send(("a", 1.5), timestamp=1000)
    app["S"].send(("a", 0.1), timestamp=1999)
    app.expect("Out", [])
    app.advance(1)
    app.expect("Out", [("a", pytest.approx(1.6))])
    app.expect("Out", [])  # what was returned is gone


def test_rows_may_be_mappings_and_have_timestamps(app: AppUnderTest) -> None:
    app["S"].send(("a", 1.0), timestamp=1000)
    app["S"].send(("b", 2.0), timestamp=1500)
    app.expect("S", [(1000, ("a", 1.0)), (1500, {"v": 2.0})], timestamps=True)
    app.advance(5000)
    app.expect("Out", [{"k": "a"}, {"k": "b", "total": 2.0}])


def test_a_difference_is_shown_row_by_row(app: AppUnderTest) -> None:
    for row in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        app["S"].send(row, timestamp=1000)
    with pytest.raises(AssertionError) as caught:
        app.expect("S", [("a", 1.0), ("b", 5.0)])
    assert str(caught.value).splitlines() == [
        "S: 3 events arrived, 2 were expected",
        "    ('a', 1.0)",
        "  - ('b', 5.0)",
        "  + ('b', 2.0)",
        "  + ('c', 3.0)",
    ]


def test_time_counts_from_the_start_of_the_app(tested) -> None:
    app = tested(
        "define trigger Started at 'start'; define trigger Tick at every 1 sec; define stream A (v int);"
        "define stream B (v int); from Tick select count() as n insert into Ticks;"
        "from not A for 5 sec -> b = B select b.v insert into Missed;"
    )
    app.expect("Started", [(0, (0,))], timestamps=True)
    app.advance(3000)
    app.expect("Ticks", [(1000, (1,)), (2000, (2,)), (3000, (3,))], timestamps=True)
    app.advance(timedelta(seconds=3))
    app["B"].send((1,))
    app.expect("Missed", [(6000, (1,))], timestamps=True)
    app.shutdown()
    app.start()
    app.advance(1000)
    assert [event.timestamp for event in app.take("Tick")][5:] == [6000, 1000]


def test_the_clock_begins_where_the_test_says(tested) -> None:
    app = tested("define trigger Tick at every 1 min;", start=datetime(2024, 1, 1, tzinfo=timezone.utc))
    begin = 1_704_067_200_000
    assert app.now == begin
    app.advance(60_000)
    app.expect("Tick", [(begin + 60_000, (begin + 60_000,))], timestamps=True)


def test_events_without_a_time_happen_now(tested) -> None:
    app = tested(
        "define stream S (k string, v int); from S#window.time(1 sec) select sum(v) as total insert into Sums;"
        "partition with (k of S) begin from S select v output last every 1 sec insert into Last; end;"
    )
    app["S"].send(("a", 1))
    app.advance(400)
    app["S"].send_batch([("a", 2)])
    app.advance(5000)
    app["S"].send_batch({"k": ["a"], "v": [4]})
    app.expect("S", [(0, ("a", 1)), (400, ("a", 2)), (5400, ("a", 4))], timestamps=True)
    app.expect("Sums", [(1,), (3,), (4,)])
    assert [event.data for event in app.take("Last")] == [(2,)]


def test_streams_added_later_are_kept_and_hinder_no_change(tested) -> None:
    text = "define stream S (v int); @info(name = 'q') from S select v insert into Out;"
    app = tested(text)
    app["S"].send((1,))
    app.add(
        "define trigger Tick at every 1 sec; from S select v insert into More; from Tick select 1 as n insert into Ticks;"
    )
    app["S"].send((2,))
    app.advance(1000)
    app.expect("More", [(2,)])
    app.expect("Ticks", [(1,)])
    app.replace(text.replace("into Out", "into Renamed"))
    app["S"].send((3,))
    app.expect("Out", [(1,), (2,)])  # from before
    app.expect("Renamed", [(3,)])
    app.replace("define stream S (v int); from S select v, v * 2 as w insert into Renamed;")
    app["S"].send((4,))
    app.expect("Renamed", [(4, 8)])


def test_handled_errors_are_no_failures(tested) -> None:
    app = tested(
        "@OnError(action = 'stream') define stream S (v int); define function f[python] return int { return 1 / 0 };"
        "from S select f(v) as x insert into Out; from !S select v insert into Failed;"
    )
    app["S"].send((1,))
    app.expect("Failed", [(1,)])
    assert [event["v"] for event in app.take("!S")] == [1]
    assert app.errors == []


def test_buffers_are_delivered_before_expectations(tested) -> None:
    app = tested(
        "@async(buffer.size = '16') define stream S (v int); from S select v insert into Out;"
        "from S#window.timeBatch(1 sec) select sum(v) as total insert into Sums;"
    )
    for v in range(1, 6):
        app["S"].send((v,), timestamp=v)
    app.expect("Out", [(v,) for v in range(1, 6)])
    app["S"].send((5,), timestamp=900)
    app.advance(200)
    app.expect("Sums", [(20,)])


def test_lists_events_and_values_that_are_no_numbers_compare(app: AppUnderTest) -> None:
    nan = float("nan")
    for _ in range(3):
        app["S"].send(("a", nan), timestamp=7)
    app.expect("S", [["a", nan], {"v": nan}, Event(7, ("a", nan))])


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([{"kk": "a"}], ValueError, r"no attribute 'kk'; did you mean 'k'"),
        ({"k": "a"}, TypeError, r"a list of rows is expected, such as \[\{'k': 'a'\}\]"),
        (["a"], TypeError, r"such as \('a',\)"),
    ],
)
def test_what_is_no_row_is_an_error(app: AppUnderTest, rows: Any, error: type, message: str) -> None:
    app["S"].send(("a", 1.0), timestamp=7)
    with pytest.raises(error, match=message):
        app.expect("S", rows)
    app.expect("S", [("a", 1.0)])  # still there


def test_wrong_uses_say_what_to_do(tested, app: AppUnderTest) -> None:
    with pytest.raises(TypeError, match="a number of ms"):
        app.advance(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="does not go back"):
        app.advance(-1)
    with pytest.raises(ValueError, match=r"pass pathlib.Path\('a.siddhi'\)"):
        tested("a.siddhi")
    with pytest.raises(DefinitionNotExistError, match="is a table"):
        tested("define table T (v int); define stream S (v int);").expect("T", [])
    with pytest.raises(TypeError, match="given twice"):
        tested("define stream S (v int); from S[v > ${start}] select v insert into O;", params={"k": 1}, k=2)
    assert tested("define stream S (v int); from S[v > ${start}] select v insert into O;", params={"start": 1}).now == 0


def test_an_unknown_stream_is_an_error(app: AppUnderTest) -> None:
    with pytest.raises(DefinitionNotExistError, match="did you mean 'Out'"):
        app.expect("Outt", [])


def test_a_test_without_the_fixture_has_no_snapshots(app: AppUnderTest) -> None:
    with pytest.raises(ValueError, match="the fixture siddhi_app"):
        app.expect_snapshot("Out")


TESTS = """
import pathlib
import pytest

def test_snapshot(siddhi_app):
    app = siddhi_app("define stream S (v int); from S[v > ${least}] select v * 2 as w insert into Out;", least=1)
    for v in (1, 2, 3):
        app["S"].send((v,), timestamp=v)
    app.expect_snapshot("Out")

def test_a_file(siddhi_app):
    app = siddhi_app(pathlib.Path(__file__).parent / "app.siddhi")
    app["S"].send((1,), timestamp=1)
    app.expect("Out", [(1,)])
"""
FAILING = """
def test_a_failure_nobody_looked_at(siddhi_app):
    app = siddhi_app("define stream S (v int);")
    app.add_callback("S", lambda events: 1 / 0)
    app["S"].send((1,), timestamp=1)

def test_two_apps_fail_and_one_does_not_shut_down(siddhi_app):
    apps = [siddhi_app("define stream S (v int);") for _ in range(3)]
    for app in apps[:2]:
        app.add_callback("S", lambda events: 1 / 0)
        app["S"].send((1,), timestamp=1)
    def refuse():
        type(apps[0]).shutdown(apps[0])
        raise OSError("no end")
    apps[0].shutdown = refuse

def test_a_failure_that_was_expected(siddhi_app):
    app = siddhi_app("define stream S (v int);")
    app.add_callback("S", lambda events: 1 / 0)
    app["S"].send((1,), timestamp=1)
    assert isinstance(app.errors.pop(), ZeroDivisionError)
"""


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    # Where the package is installed with its entry points, pytest has the plug-in already.
    pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester.runpytest_inprocess("-p", "siddhi.testing.plugin", "-p", "no:cacheprovider", *arguments)


def test_snapshots_are_written_and_compared(pytester: pytest.Pytester) -> None:
    pytester.makefile(".siddhi", app="define stream S (v int); from S select v insert into Out;")
    path = pytester.makepyfile(TESTS)
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines("*there is no snapshot *Out.jsonl: write it with pytest --siddhi-update")
    run(pytester, "--siddhi-update").assert_outcomes(passed=2)
    (snapshot,) = pytester.path.glob("siddhi_snapshots/*/*")
    assert snapshot.relative_to(pytester.path).as_posix() == "siddhi_snapshots/test_snapshot/Out.jsonl"
    assert snapshot.read_text() == "[2, [4]]\n[3, [6]]\n"
    run(pytester).assert_outcomes(passed=2)
    snapshot.write_text("[2, [4]]\n[3, [7]]\n")
    result = run(pytester, path.name)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*- [[]3, [[]7]]", "*+ [[]3, [[]6]]"])


def test_a_failure_in_the_app_fails_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    result = run(pytester)
    result.assert_outcomes(passed=3, errors=2)
    failed = "app '*' failed: ZeroDivisionError: division by zero"
    result.stdout.fnmatch_lines(
        [
            f"*AssertionError: {failed}",
            "*AssertionError: shutdown of app '*' failed: OSError: no end",
            f"*{failed}",
            f"*{failed}",
        ]
    )
