"""Ranges of sorted numbers."""

cimport cython
from libc.math cimport ceil, floor
from libc.stdint cimport int64_t

from siddhi._core.expression.executor cimport Executor
from siddhi._core.index.sorted_index cimport sort_key, sort_key_of_integer
from siddhi._core.record.event cimport DOUBLE, FLOAT, INT, LONG, CellC
from siddhi._core.record.frame cimport NULL_VALUE

cdef dict COMPARABLE = {INT: (INT, LONG, DOUBLE), LONG: (LONG,), FLOAT: (FLOAT, DOUBLE), DOUBLE: (DOUBLE,)}


@cython.final
cdef class SortedRange:
    """A range between bounds.

    Args:
        code: type of the numbers.
        bounds: ``(executor, is_low, inclusive)`` of each; several of one kind narrow the range. A bound of another type must
            represent every number of this type exactly.
    """

    def __init__(self, int code, tuple bounds not None):
        cdef Executor executor
        self.code = code
        self.bounds = bounds
        for executor, _, _ in bounds:
            if executor.type not in COMPARABLE[code]:
                raise ValueError(f"a bound of type {executor.type} cannot represent all numbers of type {code}")

    cdef bint find(self, EventC* e, FrameC* f, uint64_t* low, uint64_t* high) except -1:
        cdef Executor executor
        cdef bint is_low, inclusive
        cdef CellC value
        cdef uint64_t key
        low[0] = 0
        high[0] = <uint64_t> 0xffffffffffffffff
        for executor, is_low, inclusive in self.bounds:
            if executor.c.fn(&executor.c, e, f, &value) == NULL_VALUE:
                return False
            if executor.type == FLOAT and value.f != value.f or executor.type == DOUBLE and value.d != value.d:
                return False
            if self.code == INT and executor.type == DOUBLE:
                # v > 2.5 is v >= 3, and v < 2.5 is v <= 2.
                if is_low:
                    value.d = ceil(value.d) if inclusive else floor(value.d) + 1
                else:
                    value.d = floor(value.d) if inclusive else ceil(value.d) - 1
                inclusive = True
                value.l = <int64_t> min(max(value.d, -9e18), 9e18)
                key = sort_key_of_integer(value.l)
            else:
                key = sort_key(executor.type, &value)
            if is_low:
                if not inclusive:
                    if key == <uint64_t> 0xffffffffffffffff:
                        return False
                    key += 1
                low[0] = max(low[0], key)
            else:
                if not inclusive:
                    if key == 0:
                        return False
                    key -= 1
                high[0] = min(high[0], key)
        return low[0] <= high[0]
