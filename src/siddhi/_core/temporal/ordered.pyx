"""Rows in the order of a selection, in blocks."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memmove, memset

from siddhi._core.record.event cimport (
    BOOL, DOUBLE, FLOAT, INT, LONG, CellC, EventPool, acquire, cell_from_python, release,
)
from siddhi._core.temporal.aggregate cimport key_of_real
from siddhi._core.temporal.lifetime cimport TIME_MAX, LifetimePool, release_lifetime

cdef extern from "Python.h":
    int PyUnicode_Compare(object left, object right) except? -1
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t index)

cdef uint64_t SIGN = <uint64_t> 1 << 63


cdef inline int compare_reals(double a, double b) noexcept:
    if a != a or b != b:
        return (a != a) - (b != b)
    return (a > b) - (a < b)


@cython.final
cdef class RowOrder:
    """The order of output rows; null ranks below every value, NaN above.

    Args:
        layout: of the rows.
        order: (position of an attribute, whether descending), the most important one first.
    """

    def __init__(self, Layout layout not None, tuple order not None):
        self.layout = layout
        self.order = order
        self.first, self.descending = order[0]
        self.exact = len(order) == 1 and layout.types[self.first] in (INT, BOOL, FLOAT, DOUBLE)

    cdef uint64_t key(self, EventC* row) noexcept:
        cdef const CellC* cell = <const CellC*> &row.body[self.layout.words + self.first]
        cdef int code = self.layout.codes[self.first], i
        cdef uint64_t key = 0
        cdef Py_ssize_t length
        if row.body[self.first >> 6] >> (self.first & 63) & 1:
            pass                                       # null: 0
        elif code == INT or code == BOOL:
            key = (<uint64_t> <int64_t> cell.i) ^ SIGN
        elif code == LONG:
            key = max(<uint64_t> cell.l ^ SIGN, <uint64_t> 1)
        elif code == FLOAT:
            key = key_of_real(cell.f)
        elif code == DOUBLE:
            key = key_of_real(cell.d)
        else:
            # The first three characters.
            length = PyUnicode_GET_LENGTH(<object> <PyObject*> cell.o)
            for i in range(3):
                key <<= 21
                if i < length:
                    key |= <uint64_t> PyUnicode_READ_CHAR(<object> <PyObject*> cell.o, i)
            key += 1
        return ~key if self.descending else key

    cdef int compare(self, EventC* a, EventC* b) except? -2:
        cdef int position, code, answer, words = self.layout.words
        cdef bint descending, null_a, null_b
        cdef const CellC* x
        cdef const CellC* y
        for position, descending in self.order:
            null_a = a.body[position >> 6] >> (position & 63) & 1
            null_b = b.body[position >> 6] >> (position & 63) & 1
            if null_a or null_b:
                answer = null_b - null_a
            else:
                x, y = <const CellC*> &a.body[words + position], <const CellC*> &b.body[words + position]
                code = self.layout.codes[position]
                if code == INT or code == BOOL:
                    answer = (x.i > y.i) - (x.i < y.i)
                elif code == LONG:
                    answer = (x.l > y.l) - (x.l < y.l)
                elif code == FLOAT:
                    answer = compare_reals(x.f, y.f)
                elif code == DOUBLE:
                    answer = compare_reals(x.d, y.d)
                else:
                    answer = PyUnicode_Compare(<object> <PyObject*> x.o, <object> <PyObject*> y.o)
            if answer:
                return -answer if descending else answer
        return 0

    cdef bint equal(self, const OrderedRowC* a, const OrderedRowC* b) except -1:
        return a.key == b.key and (self.exact or self.compare(a.out, b.out) == 0)


cdef inline bint is_before(RowOrder order, const OrderedRowC* a, const OrderedRowC* b) except -1:
    cdef int answer
    if a.key != b.key:
        return a.key < b.key
    if not order.exact:
        answer = order.compare(a.out, b.out)
        if answer:
            return answer < 0
    return a.lifetime.index < b.lifetime.index


cdef int find(OrderedRowsC* rows, RowOrder order, const OrderedRowC* row, uint32_t* block, uint32_t* entry) except -1:
    """Set the position of the first row that is not before a row, within the block that may hold it."""
    cdef uint32_t low = 0, high = rows.n_blocks, middle
    cdef OrderedBlockC* found
    while low < high:
        middle = (low + high) >> 1
        if (row.key < rows.blocks[middle].key if row.key != rows.blocks[middle].key
                else is_before(order, row, &rows.blocks[middle].rows[0])):
            high = middle
        else:
            low = middle + 1
    block[0] = low - 1 if low else 0
    entry[0] = 0
    if rows.n_blocks == 0:
        return 0
    found = &rows.blocks[block[0]]
    low, high = 0, found.n
    while low < high:
        middle = (low + high) >> 1
        if is_before(order, &found.rows[middle], row):
            low = middle + 1
        else:
            high = middle
    entry[0] = low
    return 0


cdef int add_block(OrderedRowsC* rows, uint32_t at, uint32_t capacity) except -1:
    """Insert an empty block into the directory."""
    cdef OrderedBlockC* larger
    cdef OrderedRowC* memory
    cdef uint32_t wanted
    if rows.n_blocks == rows.capacity:
        wanted = max(<uint32_t> 1, 2 * rows.capacity)
        larger = <OrderedBlockC*> PyMem_Realloc(rows.blocks, wanted * sizeof(OrderedBlockC))
        if larger is NULL:
            raise MemoryError
        rows.blocks = larger
        rows.capacity = wanted
    memory = <OrderedRowC*> PyMem_Malloc(capacity * sizeof(OrderedRowC))
    if memory is NULL:
        raise MemoryError
    memmove(&rows.blocks[at + 1], &rows.blocks[at], (rows.n_blocks - at) * sizeof(OrderedBlockC))
    rows.blocks[at].rows = memory
    rows.blocks[at].n = 0
    rows.blocks[at].capacity = capacity
    rows.n_blocks += 1
    return 0


cdef void drop_block(OrderedRowsC* rows, uint32_t at) noexcept:
    PyMem_Free(rows.blocks[at].rows)
    rows.n_blocks -= 1
    memmove(&rows.blocks[at], &rows.blocks[at + 1], (rows.n_blocks - at) * sizeof(OrderedBlockC))


cdef int ordered_add(OrderedRowsC* rows, RowOrder order, OrderedRowC row) except -1:
    """Insert a row that is absent."""
    cdef uint32_t at, entry, capacity
    cdef OrderedBlockC* block
    cdef OrderedBlockC* upper
    cdef OrderedRowC* larger
    find(rows, order, &row, &at, &entry)
    if rows.n_blocks == 0:
        add_block(rows, 0, 4)
    elif rows.blocks[at].n == BLOCK:
        add_block(rows, at + 1, BLOCK)
        block, upper = &rows.blocks[at], &rows.blocks[at + 1]
        if entry == BLOCK and at + 2 == rows.n_blocks:
            # Rows often come in their order: the full block stays full.
            at, entry = at + 1, 0
        else:
            upper.n = BLOCK // 2
            block.n = BLOCK - upper.n
            memcpy(upper.rows, &block.rows[block.n], upper.n * sizeof(OrderedRowC))
            upper.key = upper.rows[0].key
            if entry > block.n:
                at, entry = at + 1, entry - block.n
    elif rows.blocks[at].n == rows.blocks[at].capacity:
        capacity = min(<uint32_t> BLOCK, 2 * rows.blocks[at].capacity)
        larger = <OrderedRowC*> PyMem_Realloc(rows.blocks[at].rows, capacity * sizeof(OrderedRowC))
        if larger is NULL:
            raise MemoryError
        rows.blocks[at].rows = larger
        rows.blocks[at].capacity = capacity
    block = &rows.blocks[at]
    memmove(&block.rows[entry + 1], &block.rows[entry], (block.n - entry) * sizeof(OrderedRowC))
    block.rows[entry] = row
    block.key = block.rows[0].key
    block.n += 1
    return 0


cdef bint ordered_remove(OrderedRowsC* rows, RowOrder order, OrderedRowC row) except -1:
    """Remove a row, found by its order and lifetime; return whether it was there."""
    cdef uint32_t at, entry
    cdef OrderedBlockC* block
    cdef OrderedBlockC* upper
    if rows.n_blocks == 0:
        return False
    find(rows, order, &row, &at, &entry)
    block = &rows.blocks[at]
    if entry == block.n or block.rows[entry].lifetime is not row.lifetime:
        return False
    block.n -= 1
    memmove(&block.rows[entry], &block.rows[entry + 1], (block.n - entry) * sizeof(OrderedRowC))
    block.key = block.rows[0].key if block.n else 0
    if block.n == 0:
        drop_block(rows, at)
    elif block.capacity == BLOCK and at + 1 < rows.n_blocks:
        upper = &rows.blocks[at + 1]
        if block.n + upper.n <= BLOCK // 2:
            memcpy(&block.rows[block.n], upper.rows, upper.n * sizeof(OrderedRowC))
            block.n += upper.n
            drop_block(rows, at + 1)
    return True


cdef void ordered_clear(OrderedRowsC* rows) noexcept:
    """Free the memory."""
    cdef uint32_t i
    for i in range(rows.n_blocks):
        PyMem_Free(rows.blocks[i].rows)
    PyMem_Free(rows.blocks)
    memset(rows, 0, sizeof(OrderedRowsC))


@cython.final
@cython.no_gc_clear
cdef class OrderedRows:
    """Ordered rows as Python tuples, for tests.

    Args:
        layout: of the rows.
        order: see :class:`RowOrder`.
    """

    cdef RowOrder order
    cdef EventPool pool
    cdef LifetimePool lifetimes
    cdef OrderedRowsC rows
    cdef dict known                # handle -> address of the lifetime

    def __init__(self, Layout layout not None, tuple order not None):
        self.order = RowOrder(layout, order)
        self.pool = EventPool(layout)
        self.lifetimes = LifetimePool()
        self.lifetimes.keep(self.pool)
        self.known = {}

    def __dealloc__(self):
        ordered_clear(&self.rows)

    cdef OrderedRowC entry(self, LifetimeC* lifetime) noexcept:
        return OrderedRowC(self.order.key(lifetime.row), lifetime.row, lifetime)

    def add(self, tuple row not None):
        """Add a row; return the handle to remove it by."""
        cdef EventC* event = acquire(self.pool)
        cdef LifetimeC* lifetime
        cdef int i
        try:
            memset(event.body, 0, 8 * self.pool.layout.words)
            for i in range(self.pool.layout.width):
                cell_from_python(event, self.pool.layout, i, row[i])
            lifetime = self.lifetimes.acquire(self.pool, event, 0, TIME_MAX)
        finally:
            release(self.pool, event)
        ordered_add(&self.rows, self.order, self.entry(lifetime))
        self.known[lifetime.index] = (<size_t> lifetime, row)
        return lifetime.index

    def remove(self, uint32_t handle):
        """Remove a row; return whether it was there."""
        cdef LifetimeC* lifetime = <LifetimeC*> <size_t> self.known.pop(handle)[0]
        cdef bint found = ordered_remove(&self.rows, self.order, self.entry(lifetime))
        release_lifetime(self.lifetimes, lifetime)
        return found

    def rows_in_order(self):
        """Return the rows."""
        cdef uint32_t i, j
        return [self.known[self.rows.blocks[i].rows[j].lifetime.index][1]
                for i in range(self.rows.n_blocks) for j in range(self.rows.blocks[i].n)]

    @property
    def blocks(self):
        """Sizes of the blocks."""
        cdef uint32_t i
        return [self.rows.blocks[i].n for i in range(self.rows.n_blocks)]
