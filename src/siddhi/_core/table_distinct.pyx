"""Equal rows of a table that is a set."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint8_t, uint64_t

from siddhi._core.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC

cdef enum:
    FEW = 8                  # so many rows are compared with each other; more are hashed


cdef bint rows_equal(Layout layout, const EventC* a, const EventC* b) except -1:
    cdef int i
    cdef uint64_t bit
    cdef const CellC* left
    cdef const CellC* right
    if a.timestamp != b.timestamp:
        return False
    for i in range(layout.width):
        bit = (<uint64_t> 1) << (i & 63)
        if (a.body[i >> 6] ^ b.body[i >> 6]) & bit:
            return False
        if a.body[i >> 6] & bit:
            continue
        left = <const CellC*> &a.body[layout.words + i]
        right = <const CellC*> &b.body[layout.words + i]
        if layout.codes[i] in (INT, FLOAT, BOOL):
            if left.i != right.i:
                return False
        elif layout.codes[i] in (LONG, DOUBLE):
            if left.bits != right.bits:
                return False
        elif left.o != right.o and not (<object> left.o == <object> right.o):
            return False
    return True


cdef uint64_t row_hash(Layout layout, const EventC* row) except? 0xdead:
    """Of the time and of all values but objects, which need not have a hash."""
    cdef uint64_t mixed = <uint64_t> row.timestamp, value
    cdef const CellC* cell
    cdef int i
    for i in range(layout.width):
        cell = <const CellC*> &row.body[layout.words + i]
        if row.body[i >> 6] & ((<uint64_t> 1) << (i & 63)) or layout.codes[i] == OBJECT:
            value = 0
        elif layout.codes[i] == STRING:
            value = <uint64_t> <int64_t> hash(<object> cell.o)
        elif layout.codes[i] in (LONG, DOUBLE):
            value = cell.bits
        else:
            value = <uint64_t> cell.i
        mixed = (mixed ^ value) * <uint64_t> 0x9E3779B97F4A7C15
        mixed ^= mixed >> 29
    return mixed


cdef Py_ssize_t part_distinct(Table table, uint32_t* at, Py_ssize_t* n, bint merge) except -1:
    cdef Py_ssize_t i, j, first, n_distinct = 0, n_others = 0, size = 0
    cdef uint64_t place = 0
    cdef uint32_t number
    cdef Py_ssize_t* heads = NULL      # index + 1 of a distinct row; 0: free
    cdef uint32_t* others = NULL
    cdef uint8_t* came = NULL          # by distinct row: one equal to it is as it came in
    cdef Layout layout = table.layout
    cdef EventC* row
    if n[0] < 2:
        return n[0]
    try:
        others = <uint32_t*> PyMem_Malloc(n[0] * sizeof(uint32_t))
        came = <uint8_t*> PyMem_Malloc(n[0])
        if n[0] > FEW:
            size = 32
            while size < 2 * n[0]:
                size *= 2
            heads = <Py_ssize_t*> PyMem_Calloc(size, sizeof(Py_ssize_t))
        if others is NULL or came is NULL or (size and heads is NULL):
            raise MemoryError
        for i in range(n[0]):
            number = at[i]
            row = table.rows[number].event
            first = -1
            if size:
                place = row_hash(layout, row) >> 8 & <uint64_t> (size - 1)
                while heads[place]:
                    if rows_equal(layout, table.rows[at[heads[place] - 1]].event, row):
                        first = heads[place] - 1
                        break
                    place = (place + 1) & <uint64_t> (size - 1)
            else:
                for j in range(n_distinct):
                    if rows_equal(layout, table.rows[at[j]].event, row):
                        first = j
                        break
            if first < 0:
                if size:
                    heads[place] = n_distinct + 1
                came[n_distinct] = not table.rows[number].changed
                at[n_distinct] = number
                n_distinct += 1
            elif merge and not table.rows[number].changed and came[first]:
                table.remove(number)
            else:
                came[first] |= not table.rows[number].changed
                others[n_others] = number
                n_others += 1
        for i in range(n_others):
            at[n_distinct + i] = others[i]
        n[0] = n_distinct + n_others
    finally:
        PyMem_Free(others)
        PyMem_Free(came)
        PyMem_Free(heads)
    return n_distinct
