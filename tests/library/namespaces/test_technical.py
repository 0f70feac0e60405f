"""Indicators of ``ta``, against TA-Lib and formulas in NumPy; bars of trades."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from siddhi import SandboxPolicy, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from tests.kit.running import collect, running

talib = pytest.importorskip("talib", reason="TA-Lib is the oracle")

Column = NDArray[np.float64]
Oracle = Callable[[Column, Column, Column, Column], Any]

STREAM = "define stream S (high double, low double, price double, volume double);"


def market() -> list[Column]:
    """Return high, low, close and volume of a share for half a year, and again a thousand times as dear, with gaps."""
    path = Path(__file__).parents[3] / "examples" / "market_feed" / "bars.csv"
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    symbol = rows[0]["symbol"]
    found = [
        np.array([float(row[name]) for row in rows if row["symbol"] == symbol][:400])
        for name in ("high", "low", "close", "volume")
    ]
    still = np.full(60, found[2][-1])
    return [
        *(np.concatenate([found[i], found[i][::-1] * 1000.0, still, found[i] * 1e-6]) for i in range(3)),
        np.tile(found[3], 4)[: 3 * len(found[3]) + 60],
    ]


def outputs(calls: Sequence[str], columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    """Return the values of calls for each row."""
    selected = ", ".join(f"{call} as c{i}" for i, call in enumerate(calls))
    with running(f"{STREAM} from S select {selected} insert into O;") as runtime:
        rows = collect(runtime, "O")
        send = runtime.input_handler("S").send
        for row in zip(*columns, strict=True):
            send(tuple(float(value) for value in row))
    return rows


def returns(values: Column, n: int) -> Column:
    return np.concatenate([np.full(n, np.nan), values[n:] / values[:-n] - 1])


def rolling(values: Column, n: int, function: Callable[..., Any]) -> Column:
    return np.concatenate([np.full(n - 1, np.nan), function(sliding_window_view(values, n), axis=1)])


def z_score(values: Column, n: int) -> Column:
    deviation = rolling(values, n, np.std)
    deviation[deviation < 1e-12 * np.abs(values)] = np.nan  # rounding: the values are equal
    return (values - rolling(values, n, np.mean)) / deviation


ORACLES: dict[str, Oracle] = {
    "sma(price, 20)": lambda _h, _l, c, _v: talib.SMA(c, 20),
    "wma(price, 20)": lambda _h, _l, c, _v: talib.WMA(c, 20),
    "ema(price, 20)": lambda _h, _l, c, _v: talib.EMA(c, 20),
    "macd(price, 12, 26)": lambda _h, _l, c, _v: talib.EMA(c[14:], 12)[11:] - talib.EMA(c, 26)[25:],
    "macdSignal(price, 12, 26, 9)": lambda _h, _l, c, _v: talib.MACD(c, 12, 26, 9)[1],
    "macdHistogram(price, 12, 26, 9)": lambda _h, _l, c, _v: talib.MACD(c, 12, 26, 9)[2],
    "rsi(price, 14)": lambda _h, _l, c, _v: talib.RSI(c, 14),
    "atr(high, low, price, 14)": lambda h, low, c, _v: talib.ATR(h, low, c, 14),
    "stdDev(price, 20)": lambda _h, _l, c, _v: rolling(c, 20, np.std),
    "bollingerUpper(price, 20, 2.0)": lambda _h, _l, c, _v: rolling(c, 20, np.mean) + 2 * rolling(c, 20, np.std),
    "bollingerMiddle(price, 20)": lambda _h, _l, c, _v: rolling(c, 20, np.mean),
    "bollingerLower(price, 20, 2.0)": lambda _h, _l, c, _v: rolling(c, 20, np.mean) - 2 * rolling(c, 20, np.std),
    "zScore(price, 20)": lambda _h, _l, c, _v: z_score(c, 20),
    "vwap(price, volume)": lambda _h, _l, c, v: np.cumsum(c * v) / np.cumsum(v),
    "vwap(price, volume, 20)": lambda _h, _l, c, v: rolling(c * v, 20, np.sum) / rolling(v, 20, np.sum),
    "returns(price)": lambda _h, _l, c, _v: returns(c, 1),
    "returns(price, 5)": lambda _h, _l, c, _v: talib.ROCP(c, 5),
    "logReturns(price, 5)": lambda _h, _l, c, _v: np.log1p(returns(c, 5)),
    "drawdown(price)": lambda _h, _l, c, _v: 1 - c / np.maximum.accumulate(c),
    "maxDrawdown(price)": lambda _h, _l, c, _v: np.maximum.accumulate(1 - c / np.maximum.accumulate(c)),
}


def test_indicators_are_those_of_the_oracles() -> None:
    columns = market()
    rows = outputs([f"ta:{call}" for call in ORACLES], columns)
    for call, found in zip(ORACLES, zip(*rows, strict=True), strict=True):
        values = np.array([math.nan if value is None else value for value in found])
        expected = ORACLES[call](*columns)
        expected = np.concatenate([np.full(len(values) - len(expected), np.nan), expected])
        # TA-Lib's sums and averages keep the rounding of the greatest values when prices fall to the millionth.
        scale = np.maximum.accumulate(np.abs(np.nan_to_num(expected)))
        assert np.array_equal(np.isnan(values), np.isnan(expected)), call
        valid = ~np.isnan(values)
        assert np.all(np.abs(values - expected)[valid] <= 1e-9 * np.maximum(scale, 1e-3)[valid]), call


def test_batches_have_the_results_of_rows_and_groups_their_own() -> None:
    columns = market()[:4]
    n = len(columns[0])
    calls = [f"ta:{call} as c{i}" for i, call in enumerate(ORACLES)]
    app = f"""define stream S (k string, high double, low double, price double, volume double);
    from S select k, {", ".join(calls)} group by k insert into O;"""
    keys = ["a" if i % 3 else "b" for i in range(n)]
    with running(app) as runtime:
        batch = collect(runtime, "O")
        names = ("k", "high", "low", "price", "volume")
        runtime.input_handler("S").send_batch(dict(zip(names, [keys, *columns], strict=True)))
    for key in "ab":
        chosen = np.array([each == key for each in keys])
        alone = outputs([f"ta:{call}" for call in ORACLES], [column[chosen] for column in columns])
        assert [row[1:] for row in batch if row[0] == key] == alone


def test_state_is_restored() -> None:
    columns = [column[:120] for column in market()]
    calls = [f"ta:{call}" for call in ORACLES] + ["ta:crossOver(price, ta:sma(price, 5))", "ema(price, 5)"]
    expected = outputs(calls, columns)
    selected = ", ".join(f"{call} as c{i}" for i, call in enumerate(calls))
    app = f"@app:name('restored') {STREAM} from S select {selected} insert into O;"
    for stop in (0, 1, 7, 30, 90):
        found: list[tuple[Any, ...]] = []
        state = None
        for start, end in ((0, stop), (stop, 120)):
            with running(app) as runtime:
                if state is not None:
                    runtime.restore(state)
                runtime.add_callback("O", lambda events, rows=found: rows.extend(event.data for event in events))
                for row in zip(*(column[start:end] for column in columns), strict=True):
                    runtime.input_handler("S").send(tuple(float(value) for value in row))
                state = runtime.snapshot()
        assert found == expected


def test_values_that_are_not_finite_are_left_out_and_crossings_are_found() -> None:
    app = """define stream S (a double, b double);
    from S select ta:sma(a, 2) as m, ta:crossOver(a, b) as up, ta:crossUnder(a, b) as down, ta:imbalance(a, b) as i
    insert into O;"""
    with running(app) as runtime:
        rows = collect(runtime, "O")
        for row in [
            (1.0, 2.0),
            (3.0, 2.0),
            (None, 1.0),
            (math.inf, 1.0),
            (4.0, 2.0),
            (2.0, 2.0),
            (5.0, 2.0),
            (1.0, -1.0),
        ]:
            runtime.input_handler("S").send(row)
    assert [row[:3] for row in rows] == [
        (None, None, None),
        (2.0, True, False),
        (2.0, True, False),
        (2.0, True, False),
        (3.5, False, False),
        (3.0, False, False),
        (3.5, True, False),
        (3.0, False, False),
    ]
    assert rows[0][3] == -1 / 3
    assert rows[-1][3] is None


def test_a_window_does_not_change_the_values_and_a_reset_clears_them() -> None:
    app = """define stream S (v double);
    from S#window.length(1) select ta:sma(v, 2) as m insert into A;
    from S#window.lengthBatch(2) select ta:sma(v, 2) as m, ta:rsi(v, 2) as r insert into B;"""
    with running(app) as runtime:
        sliding, batches = collect(runtime, "A"), collect(runtime, "B")
        for value in (1.0, 3.0, 5.0, 9.0):
            runtime.input_handler("S").send((value,))
    assert sliding == [(None,), (2.0,), (4.0,), (7.0,)]
    assert batches == [(2.0, None), (7.0, None)]


def test_flat_prices_have_a_neutral_strength_and_no_score() -> None:
    rows = outputs(["ta:rsi(price, 3)", "ta:zScore(price, 3)", "ta:stdDev(price, 3)"], [np.full(5, 0.1)] * 4)
    assert rows[-1] == (50.0, None, 0.0)


BARS = [
    (10.0, 5, "a", 1000), (12.0, 1, "b", 1100), (9.0, 5, "a", 1900), (11.0, 2, "a", 2100), (None, 9, "a", 2200),
    (13.0, 9, "b", 2300), (10.5, None, "a", 3100), (1.0, 1, "c", 9000),
]  # fmt: skip


@pytest.mark.parametrize("restart_after", [0, 3])
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("tickBars(p, v, 2, k)", [
            (1900, "a", 10.0, 10.0, 9.0, 9.0, 10.0, 9.5, 2, 1000), (2300, "b", 12.0, 13.0, 12.0, 13.0, 10.0, 12.9, 2, 1100),
            (3100, "a", 11.0, 11.0, 10.5, 10.5, 2.0, 11.0, 2, 2100),
        ]),
        ("volumeBars(p, v, 12.0)", [
            (2100, "a", 10.0, 12.0, 9.0, 11.0, 13.0, 129.0 / 13, 4, 1000),
        ]),
        ("timeBars(p, v, 1 sec, k)", [
            (2000, "a", 10.0, 10.0, 9.0, 9.0, 10.0, 9.5, 2, 1000), (2000, "b", 12.0, 12.0, 12.0, 12.0, 1.0, 12.0, 1, 1100),
            (3000, "a", 11.0, 11.0, 11.0, 11.0, 2.0, 11.0, 1, 2100), (3000, "b", 13.0, 13.0, 13.0, 13.0, 9.0, 13.0, 1, 2300),
            (4000, "a", 10.5, 10.5, 10.5, 10.5, 0.0, None, 1, 3100),
        ]),
    ],
)  # fmt: skip
def test_trades_are_grouped_into_bars(call: str, expected: list[tuple[Any, ...]], restart_after: int) -> None:
    app = f"""@app:name('bars') @app:playback define stream S (p double, v int, k string, ts long);
    from S#ta:{call} select k, barOpen, barHigh, barLow, barClose, barVolume, barVwap, barTrades, barStart insert into O;"""
    found: list[tuple[Any, ...]] = []
    state = None
    for part in (BARS[:restart_after], BARS[restart_after:]):
        with running(app) as runtime:
            if state is not None:
                runtime.restore(state)
            runtime.add_callback("O", lambda events: found.extend((each.timestamp, *each.data) for each in events))
            for row in part:
                runtime.input_handler("S").send(row, timestamp=row[3])
            state = runtime.snapshot()
    assert found == expected


@pytest.mark.parametrize(
    "call",
    [
        "ta:sma(price, 0)", "ta:sma(price, 1000001)", "ta:macd(price, 26, 12)", "ta:rsi(price, -1)",
        "ta:macdSignal(price, 2, 3, 0)", "ta:returns(price, 0)",
    ],
)  # fmt: skip
def test_invalid_periods_are_refused(call: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid period"):
        outputs([call], [np.ones(1)] * 4)


def test_a_sandbox_limits_the_values_of_an_indicator() -> None:
    manager = SiddhiManager(policy=SandboxPolicy(max_events=100))
    manager.validate_siddhi_app(f"{STREAM} from S select ta:sma(price, 100) as x insert into O;")
    with pytest.raises(SiddhiAppCreationError, match="at most 100") as caught:
        manager.validate_siddhi_app(f"{STREAM} from S select ta:vwap(price, volume, 101) as x insert into O;")
    assert caught.value.code == "E341"
