"""The keywords of SiddhiQL. None is reserved; where one is not expected it is a name like any other."""

from __future__ import annotations

__all__ = ["KEYWORDS"]

KEYWORDS = frozenset(
    """
    aggregate aggregation all and app as asc at begin bool by current day days define delete desc double end events every
    expired false first float for from full function group having hour hours in inner insert int into is join last left
    limit long millisec millisecond milliseconds min minute minutes month months not null object of offset on or order
    outer output partition per raw return right sec second seconds select set snapshot stream string table trigger true
    unidirectional update week weeks window with within year years
    """.split()
)
