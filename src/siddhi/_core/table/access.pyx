"""Access paths into a table."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int32_t

from siddhi._core.expression.bounds cimport SortedRange
from siddhi._core.expression.executor cimport VARIABLE
from siddhi._core.index.hash_index cimport MAX_WIDTH
from siddhi._core.index.sorted_index cimport PositionC, SortedEntryC
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG
from siddhi._core.record.frame cimport NULL_VALUE
from siddhi._core.table.index cimport NO_ROW

cdef int numbers_grow(NumbersC* numbers) except -1:
    cdef Py_ssize_t capacity = max(16, 2 * numbers.capacity)
    cdef uint32_t* at = <uint32_t*> PyMem_Realloc(numbers.at, capacity * sizeof(uint32_t))
    if at is NULL:
        raise MemoryError
    numbers.at = at
    numbers.capacity = capacity
    return 0


cdef int how_to_probe(int attribute, int operand) except -1:
    """Return the conversion from the type of the operand to that of the attribute; ValueError if there is none."""
    if attribute == operand:
        return AS_IS
    if attribute == INT and operand == LONG:
        return LONG_AS_INT
    if attribute == INT and operand == DOUBLE:
        return DOUBLE_AS_INT
    if attribute == FLOAT and operand == DOUBLE:
        return DOUBLE_AS_FLOAT
    raise ValueError(f"a value of type {operand} cannot be looked up in an index of type {attribute}")


cdef inline bint read_probe(const ProbeC* probe, EventC* e, FrameC* f, CellC* out) except -1:
    """Read the value in the attribute's type; return False if no value of that type equals it."""
    cdef CellC value
    cdef int status
    out.bits = 0
    if probe.how == AS_IS:
        status = probe.x.fn(probe.x, e, f, out)
        if probe.code == BOOL:
            out.i = status
            return status != NULL_VALUE
        if status == NULL_VALUE:
            return False
        if probe.code == DOUBLE:
            return out.d == out.d
        if probe.code == FLOAT:
            return out.f == out.f
        return True
    if probe.x.fn(probe.x, e, f, &value) == NULL_VALUE:
        return False
    if probe.how == LONG_AS_INT:
        out.i = <int32_t> value.l
        return out.i == value.l
    if probe.how == DOUBLE_AS_INT:
        if not (value.d >= -2147483648.0 and value.d <= 2147483647.0):
            return False
        out.i = <int32_t> value.d
        return out.i == value.d
    out.f = <float> value.d
    return out.f == value.d


cdef bint is_cell(Executor executor):
    """Return whether an executor only reads a cell."""
    return executor.kind == VARIABLE or (not executor.children and executor.description.endswith(" var"))


cdef class Access:
    """Base class of access paths."""

    cdef int collect(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1:
        raise TypeError(f"{type(self).__name__} must implement collect()")

    cdef Py_ssize_t estimate(self, EventC* e, FrameC* f) except -1:
        return self.table.size


@cython.final
cdef class KeyAccess(Access):
    """Finds the row of a primary key.

    Args:
        table: the table searched.
        executors: values of the key's attributes, in the order of the key.
    """

    def __cinit__(self, Table table not None, tuple executors not None):
        cdef int i
        cdef Executor executor
        self.table = table
        self.ordered = self.by_key = True
        self.executors = executors
        self.n = len(executors)
        if table.keys is None or self.n != table.n_key_cells:
            raise ValueError("a primary key of {table.n_key_cells} attributes cannot be looked up by {self.n} values")
        self.probes = <ProbeC*> PyMem_Malloc(self.n * sizeof(ProbeC))
        if self.probes is NULL:
            raise MemoryError
        for i in range(self.n):
            executor = executors[i]
            self.probes[i].x = &executor.c
            self.probes[i].code = table.key_cells[i].code
            self.probes[i].how = how_to_probe(self.probes[i].code, executor.type)
        self.can_hash = self.n == 1 and table.keys.is_simple() and is_cell(executors[0])

    def __dealloc__(self):
        PyMem_Free(self.probes)

    cdef bint hash_of(self, EventC* e, FrameC* f, uint64_t* hash) except -1:
        cdef CellC key
        if not read_probe(&self.probes[0], e, f, &key):
            return False
        hash[0] = self.table.keys.hash_of_one(&key)
        return True

    cdef uint32_t get(self, EventC* e, FrameC* f) except? 0xfffffffe:
        cdef CellC key[MAX_WIDTH]
        cdef int i
        for i in range(self.n):
            if not read_probe(&self.probes[i], e, f, &key[i]):
                return NO_ROW
        return self.table.number_of(key, 0)

    cdef int collect(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1:
        cdef uint32_t number = self.get(e, f)
        if number != NO_ROW:
            numbers_add(out, number)
        return 0

    cdef Py_ssize_t estimate(self, EventC* e, FrameC* f) except -1:
        return 1

    def __repr__(self):
        return "primary key"


@cython.final
cdef class ValueAccess(Access):
    """Finds the rows with a value of an attribute.

    Args:
        table: the table searched.
        position: index of the attribute.
        executor: the value.
    """

    def __init__(self, Table table not None, int position, Executor executor not None):
        self.table = table
        self.index = table.index(position)
        self.executor = executor
        self.probe.x = &executor.c
        self.probe.code = self.index.at.code
        self.probe.how = how_to_probe(self.probe.code, executor.type)

    cdef ChainC* chain(self, EventC* e, FrameC* f) except? NULL:
        cdef CellC value
        if not read_probe(&self.probe, e, f, &value):
            return NULL
        return self.index.rows_of(&value)

    cdef int collect(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1:
        cdef ChainC* chain = self.chain(e, f)
        cdef uint32_t number
        if chain is not NULL:
            number = chain.first
            while number != NO_ROW:
                numbers_add(out, number)
                number = self.index.links[number].next
        return 0

    cdef Py_ssize_t estimate(self, EventC* e, FrameC* f) except -1:
        cdef ChainC* chain = self.chain(e, f)
        return 0 if chain is NULL else chain.n

    def __repr__(self):
        return f"index {self.table.layout.names[self.index.position]}"


@cython.final
cdef class RangeAccess(Access):
    """Finds the rows whose attribute lies between bounds.

    Args:
        table: the table searched.
        position: index of the attribute, a number.
        bounds: as SortedRange takes them.
    """

    def __init__(self, Table table not None, int position, tuple bounds not None):
        self.table = table
        self.limited = True
        self.index = table.index(position, sorted=True)
        self.range = SortedRange(self.index.at.code, bounds)

    cdef int collect(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1:
        cdef uint64_t low, high
        cdef PositionC at
        cdef SortedEntryC* entry
        cdef uint32_t number
        if not self.range.find(e, f, &low, &high):
            return 0
        at = self.index.order.seek(low, False)
        while True:
            entry = self.index.order.take(&at)
            if entry is NULL or entry.key > high or out.n > limit:
                return 0
            number = self.index.chains[entry.key_id].first
            while number != NO_ROW:
                numbers_add(out, number)
                number = self.index.links[number].next

    cdef Py_ssize_t estimate(self, EventC* e, FrameC* f) except -1:
        # A rough estimate without counting: a range is used only where no equality is available.
        return self.table.size // 2 + 1

    def __repr__(self):
        return f"range of {self.table.layout.names[self.index.position]}"


@cython.final
cdef class UnionAccess(Access):
    """Finds the rows of any of several accesses. Rows may occur twice: the search removes duplicates.

    Args:
        table: the table searched.
        parts: at least two accesses.
    """

    def __init__(self, Table table not None, tuple parts not None):
        cdef Access part
        self.table = table
        self.parts = parts
        for part in parts:
            self.limited |= part.limited
            self.by_key |= part.by_key

    cdef int collect(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1:
        cdef Access part
        for part in self.parts:
            part.collect(out, e, f, limit)
        return 0

    cdef Py_ssize_t estimate(self, EventC* e, FrameC* f) except -1:
        cdef Access part
        cdef Py_ssize_t n = 0
        for part in self.parts:
            n += part.estimate(e, f)
        return n

    def __repr__(self):
        return " or ".join(map(repr, self.parts))


@cython.final
cdef class SmallestAccess(Access):
    """Finds rows by the cheapest of several accesses whose conditions must all hold.

    Args:
        table: the table searched.
        parts: at least two accesses.
    """

    def __init__(self, Table table not None, tuple parts not None):
        self.table = table
        self.parts = parts

    cdef int collect(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1:
        cdef Access part, smallest = None
        cdef Py_ssize_t n, least = 0
        for part in self.parts:
            n = part.estimate(e, f)
            if smallest is None or n < least:
                smallest = part
                least = n
        return smallest.collect(out, e, f, limit)

    cdef Py_ssize_t estimate(self, EventC* e, FrameC* f) except -1:
        return min([(<Access> part).estimate(e, f) for part in self.parts])

    def __repr__(self):
        return "smallest of " + ", ".join(map(repr, self.parts))
