"""Check values of Spark's reader and writer options: Spark checks them late, without the option's name, or not in batch."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["value_instead"]

_FLAGS = (
    "recursiveFileLookup ignoreCorruptFiles ignoreMissingFiles latestFirst fileNameOnly multiLine mergeSchema header "
    "ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace quoteAll escapeQuotes ignoreNullFields allowComments "
    "allowUnquotedFieldNames allowSingleQuotes allowNumericLeadingZeros allowNonNumericNumbers "
    "allowBackslashEscapingAnyCharacter allowUnquotedControlChars failOnDataLoss includeHeaders"
)
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
_INT, _LONG = 2**31 - 1, 2**63 - 1
_NUMBERS: Mapping[str, tuple[int, int]] = {
    "maxfilespertrigger": (1, _INT),
    "maxbytespertrigger": (1, _LONG),
    "maxcachedfiles": (0, _INT),
    "maxcolumns": (1, _INT),
    "maxcharspercolumn": (-1, _INT),
    "maxrecordsperfile": (-1, _LONG),
    "maxoffsetspertrigger": (1, _LONG),
    "minoffsetspertrigger": (1, _LONG),
    "minpartitions": (1, _INT),
    "rowspersecond": (1, _LONG),
    "numpartitions": (1, _INT),
}
"""Minimum and maximum, by the name in lower case."""
_WORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_FLAGS.lower().split(), ("true", "false")),
    "cleansource": ("archive", "delete", "off"),
}


def value_instead(name: str, value: str) -> str | None:
    """Return the valid values of an option, as ``true or false``; None: the value is valid, or its rule is unknown.

    Args:
        name: name of the option, in any case.
        value: value of the option.
    """
    if words := _WORDS.get(name.lower()):
        return None if value.lower() in words else f"{', '.join(words[:-1])} or {words[-1]}"
    if bounds := _NUMBERS.get(name.lower()):
        least, most = bounds
        if _NUMBER.fullmatch(value) is None or int(value) < least:
            return f"an integer of at least {least}"
        return None if int(value) <= most else f"an integer of at most {most}"
    return None
