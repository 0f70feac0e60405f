# Rows of Python values as records.

from siddhi._core.event cimport EventC, EventPool, Layout

# A record of a row, timestamp -1; the caller's. ValueError: the row does not fit the layout.
cdef EventC* record_of(row, EventPool pool, Layout layout) except NULL

# The values of a row in attribute order, by name where the row has names. EventError: it does not fit the names.
cpdef tuple row_values(row, tuple names)
