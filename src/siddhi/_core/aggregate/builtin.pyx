"""The built-in aggregators by name."""

from siddhi._core.aggregate.aggregator cimport Aggregator


def make_aggregator(str native not None, tuple arguments not None, int type, bint removes=True):
    """Return a built-in aggregator.

    Args:
        native: its name, as in SiddhiQL.
        arguments: executors of its arguments.
        type: :class:`TypeCode` of the result.
        removes: whether EXPIRED events can reach it; otherwise min and max keep only the extremum.
    """
    cdef Aggregator aggregator
    if native in ("sum", "avg", "count"):
        from siddhi._core.aggregate.sum import make
        aggregator = make(native, arguments)
    elif native in ("min", "max", "minForever", "maxForever"):
        from siddhi._core.aggregate.extremum import make
        aggregator = make(native, arguments, removes)
    elif native in ("distinctCount", "unionSet"):
        from siddhi._core.aggregate.distinct import make
        aggregator = make(native, arguments)
    elif native in ("stdDev", "and", "or"):
        from siddhi._core.aggregate.statistics import make
        aggregator = make(native, arguments)
    else:
        raise ValueError(f"there is no built-in aggregator '{native}'")
    if aggregator.type != type:
        raise TypeError(f"{aggregator.description} gives type {aggregator.type}, not {type}")
    return aggregator
