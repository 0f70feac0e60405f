from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import siddhi
from siddhi.planner.bind.cron import parse_cron
from tests.kit.running import collect

UTC = timezone.utc


def after(text: str, moment: datetime) -> datetime | None:
    found = parse_cron(text).next_after(int(moment.timestamp() * 1000), moment.tzinfo)
    return None if found is None else datetime.fromtimestamp(found / 1000, moment.tzinfo)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * * ?", "2024-02-28 23:59:59"),
        ("*/5 * * * * ?", "2024-02-29 00:00:00"),
        ("0 * * * * ?", "2024-02-29 00:00:00"),
        ("0 15/20 * * * ?", "2024-02-29 00:15:00"),
        ("30 10-20/5 9,12 * * ?", "2024-02-29 09:10:30"),
        ("0 15 10 ? * MON-FRI", "2024-02-29 10:15:00"),
        ("0 15 10 ? * sat,sun", "2024-03-02 10:15:00"),
        ("0 0 0 ? * FRI-MON", "2024-03-01 00:00:00"),
        ("0 0 22-2 * * ?", "2024-02-29 00:00:00"),
        ("0 0 12 L * ?", "2024-02-29 12:00:00"),
        ("0 0 0 L-3 * ?", "2024-03-28 00:00:00"),
        ("0 0 0 LW * ?", "2024-02-29 00:00:00"),
        ("0 0 9 15W * ?", "2024-03-15 09:00:00"),
        ("0 0 9 2W 3 ?", "2024-03-01 09:00:00"),
        ("0 0 9 31W 6,8 ?", "2024-08-30 09:00:00"),
        ("0 0 9 30W * ?", "2024-03-29 09:00:00"),
        ("0 0 0 L-3W * ?", "2024-03-28 00:00:00"),
        ("0 0 0 L-1W 6 ?", "2024-06-28 00:00:00"),
        ("0 0 0 L-29W 3 ?", "2024-03-01 00:00:00"),
        ("0 0 0 ? * MONDAY", "2024-03-04 00:00:00"),
        ("0 0 0 ? * thursday-Saturday", "2024-02-29 00:00:00"),
        ("0 0 0 1 JANUARY,MAY ?", "2024-05-01 00:00:00"),
        ("0 0/60 * * * ?", "2024-02-29 00:00:00"),
        ("0 0 0 ? * MON/2", "2024-03-01 00:00:00"),
        ("0 0 0 ? * 6#3", "2024-03-15 00:00:00"),
        ("0 0 0 ? * 6#5", "2024-03-29 00:00:00"),
        ("0 0 0 ? * 6L", "2024-03-29 00:00:00"),
        ("0 0 0 ? * L", "2024-03-02 00:00:00"),
        ("0 0 0 31 * ?", "2024-03-31 00:00:00"),
        ("0 0 0 1 JAN-MAR/2 ?", "2024-03-01 00:00:00"),
        ("0 0 0 29 2 ? 2025-2032", "2028-02-29 00:00:00"),
        ("0 0 0 1 1 ? 2000", None),
        ("0 0 0 29 2 ? 2016", None),
    ],
)
def test_the_next_time(text: str, expected: str | None) -> None:
    found = after(text, datetime(2024, 2, 28, 23, 59, 58, tzinfo=UTC))
    assert (None if found is None else found.strftime("%Y-%m-%d %H:%M:%S")) == expected


@pytest.mark.parametrize(
    "text",
    [
        "not a cron", "", "* * * * *", "* * * * * * * *", "* * * * * *", "0 0 12 ? * ?", "60 * * * * ?", "* * 24 * * ?",
        "0 0 0 0 * ?", "0 0 0 32 * ?", "0 0 0 1 13 ?", "0 0 0 ? * 8", "0 0 0 ? * 6#6", "*/0 * * * * ?", "5/x * * * * ?",
        "a * * * * ?", "1- * * * * ?", "0 0 0 1 FOO ?", ", * * * * ?", "0 0 0 xW * ?", "* * * * * ? 1960",
        "*/60 * * * * ?", "0 */61 * * * ?", "0 /60 * * * ?", "0 0 */24 * * ?", "0 0 0 */32 * ?", "0 0 0 1 */13 ?", "0 0 0 ? * */8",
        "0 0 0 31W 6 ?", "0 0 0 30W 2 ?", "0 0 0 L-31W * ?", "0 0 0 ? * MONDAYS", "0 0 0 15W,20 * ?",
        "0 0 0 30 2 ?", "0 0 0 31 4,6,9,11 ?", "0 0 0 29 FEB ? 2023",
    ],
)  # fmt: skip
def test_invalid_expressions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cron expression") as caught:
        parse_cron(text)
    assert len(caught.value.args) == 2


@given(st.integers(0, 4_000_000_000), st.integers(1, 59))
def test_steps_of_seconds_equal_counting(second: int, step: int) -> None:
    found = parse_cron(f"0/{step} * * * * ?").next_after(second * 1000, UTC)
    assert found is not None
    expected = next(s for s in range(second + 1, second + 61) if (s % 60) % step == 0)
    assert found == expected * 1000


def test_a_time_skipped_by_daylight_saving_moves_to_the_next_day() -> None:
    """On 2024-03-31 Berlin has no 02:30; the schedule is not stuck and does not go back."""
    berlin = ZoneInfo("Europe/Berlin")
    moment = datetime(2024, 3, 31, 0, 0, tzinfo=berlin)
    seen = []
    for _ in range(3):
        found = after("0 30 2 * * ?", moment)
        assert found is not None
        assert found > moment
        seen.append(found)
        moment = found
    assert seen[2] - seen[1] == timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("* * * * * ?", 1), ("*/10 * * * * ?", 10), ("0 * * * * ?", 60), ("0 0/15 * * * ?", 900), ("0 0,30 * * * ?", 1800),
        ("0 0 * * * ?", 3600), ("0 0/20 0-3 * * ?", 1200),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("America/New_York", (2024, 11, 3)), ("Europe/Berlin", (2024, 10, 27)), ("America/Havana", (2024, 11, 3)),
        ("America/Santiago", (2024, 4, 7)),
    ],
)  # fmt: skip
def test_rules_within_the_hour_fire_in_both_passes(
    text: str, seconds: int, zone: str, day: tuple[int, int, int]
) -> None:
    schedule, tz = parse_cron(text), ZoneInfo(zone)
    second = int(datetime(*day, tzinfo=tz).timestamp())
    if zone == "America/Santiago" and "0-3" not in text:
        second -= 7200  # the clocks are set back at midnight: 23:00 is repeated on the day before
    for _ in range(3 * 3600 // seconds):
        assert schedule.next_after(second * 1000, tz) == (second + seconds) * 1000
        second += seconds


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("0 30 1 * * ?", ["01:30-0400"]),
        ("0 0,30 1 * * ?", ["01:00-0400", "01:30-0400"]),
        ("0 0 1,2 * * ?", ["01:00-0400", "02:00-0500"]),
        ("0 0 0/2 * * ?", ["02:00-0500"]),
    ],
)
def test_fixed_times_fire_once_when_clocks_are_set_back(text: str, hours: list[str]) -> None:
    tz = ZoneInfo("America/New_York")
    moment, end = datetime(2024, 11, 3, 0, 30, tzinfo=tz), datetime(2024, 11, 3, 3, 30, tzinfo=tz)
    found = []
    while (following := after(text, moment)) is not None and following < end:
        found.append(following.strftime("%H:%M%z"))
        moment = following
    assert found == hours


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of the process can't be set")
def test_a_trigger_fires_in_both_passes_of_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = int(datetime(2024, 11, 3, 0, 59, 55, tzinfo=ZoneInfo("America/New_York")).timestamp()) * 1000
    text = (
        "@app:playback(timers = 'exact') define stream S (v int);"
        " define trigger T at '*/10 * * * * ?'; from T select triggered_time as t insert into O;"
        " from S#window.cron('0 0 * * * ?') select sum(v) as total insert into Totals;"
    )
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        with siddhi.run(text) as app:
            ticks, totals = collect(app, "O"), collect(app, "Totals")
            for second in range(0, 3 * 3600 + 20, 10):
                app.input_handler("S").send((1,), begin + second * 1000)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [tick for (tick,) in ticks] == list(range(begin + 5000, begin + (3 * 3600 + 10) * 1000, 10_000))
    assert totals == [(1,), (360,), (360,), (360,)]


@pytest.mark.parametrize("minutes_ago", [1, 30, 59, 60, 61, 90, 119, 120, 121, 150])
@pytest.mark.parametrize("n", [1, 7, 100, 1000])
def test_the_last_n_times_count_both_passes(minutes_ago: int, n: int) -> None:
    tz = ZoneInfo("America/New_York")
    until = int(datetime(2024, 11, 3, 0, 59, 30, tzinfo=tz).timestamp() + 60 * minutes_ago) * 1000
    schedule = parse_cron("*/10 * * * * ?")
    tick: int | None = schedule.before_last(n, until, tz)
    found = 0
    while tick is not None and (tick := schedule.next_after(tick, tz)) is not None and tick <= until:
        found += 1
    assert found == n


@given(
    text=st.sampled_from(
        [
            "* * * * * ?",
            "0 0 * * * ?",
            "*/7 3-5 * * * ?",
            "0 0 0 * * ?",
            "0 0 0 L * ?",
            "30 15 2,3 ? * MON-FRI",
            "5 5 5 29 2 ? 2000-2030",
        ]
    ),
    zone=st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe"]),
    until=st.integers(915_148_800_000, 1_924_992_000_000),
    n=st.integers(1, 100),
)
def test_the_last_n_times_precede_the_next_time(text: str, zone: str, until: int, n: int) -> None:
    schedule, tz = parse_cron(text), ZoneInfo(zone)
    tick: int | None = schedule.before_last(n, until, tz)
    found = []
    while tick is not None and (tick := schedule.next_after(tick, tz)) is not None and tick <= until:
        found.append(tick)
        assert len(found) <= n
    if zone == "UTC" and not text.endswith("2030"):
        assert len(found) == n


@pytest.mark.parametrize("until_ms", [-(2**62), -1, 0, 7_258_204_800_000, 2**62])
def test_the_last_times_do_not_depend_on_the_time_of_the_query(until_ms: int) -> None:
    schedule = parse_cron("0 0 12 1 1 ?")
    bound = schedule.before_last(3, until_ms, UTC)
    if until_ms > 0:
        assert [datetime.fromtimestamp(bound // 1000, UTC).year, schedule.next_after(bound, UTC)] == [2197, bound + 1]
    else:
        assert bound <= 0
