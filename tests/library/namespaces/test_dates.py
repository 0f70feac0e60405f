"""Dates of ``time``, against Python's calendar and time zones."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from siddhi._core.function.dates import Dates, forget_system_zone
from siddhi.errors import SiddhiAppCreationError
from siddhi.library.namespaces.date_patterns import fields_of
from tests.kit.functions import executors, value

STREAM = "define stream S (t string, ms long, i int, unit string, zone string);"
ZONES = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Sao_Paulo",
)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
DATES = Dates(fields_of)


@pytest.fixture
def in_paris() -> Iterator[None]:
    """Let the time zone of the system be that of Paris."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Paris"
    time.tzset()
    forget_system_zone()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()
    forget_system_zone()


def test_instants_have_the_dates_of_python_in_every_zone_and_back() -> None:
    numbers = random.Random(3)
    pattern, python = "yyyy-MM-dd HH:mm:ss Z EEEE DDD", "%Y-%m-%d %H:%M:%S %z %A %j"
    for _ in range(2000):
        zone = numbers.choice(ZONES)
        ms = numbers.randrange(-(10**12), 4 * 10**12) // 1000 * 1000
        expected = (EPOCH + timedelta(milliseconds=ms)).astimezone(ZoneInfo(zone))
        utc = DATES.utc_timestamp(ms, "yyyy-MM-dd HH:mm:ss")
        local = DATES.convert(utc, "yyyy-MM-dd HH:mm:ss", zone, "UTC")
        assert local == expected.strftime("%Y-%m-%d %H:%M:%S"), (zone, ms)
        in_utc = EPOCH + timedelta(milliseconds=ms)
        assert DATES.utc_timestamp(ms, pattern) == in_utc.strftime(python)
        # A local time that exists once stands for one instant.
        twin = expected.replace(tzinfo=None)
        if (
            twin.replace(tzinfo=ZoneInfo(zone), fold=0).utcoffset()
            == twin.replace(tzinfo=ZoneInfo(zone), fold=1).utcoffset()
        ):
            assert DATES.convert(local, "yyyy-MM-dd HH:mm:ss", "UTC", zone) == utc


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-03-05T07:08:09.123Z"),
        ("d/M/yy h:m:s a", "5/3/24 7:8:9 AM"),
        ("yyyyMMddHHmmssSSS", "20240305070809123"),
        ("EEE, dd MMM yyyy HH:mm:ss z", "Tue, 05 Mar 2024 07:08:09 UTC"),
        ("MMMM d, y 'at' K 'o''clock'", "March 5, 2024 at 7 o'clock"),
        ("yyyy.DDD u F", "2024.065 2 1"),
        ("w W YYYY G k", "10 2 2024 AD 7"),
        ("HH:mm X Z XX", "07:08 Z +0000 Z"),
        ("S SS SSSS", "123 123 0123"),
    ],
)
def test_patterns_of_java_are_written(pattern: str, text: str) -> None:
    assert DATES.utc_timestamp(1709622489123, pattern) == text


@pytest.mark.parametrize(
    ("text", "pattern", "iso"),
    [
        ("5/3/24 7:08:09 PM", "d/M/yy h:mm:ss a", "2024-03-05T19:08:09"),
        ("20240305070809123", "yyyyMMddHHmmssSSS", "2024-03-05T07:08:09.123000"),
        ("tuesday 5 march 2024", "EEEE d MMMM yyyy", "2024-03-05T00:00:00"),
        ("2024-03-05T07:08:09+05:30", "yyyy-MM-dd'T'HH:mm:ssXXX", "2024-03-05T01:38:09"),
        ("2024-03-05 07:08 Asia/Kolkata", "yyyy-MM-dd HH:mm z", "2024-03-05T01:38:00"),
        ("12 AM", "h a", "1970-01-01T00:00:00"),
        ("24", "k", "1970-01-01T00:00:00"),
    ],
)
def test_patterns_of_java_are_read(text: str, pattern: str, iso: str) -> None:
    has_zone = "z" in pattern or "X" in pattern
    ms = DATES.timestamp(text, pattern) if has_zone else DATES.timestamp(f"{text} UTC", f"{pattern} z")
    assert ms is not None
    assert (EPOCH + timedelta(milliseconds=ms)).replace(tzinfo=None) == datetime.fromisoformat(iso)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("2024-13-01", "yyyy-MM-dd"), ("2023-02-29", "yyyy-MM-dd"), ("2024-01-01x", "yyyy-MM-dd"), ("24", "HH"),
        ("x", "yyyy"), ("Foo", "MMM"), ("13 AM", "h a"), ("+0x", "Z"), ("", "yyyy"), ("1 Nowhere/At", "H z"),
    ],
)  # fmt: skip
def test_texts_that_do_not_fit_are_errors(text: str, pattern: str) -> None:
    with pytest.raises(ValueError, match=r"is not a date|unknown time zone"):
        DATES.timestamp(text, pattern)


@pytest.mark.usefixtures("in_paris")
def test_times_that_clocks_skip_or_repeat_are_those_of_java() -> None:
    skipped = DATES.timestamp("2024-03-31 02:30:00.000")
    repeated = DATES.timestamp("2024-10-27 02:30:00.000")
    assert DATES.utc_timestamp(skipped) == "2024-03-31 01:30:00"  # 03:30 in summer
    assert DATES.utc_timestamp(repeated) == "2024-10-27 01:30:00"  # in winter
    assert DATES.add("2024-03-30 02:30:00.000", 1, "DAY") == "2024-03-31 03:30:00.000"
    assert DATES.add("2024-03-31 01:30:00.000", 1, "HOUR") == "2024-03-31 03:30:00.000"


def test_weeks_are_those_of_iso_outside_of_some_countries() -> None:
    day = datetime(1999, 12, 20)  # noqa: DTZ001 - a date without a zone
    for _ in range(4000):
        day += timedelta(days=1)
        assert DATES.extract("WEEK", day.strftime("%Y-%m-%d"), "yyyy-MM-dd", "de_DE") == day.isocalendar().week


def test_functions_of_the_clock_follow_the_app() -> None:
    calls = {
        "time:utcTimestamp()": "2024-03-05 07:08:09",
        "time:utcTimestamp('HH')": "07",
        "time:currentTimestamp('Asia/Kolkata')": "2024-03-05 12:38:09",
        "time:timestampInMilliseconds()": 1709622489123,
    }
    built, layout = executors(STREAM, list(calls))
    row = (None,) * 5
    assert [value(each, layout, row, clock=1709622489123) for each in built] == list(calls.values())
    built, layout = executors(STREAM, ["time:currentDate()", "time:currentTime()", "time:currentTimestamp()"])
    now = datetime.fromtimestamp(1709622489)  # noqa: DTZ006 - the system's zone
    expected = [now.strftime("%Y-%m-%d"), now.strftime("%H:%M:%S"), now.strftime("%Y-%m-%d %H:%M:%S")]
    assert [value(each, layout, row, clock=1709622489123) for each in built] == expected


def test_invalid_units_zones_and_patterns_of_events_are_errors() -> None:
    calls = ["time:dateAdd(t, i, unit)", "time:dateFormat(t, zone)", "time:timezoneConvert(t, 'yyyy', zone)"]
    built, layout = executors(STREAM, calls)
    row = ("2014-11-11 13:23:44.657", 1, 1, "AGE", "No/Where b")
    assert [value(each, layout, row) for each in built] == [RuntimeError] * 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("time:date(t, 'yyyy-bb')", "unknown letter 'b'"),
        ("time:date(t, 'YYYY')", "only for output"),
        ("time:dateAdd(t, 1, 'AGES')", "unknown unit"),
        ("time:extract('AGE', t)", "unknown unit"),
        ("time:extract(ms, 'AGE')", "unknown unit"),
        ("time:dateFormat(ms, 'q')", "unknown letter"),
    ],
)
def test_literal_patterns_and_units_are_checked_when_the_app_is_created(call: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        executors(STREAM, [call])
