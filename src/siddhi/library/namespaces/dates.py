"""The namespace ``time``: dates as text. Without a zone in the text, they are in the time zone of the system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from siddhi.extension.metadata import ExtensionMetadata, NullRule, Overload, Parameter
from siddhi.library.namespaces.date_patterns import DEFAULT, check_parsed, fields_of
from siddhi.library.namespaces.declare import Namespace, takes
from siddhi.library.type_sets import INT, LONG, STRING
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS"]

_time = Namespace("time", NullRule.NULL)
_STRING, _INT, _LONG = AttributeType.STRING, AttributeType.INT, AttributeType.LONG
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")

_VALUE = Parameter("date.value", STRING, description="a date")
_FORMAT = Parameter("date.format", STRING, description=f"pattern of the date in Java's letters; default {DEFAULT}")
_TIME = Parameter("timestamp.in.milliseconds", LONG, description="milliseconds since 1970")
_AMOUNT = Parameter("expr", INT, description="number of units")
_UNIT = Parameter("unit", STRING, description=", ".join(_UNITS))
_LOCALE = Parameter("locale", STRING, description="whose weeks to count, such as en_US (default) or fr_FR")

Check = Callable[[Sequence[AttributeType], Sequence[Any]], None]


def _checked(
    *, written: Iterable[int] = (), read: Iterable[int] = (), units: Iterable[int] = (), of_text: int | None = None
) -> Check:
    """Return a check of literal arguments by position.

    Args:
        written: patterns for output.
        read: patterns for texts.
        units: units of time.
        of_text: if the argument at this position is a time in ms, ``units`` are one position further.
    """

    def check(types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
        shift = 1 if of_text is not None and types[of_text] is not AttributeType.STRING else 0
        for positions, rule in ((written, fields_of), (read, check_parsed)):
            for position in positions:
                if not shift and position < len(constants) and constants[position] is not None:
                    rule(constants[position])
        for position in units:
            unit = constants[position + shift]
            if unit is not None and str(unit).upper() not in _UNITS:
                raise ValueError(f"unknown unit of time '{unit}'", f"the units are {', '.join(_UNITS)}")

    return check


_CALCULATED = [
    *takes(_VALUE, _AMOUNT, _UNIT, optional=(_FORMAT,)),
    Overload((_TIME, _AMOUNT, _UNIT)),
]
_Z = "yyyy-MM-dd HH:mm:ss.SSS Z"

EXTENSIONS: tuple[ExtensionMetadata, ...] = (
    _time.function(
        "currentDate",
        takes(),
        _STRING,
        "The date of the app's clock as yyyy-MM-dd.",
        deterministic=False,
        reads_clock=True,
    ),
    _time.function(
        "currentTime",
        takes(),
        _STRING,
        "The time of the app's clock as HH:mm:ss.",
        deterministic=False,
        reads_clock=True,
    ),
    _time.function(
        "currentTimestamp",
        takes(
            optional=(
                Parameter("timezone", STRING, description="such as Europe/Paris or GMT+5:30; default: the system's"),
            )
        ),
        _STRING,
        "Date and time of the app's clock as yyyy-MM-dd HH:mm:ss, in a time zone.",
        deterministic=False,
        reads_clock=True,
    ),
    _time.function(
        "date",
        takes(_VALUE, optional=(_FORMAT,)),
        _STRING,
        "The date without its time, as yyyy-MM-dd.",
        ("time:date('2014-11-11 13:23:44.657')", "2014-11-11"),
        ("time:date('11/Nov/14 13:23', 'dd/MMM/yy HH:mm')", "2014-11-11"),
        check=_checked(read=(1,)),
    ),
    _time.function(
        "dateAdd",
        _CALCULATED,
        _STRING,
        "The date after a number of units, in the pattern of the date. Days and longer units are added on the calendar; a day "
        "that a month does not have becomes its last one.",
        ("time:dateAdd('2014-11-11 13:23:44.657', 2, 'YEAR')", "2016-11-11 13:23:44.657"),
        ("time:dateAdd('31.01.2024', 1, 'month', 'dd.MM.yyyy')", "29.02.2024"),
        check=_checked(read=(3,), units=(2,)),
    ),
    _time.function(
        "dateDiff",
        [
            Overload((_VALUE, Parameter("date.value2", STRING))),
            Overload((_VALUE, Parameter("date.value2", STRING), _FORMAT)),
            Overload((_VALUE, Parameter("date.value2", STRING), _FORMAT, Parameter("date.format2", STRING))),
            Overload((_TIME, Parameter("timestamp.in.milliseconds2", LONG))),
        ],
        _INT,
        "The whole days from the second date to the first; below 0 if it is later.",
        ("time:dateDiff('2014-11-11 13:23:44.000', '2014-11-09 13:23:44.000')", 2),
        ("time:dateDiff('2014-11-01', '05/11/2014', 'yyyy-MM-dd', 'dd/MM/yyyy')", -4),
        ("time:dateDiff(1415692424000L, 1412841224000L)", 33),
        check=_checked(read=(2, 3)),
    ),
    _time.function(
        "dateFormat",
        [
            *takes(
                _VALUE, Parameter("date.target.format", STRING), optional=(Parameter("date.source.format", STRING),)
            ),
            Overload((_TIME, Parameter("date.target.format", STRING))),
        ],
        _STRING,
        "The date in another pattern.",
        ("time:dateFormat('2014/11/11 13:23:44', 'mm:ss', 'yyyy/MM/dd HH:mm:ss')", "23:44"),
        ("time:dateFormat('2014-11-11 13:23:44.000', 'EEE, d MMM yyyy')", "Tue, 11 Nov 2014"),
        check=_checked(written=(1,), read=(2,)),
    ),
    _time.function(
        "dateSub",
        _CALCULATED,
        _STRING,
        "The date before a number of units: see time:dateAdd.",
        ("time:dateSub('2014-11-11 13:23:44.657', 2, 'QUARTER')", "2014-05-11 13:23:44.657"),
        check=_checked(read=(3,), units=(2,)),
    ),
    _time.function(
        "dayOfWeek",
        takes(_VALUE, optional=(_FORMAT,)),
        _STRING,
        "The English name of the weekday.",
        ("time:dayOfWeek('2014/12/11 13:23:44.657', 'yyyy/MM/dd HH:mm:ss.SSS')", "Thursday"),
        check=_checked(read=(1,)),
    ),
    _time.function(
        "extract",
        [
            *takes(_UNIT, _VALUE, optional=(_FORMAT, _LOCALE)),
            *takes(_TIME, _UNIT, optional=(_LOCALE,)),
        ],
        _INT,
        "A part of the date: MONTH from 1, DAY of the month, HOUR from 0 to 23, WEEK of the year.",
        ("time:extract('YEAR', '2019/11/11 13:23:44.657', 'yyyy/MM/dd HH:mm:ss.SSS')", 2019),
        ("time:extract('WEEK', '2021-01-03', 'yyyy-MM-dd')", 2),
        ("time:extract('WEEK', '2021-01-03', 'yyyy-MM-dd', 'fr_FR')", 53),
        ("time:extract('quarter', '2014-11-11 00:00:00.000')", 4),
        check=_checked(read=(2,), units=(0,), of_text=0),
    ),
    _time.function(
        "timestampInMilliseconds",
        takes(optional=(_VALUE, _FORMAT)),
        _LONG,
        "The milliseconds since 1970 of a date; without an argument those of the app's clock.",
        (f"time:timestampInMilliseconds('2007-11-30 10:30:19.000 +0530', '{_Z}')", 1196398819000),
        check=_checked(read=(1,)),
        deterministic=False,
        reads_clock=True,
    ),
    _time.function(
        "timezoneConvert",
        takes(
            _VALUE,
            Parameter("date.source.format", STRING, description="pattern of the date and of the result"),
            Parameter("target.timezone", STRING, description="such as Europe/Paris or GMT+5:30"),
            optional=(Parameter("source.timezone", STRING, description="default: the system's"),),
        ),
        _STRING,
        "The date in another time zone.",
        (
            "time:timezoneConvert('2024-07-01 12:00:00.000', 'yyyy-MM-dd HH:mm:ss.SSS', 'Asia/Kolkata', 'UTC')",
            "2024-07-01 17:30:00.000",
        ),
        check=_checked(read=(1,)),
    ),
    _time.function(
        "utcTimestamp",
        takes(optional=(Parameter("date.format", STRING, description="default yyyy-MM-dd HH:mm:ss"),)),
        _STRING,
        "Date and time of the app's clock in UTC.",
        check=_checked(written=(0,)),
        deterministic=False,
        reads_clock=True,
    ),
)
