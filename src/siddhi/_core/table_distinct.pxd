# Which of the rows found are one: in a table with indexes and no key, rows of one time and of equal values. Each is kept,
# since a later change may tell them apart, but a search shows one of them, the first.
#
# A row that was changed since it came in counts by itself for changes: of rows that came in equal, the second was never
# there; of rows that have become equal, a change is made to one and leaves the others as they are.

from libc.stdint cimport uint32_t

from siddhi._core.event cimport EventC, Layout
from siddhi._core.table cimport Table

cdef bint rows_equal(Layout layout, const EventC* a, const EventC* b) except -1
# The numbers of distinct rows first, in their order, then those of the others; the number of distinct ones. `merge`:
# rows that came in equal to another are deleted, and `n` is made less by them.
cdef Py_ssize_t part_distinct(Table table, uint32_t* at, Py_ssize_t* n, bint merge) except -1
