# The order in which a Java HashMap walks text keys: by (hash & (table size - 1), order of insertion).

from libc.stdint cimport uint32_t

from siddhi._core.event cimport EventC, Layout

cdef uint32_t hash_of_key(const EventC* event, Layout layout, tuple positions) except? 0xffffffff
cdef uint32_t table_size(Py_ssize_t most) noexcept
