"""The keywords of SiddhiQL. None is reserved: where the grammar does not expect a keyword, it is a name."""

from __future__ import annotations

__all__ = ["AMBIGUOUS", "KEYWORDS"]

KEYWORDS = frozenset(
    """
    aggregate aggregation all and app as asc at begin bool by current day days define delete desc double end events every
    expired false first float for from full function group having hour hours in inner insert int into is join last left
    limit long millisec millisecond milliseconds min minute minutes month months not null object of offset on or order
    outer output partition per raw return right sec second seconds select set snapshot stream string table trigger true
    unidirectional update week weeks window with within year years
    """.split()
)

# Keywords that, used as names, the grammar (not, true, every, ...) or a reader can mistake for the keyword.
AMBIGUOUS = frozenset(
    """
    and as begin define delete end every false from group having in insert into is join limit not null offset on or order
    output partition per return select set true update window with within
    """.split()
)
