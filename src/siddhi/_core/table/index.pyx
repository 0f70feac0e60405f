"""Indexes of a table."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc

from siddhi._core.index.hash_index cimport NO_ID
from siddhi._core.index.sorted_index cimport sort_key
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, Layout

cdef int locate(object layout, int position, CellAtC* at) except -1:
    """Set the location of an attribute of a layout."""
    cdef Layout of = layout
    at.cell = of.cell(position)
    at.word = of.null_word(position)
    at.bit = (<uint64_t> 1) << (position & 63)
    at.code = of.codes[position]
    at.narrow = at.code in (INT, FLOAT, BOOL)
    return 0


cdef bint is_indexed(const CellAtC* at, const EventC* row, CellC* value) noexcept:
    """Read a value; return False if comparisons cannot match it (null or NaN)."""
    if not read_cell_at(at, row, value):
        return False
    if at.code == DOUBLE:
        return value.d == value.d
    if at.code == FLOAT:
        return value.f == value.f
    return True


@cython.final
cdef class ValueIndex:
    """Index of rows by the value of one attribute.

    Args:
        layout: layout of the rows.
        position: index of the attribute.
    """

    def __cinit__(self, Layout layout not None, int position):
        self.position = position
        locate(layout, position, &self.at)
        self.values = KeyMap((self.at.code,))

    def __dealloc__(self):
        PyMem_Free(self.chains)
        PyMem_Free(self.links)

    def __len__(self):
        return self.values.size

    cdef ChainC* rows_of(self, const CellC* value) except? NULL:
        cdef uint32_t key_id = self.values.find(value, 0)
        return NULL if key_id == NO_ID else &self.chains[key_id]

    cdef int add(self, uint32_t number, const EventC* row) except -1:
        cdef CellC value
        cdef bint is_new = False
        cdef uint32_t key_id
        cdef ChainC* chain
        cdef Py_ssize_t capacity
        cdef void* memory
        if not is_indexed(&self.at, row, &value):
            return 0
        if number >= self.n_links:
            capacity = max(16, 2 * self.n_links, <Py_ssize_t> number + 1)
            memory = PyMem_Realloc(self.links, capacity * sizeof(LinkC))
            if memory is NULL:
                raise MemoryError
            self.links = <LinkC*> memory
            self.n_links = capacity
        key_id = self.values.insert(&value, 0, &is_new)
        if key_id >= self.n_chains:
            capacity = max(16, 2 * self.n_chains, <Py_ssize_t> key_id + 1)
            memory = PyMem_Realloc(self.chains, capacity * sizeof(ChainC))
            if memory is NULL:
                self.values.remove(key_id)
                raise MemoryError
            self.chains = <ChainC*> memory
            self.n_chains = capacity
        chain = &self.chains[key_id]
        if is_new:
            chain.n = 0
            chain.last = NO_ROW
            if self.order is not None:
                self.order.add(sort_key(self.at.code, &value), key_id)
        self.links[number].previous = chain.last
        self.links[number].next = NO_ROW
        if chain.n == 0:
            chain.first = number
        else:
            self.links[chain.last].next = number
        chain.last = number
        chain.n += 1
        return 0

    cdef int remove(self, uint32_t number, const EventC* row) except -1:
        cdef CellC value
        cdef uint32_t key_id
        cdef ChainC* chain
        cdef LinkC* link
        if not is_indexed(&self.at, row, &value):
            return 0
        key_id = self.values.find(&value, 0)
        if key_id == NO_ID:
            raise KeyError(number)
        chain = &self.chains[key_id]
        link = &self.links[number]
        if link.previous == NO_ROW:
            chain.first = link.next
        else:
            self.links[link.previous].next = link.next
        if link.next == NO_ROW:
            chain.last = link.previous
        else:
            self.links[link.next].previous = link.previous
        chain.n -= 1
        if chain.n == 0:
            if self.order is not None:
                self.order.remove(sort_key(self.at.code, &value))
            self.values.remove(key_id)
        return 0

    cdef int clear(self) except -1:
        self.values.clear()
        if self.order is not None:
            self.order.clear()
        return 0

    cdef int sort(self) except -1:
        cdef uint32_t key_id
        cdef SortedKeys order
        if self.order is not None:
            return 0
        if self.at.code not in (INT, LONG, FLOAT, DOUBLE):
            raise ValueError("only an index of a numeric attribute can be sorted")
        order = SortedKeys()
        for key_id in range(self.values.id_bound()):
            if self.values.is_live(key_id):
                order.add(sort_key(self.at.code, &self.values.keys[key_id]), key_id)
        self.order = order
        return 0
