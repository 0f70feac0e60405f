# Numeric operators over blocks.

from siddhi._core.expression.executor cimport Executor

# Return whether all operands can be evaluated by block, as an operation on them then can; set its depth.
cdef bint can_map(Executor executor) except -1
