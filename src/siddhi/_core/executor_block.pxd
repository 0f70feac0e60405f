# Arithmetic over blocks of events: the form for blocks of an operation whose operands have one. See executor.pxd, map_fn.

from siddhi._core.executor cimport map_fn

cdef enum:
    MOST_MAP_DEPTH = 16        # each call within another has an array on the stack

cdef map_fn choose_operand(int type, bint is_constant) noexcept      # a constant or a variable; NULL where it is no number
cdef map_fn choose_arithmetic(int operator, int type) noexcept       # + - * / % by their number
cdef map_fn choose_widened(int source, int target) noexcept          # a number in a wider type
