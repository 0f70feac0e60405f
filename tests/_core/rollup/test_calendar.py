"""Buckets of time and time as text, against the datetime module."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.rollup.aggregation import BucketLength, Calendar, parse_time_text

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
times = st.integers(-62_135_596_800_000 + 10**11, 253_402_300_799_999 - 10**11)


def ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


@given(time=times)
def test_buckets_equal_those_of_the_calendar(time: int) -> None:
    calendar = Calendar()
    moment = EPOCH + timedelta(milliseconds=time)
    second = moment.replace(microsecond=0)
    minute = second.replace(second=0)
    hour = minute.replace(minute=0)
    day = hour.replace(hour=0)
    month = day.replace(day=1)
    year = month.replace(month=1)
    ends = (
        second + timedelta(seconds=1),
        minute + timedelta(minutes=1),
        hour + timedelta(hours=1),
        day + timedelta(days=1),
        month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1),
        year.replace(year=year.year + 1),
    )
    for length, start, end in zip(BucketLength, (second, minute, hour, day, month, year), ends, strict=True):
        assert calendar.bucket(length, time) == (ms(start), ms(end))


def test_a_time_zone_is_queried_for_an_hour_or_more() -> None:
    asked: list[tuple[int, int]] = []

    def bounds(length: int, time: int) -> tuple[int, int]:
        asked.append((length, time))
        return time - 1, time + 1

    calendar = Calendar(bounds)
    assert calendar.bucket(BucketLength.MINUTE, 61_000) == (60_000, 120_000)
    assert calendar.bucket(BucketLength.DAY, 61_000) == (60_999, 61_001)
    assert asked == [(BucketLength.DAY, 61_000)]


@given(time=times.map(lambda time: time - time % 1000), offset=st.none() | st.integers(-1439, 1439))
def test_times_as_text_are_parsed(time: int, offset: int | None) -> None:
    local = EPOCH + timedelta(milliseconds=time, minutes=offset or 0)
    text = f"{local.year:04}-{local:%m-%d %H:%M:%S}"
    if offset is not None:
        text += f" {'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
    assert parse_time_text(text) == time


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2017-06-01",
        "2017-06-01T04:05:50",
        "2017-06-01 04:05:5x",
        "2017-13-01 04:05:50",
        "2017-00-01 04:05:50",
        "2017-06-31 04:05:50",
        "2017-02-29 04:05:50",
        "2017-06-01 24:05:50",
        "2017-06-01 04:60:50",
        "2017-06-01 04:05:60",
        "2017-06-01 04:05:50 05:30",
        "2017-06-01 04:05:50  05:30",
        "2017-06-01 04:05:50 +24:00",
        "2017-06-01 04:05:50 +05:61",
        "2017-06-01 04:05:50Z",
        "\uff12017-06-01 04:05:50",
    ],
)
def test_invalid_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_time_text(text)
