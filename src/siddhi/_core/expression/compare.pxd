# Comparisons over blocks of events. See executor.pxd, select_fn.

from siddhi._core.expression.executor cimport select_fn

cdef select_fn choose_select(int operator, int type) noexcept
