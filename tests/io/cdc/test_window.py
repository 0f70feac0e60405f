"""The window of a poll: whatever is inserted within the lag, in whatever pages, each row is received once, also after restores."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from siddhi.io.cdc.window import Row, Window, decode, encode

LAG = 3


def poll(window: Window, table: list[Row], page: int) -> list[Row]:
    """Read a table page by page, as the poller does."""
    received: list[Row] = []
    start, limit = window.start, page
    while True:
        rows = sorted(row for row in table if start is None or row[0] >= start)[:limit]
        for row in window.unseen(rows):
            window.add(row)
            received.append(row)
        if len(rows) < limit:
            return received
        if rows[-1][0] == start:
            limit *= 2
        else:
            start, limit = rows[-1][0], page


@given(
    st.lists(st.lists(st.tuples(st.integers(0, LAG), st.integers(0, 2)), max_size=6), max_size=6),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_each_row_within_the_lag_is_received_once(
    steps: list[list[tuple[int, int]]], page: int, has_key: bool, restores: bool
) -> None:
    keys = [1] if has_key else []
    window, table, received, number = Window(0, keys, LAG), [], [], 0
    highest = 0
    for step in steps:
        new = []
        for behind, content in step:
            number += 1
            # Not below what is read already minus the lag; with a key each row has another one.
            new.append((max(0, highest + LAG - behind), number if has_key else content))
        floor = (window.value or 0) - LAG
        table += [row for row in new if row[0] >= floor]
        highest = max([highest, *(row[0] for row in table)])
        received += poll(window, table, page)
        if restores:
            window.settle(window._number)
            state = window.state()
            window = Window(0, keys, LAG)
            window.load(state)
    assert Counter(received) == Counter(table)


@given(
    st.integers()
    | st.text()
    | st.datetimes(timezones=st.just(timezone.utc))
    | st.datetimes()
    | st.dates()
    | st.decimals(allow_nan=False)
)
def test_a_value_survives_its_encoding(value: int | str | datetime | date | Decimal) -> None:
    found = decode(encode(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [True, b"x", [1], {}])
def test_values_without_an_order_are_no_positions(value: object) -> None:
    with pytest.raises(ValueError, match="can't be a position"):
        encode(value)
