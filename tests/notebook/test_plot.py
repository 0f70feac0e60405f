"""``siddhi.notebook.plot``."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import siddhi

pytest.importorskip("altair", reason="plots need altair")

from siddhi.notebook import plot

APP = "define stream Trades (symbol string, price double, volume int); from Trades select * insert into Out;"


@pytest.fixture(scope="module")
def batch() -> Any:
    frame = pd.DataFrame({"symbol": ["A", "B"], "price": [1.0, 2.0], "volume": [10, 20]})
    return siddhi.query(APP, Trades=frame)["Out"]


def chart(*args: Any, **named: Any) -> dict[str, Any]:
    made: dict[str, Any] = plot(*args, **named).to_dict()
    return made


def test_an_attribute_is_shown_over_the_time_of_the_events(batch: Any) -> None:
    found = chart(batch, "price", color="symbol")
    assert found["encoding"]["x"] == {"field": "time", "type": "temporal"}
    assert found["encoding"]["color"]["field"] == "symbol"
    assert [row["price"] for row in found["data"]["values"]] == [1.0, 2.0]
    assert found["data"]["values"][0]["time"] == batch.timestamps[0]


def test_all_numbers_are_shown_if_none_is_named(batch: Any) -> None:
    found = chart(batch, kind="point")
    assert found["transform"] == [{"fold": ["price", "volume"], "as": ["attribute", "value"]}]
    assert found["mark"]["type"] == "point"


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        (("prize",), {}, "no attribute 'prize'"),
        ((("price", "volume"),), {"color": "symbol"}, "several attributes"),
    ],
)
def test_wrong_attributes_are_named(batch: Any, args: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot(batch, *args, **named)
