"""The functions of the namespace ``time``."""

from __future__ import annotations

from collections.abc import Callable

from siddhi._core.expression.executor import Executor
from siddhi._core.expression.function import make_current_time_millis
from siddhi._core.expression.python import make_python_function
from siddhi._core.function.dates import Dates
from siddhi._core.record.event import TypeCode
from siddhi.library.namespaces.date_patterns import fields_of

__all__ = ["make"]

_DATES = Dates(fields_of)
_BY_CLOCK: dict[str, Callable[..., object]] = {
    "currentDate": _DATES.current_date,
    "currentTime": _DATES.current_time,
    "currentTimestamp": _DATES.current_timestamp,
    "utcTimestamp": _DATES.utc_timestamp,
}
_FUNCTIONS: dict[str, Callable[..., object]] = {
    "timestampInMilliseconds": _DATES.timestamp,
    "date": _DATES.date,
    "dateAdd": _DATES.add,
    "dateDiff": _DATES.difference,
    "dateFormat": _DATES.format,
    "dateSub": _DATES.subtract,
    "dayOfWeek": _DATES.day_of_week,
    "extract": _DATES.extract,
    "timezoneConvert": _DATES.convert,
}


def make(name: str, arguments: tuple[Executor, ...], type_: int) -> Executor:
    """Make the executor of a function of the namespace."""
    full_name = f"time:{name}"
    if name in _BY_CLOCK:
        return make_python_function(_BY_CLOCK[name], (make_current_time_millis(), *arguments), type_, full_name)
    if not arguments:
        return make_current_time_millis()
    function = _FUNCTIONS[name]
    if name == "extract" and arguments[0].type == TypeCode.LONG:
        function = _DATES.extract_of_time
    if len(arguments) == 4:  # an argument that is given and null is not the same as one that is missing
        function = {"dateDiff": _DATES.difference_of, "timezoneConvert": _DATES.convert_between}.get(name, function)
    return make_python_function(function, arguments, type_, full_name)
