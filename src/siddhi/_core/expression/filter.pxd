# Filter after a window or a stream function.

from siddhi._core.expression.executor cimport Executor
from siddhi._core.runtime.operator cimport Processor

cdef class FilterProcessor(Processor):
    cdef Executor condition
