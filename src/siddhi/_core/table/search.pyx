"""Search of tables: equal rows, conditions, the ``in`` operator."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint64_t, uint8_t
from libc.stdlib cimport qsort

from siddhi._core.expression.executor cimport ExecC, eval_fn, new_executor
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC
from siddhi._core.record.frame cimport TRUE
from siddhi._core.record.prefetch cimport prefetch_line
from siddhi._core.runtime.lookup cimport FoundC, found_keep
from siddhi._core.table.access cimport numbers_add
from siddhi._core.table.index cimport NO_ROW, ChainC
from siddhi._core.table.table cimport PREFETCH_ROWS, RowC

cdef enum:
    FEW = 8                  # up to this number rows are compared pairwise; more are hashed


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
    """Hash the time and all values except objects, which may be unhashable."""
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
    cdef uint64_t bucket = 0
    cdef uint32_t number
    cdef Py_ssize_t* heads = NULL      # index + 1 of a distinct row; 0: free
    cdef uint32_t* others = NULL
    cdef uint8_t* came = NULL          # by distinct row: it, or a row equal to it, is unchanged since its insertion
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
                bucket = row_hash(layout, row) >> 8 & <uint64_t> (size - 1)
                while heads[bucket]:
                    if rows_equal(layout, table.rows[at[heads[bucket] - 1]].event, row):
                        first = heads[bucket] - 1
                        break
                    bucket = (bucket + 1) & <uint64_t> (size - 1)
            else:
                for j in range(n_distinct):
                    if rows_equal(layout, table.rows[at[j]].event, row):
                        first = j
                        break
            if first < 0:
                if size:
                    heads[bucket] = n_distinct + 1
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


# --- TableSearch, and the ``in`` operator.

cdef enum:
    MIN_LIMIT = 64           # number of rows that a range may always find before a scan is considered


@cython.final
cdef class TableSearch:
    """A condition over a table.

    Args:
        table: the table searched.
        access: finds candidates; None: every row is a candidate.
        row_free: the part of the condition that does not read the row, or None.
        residual: condition tested on each candidate, or None.
        whole: condition tested on each row of a scan, or None.
        binding: where ``residual`` and ``whole`` read the row.
        slot: with binding IN_SLOT, the event slot.
    """

    def __init__(self, Table table not None, Access access, Executor row_free, Executor residual, Executor whole,
                 int binding, int slot=0):
        self.table = table
        self.access = access
        self.key = <KeyAccess> access if isinstance(access, KeyAccess) else None
        self.value = <ValueAccess> access if isinstance(access, ValueAccess) else None
        self.row_free = row_free
        self.residual = residual
        self.whole = whole
        self.binding = binding
        self.slot = slot

    def __dealloc__(self):
        PyMem_Free(self.found.at)

    def __repr__(self):
        return f"<TableSearch of '{self.table.id}' by {'scan' if self.access is None else repr(self.access)}>"

    cdef NumbersC acquire_buffer(self) noexcept:
        """Take the buffer for a search; a nested search gets a new one."""
        cdef NumbersC numbers = self.found
        self.found.at = NULL
        self.found.n = self.found.capacity = 0
        numbers.n = 0
        return numbers

    cdef void release_buffer(self, NumbersC numbers) noexcept:
        if self.found.at is NULL:
            self.found = numbers
        else:
            PyMem_Free(numbers.at)

    cdef inline bint matches(self, Executor test, EventC* row, EventC* e, FrameC* f) except -1:
        cdef EventC* before
        cdef bint answer
        if test is None:
            return True
        if self.binding == AS_EVENT:
            return test.c.fn(&test.c, row, f, NULL) == TRUE
        if self.binding == IN_SLOT:
            f.slots[self.slot] = row
            return test.c.fn(&test.c, e, f, NULL) == TRUE
        before = f.row
        f.row = row
        try:
            answer = test.c.fn(&test.c, e, f, NULL) == TRUE
        finally:
            f.row = before
        return answer

    cdef uint32_t find_one(self, EventC* e, FrameC* f) except? 0xfffffffe:
        cdef uint32_t number
        if self.residual is None and self.row_free is None:
            # Values are computed before the table is searched, so nothing can change it in between.
            return self.key.get(e, f)
        self.table.searching += 1
        try:
            if self.row_free is not None and self.row_free.c.fn(&self.row_free.c, e, f, NULL) != TRUE:
                return NO_ROW
            number = self.key.get(e, f)
            if number != NO_ROW and not self.matches(self.residual, self.table.rows[number].event, e, f):
                return NO_ROW
        finally:
            self.table.searching -= 1
        return number

    cdef int find(self, EventC* e, FrameC* f, NumbersC* out) except -1:
        """Append the numbers of the matching rows."""
        cdef uint32_t number
        cdef Py_ssize_t i, n = 0
        cdef Table table = self.table
        if self.is_by_key():
            number = self.find_one(e, f)
            if number != NO_ROW:
                numbers_add(out, number)
            return 0
        table.searching += 1
        try:
            if self.row_free is not None and self.row_free.c.fn(&self.row_free.c, e, f, NULL) != TRUE:
                return 0
            if not self.narrow(out, e, f, MIN_LIMIT + table.size // 8):
                out.n = 0
                return self.scan(out, e, f)
            if not self.access.ordered:
                self.arrange(out)
            if self.residual is not None:
                for i in range(out.n):
                    if self.matches(self.residual, table.rows[out.at[i]].event, e, f):
                        out.at[n] = out.at[i]
                        n += 1
                out.n = n
        finally:
            table.searching -= 1
        return 0

    cdef bint narrow(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1:
        """Collect candidates; return False if a scan costs no more. An access that stops at the limit leaves what it
        found."""
        if self.access is None or (self.access.by_key and self.table.n_misfiled):
            return False
        self.access.collect(out, e, f, limit)
        return out.n <= limit or self.access.limited == 0

    cdef int scan(self, NumbersC* out, EventC* e, FrameC* f) except -1:
        cdef RowC* rows = self.table.rows
        cdef uint32_t number = self.table.first
        while number != NO_ROW:
            if self.matches(self.whole, rows[number].event, e, f):
                numbers_add(out, number)
            number = rows[number].next
        return 0

    cdef void arrange(self, NumbersC* out) noexcept:
        cdef RowC* rows = self.table.rows
        cdef Py_ssize_t i, n = 1
        cdef bint sorted = True
        for i in range(1, out.n):
            if rows[out.at[i - 1]].sequence >= rows[out.at[i]].sequence:
                sorted = False
                break
        if sorted:
            return
        sort_numbers(out, rows)
        for i in range(1, out.n):
            if out.at[i] != out.at[n - 1]:
                out.at[n] = out.at[i]
                n += 1
        out.n = n

    cdef bint contains(self, EventC* e, FrameC* f) except -1:
        """Return whether a row matches."""
        cdef uint32_t number
        cdef Py_ssize_t i
        cdef NumbersC numbers
        cdef Table table = self.table
        if self.is_by_key():
            return self.find_one(e, f) != NO_ROW
        table.searching += 1
        try:
            if self.row_free is not None and self.row_free.c.fn(&self.row_free.c, e, f, NULL) != TRUE:
                return False
            if self.whole is None:
                return table.size > 0
            if self.value is not None:
                return self.chain_contains(self.value.chain(e, f), e, f)
            numbers = self.acquire_buffer()
            try:
                if self.narrow(&numbers, e, f, 0 if self.residual is None else MIN_LIMIT + table.size // 8):
                    for i in range(numbers.n):
                        if self.matches(self.residual, table.rows[numbers.at[i]].event, e, f):
                            return True
                    return False
                if self.residual is None and numbers.n:
                    return True
                number = table.first
                while number != NO_ROW:
                    if self.matches(self.whole, table.rows[number].event, e, f):
                        return True
                    number = table.rows[number].next
                return False
            finally:
                self.release_buffer(numbers)
        finally:
            table.searching -= 1

    cdef bint chain_contains(self, const ChainC* chain, EventC* e, FrameC* f) except -1:
        cdef uint32_t number
        if chain is NULL:
            return False
        number = chain.first
        while number != NO_ROW:
            if self.matches(self.residual, self.table.rows[number].event, e, f):
                return True
            number = self.value.index.links[number].next
        return False


# --- sorting by sequence: pairs, so that the comparison needs no table

cdef struct PairC:
    unsigned long long sequence
    uint32_t number


cdef int compare_pairs(const void* a, const void* b) noexcept nogil:
    cdef unsigned long long left = (<const PairC*> a).sequence, right = (<const PairC*> b).sequence
    return (left > right) - (left < right)


cdef extern from "Python.h":
    void* PyMem_RawMalloc(size_t n)
    void PyMem_RawFree(void* memory)


cdef void sort_numbers(NumbersC* out, RowC* rows) noexcept:
    cdef Py_ssize_t i, j
    cdef uint32_t number
    cdef PairC* pairs = <PairC*> PyMem_RawMalloc(out.n * sizeof(PairC))
    if pairs is NULL:
        # Out of memory: insertion sort in place.
        for i in range(1, out.n):
            number = out.at[i]
            j = i
            while j > 0 and rows[out.at[j - 1]].sequence > rows[number].sequence:
                out.at[j] = out.at[j - 1]
                j -= 1
            out.at[j] = number
        return
    for i in range(out.n):
        pairs[i].sequence = rows[out.at[i]].sequence
        pairs[i].number = out.at[i]
    qsort(pairs, out.n, sizeof(PairC), compare_pairs)
    for i in range(out.n):
        out.at[i] = pairs[i].number
    PyMem_RawFree(pairs)


@cython.final
cdef class TableSearchable(Searchable):
    """A table as one side of a join (binding IN_SLOT) or as source of an on-demand query (binding AS_EVENT).

    Args:
        search: the condition.
        slot: slot in which the condition reads the row; joins have the slots 0 and 1.
    """

    def __cinit__(self, TableSearch search not None, int slot):
        self.search = search
        self.pool = search.table.pool
        self.slot = slot
        self.null_event = <EventC*> PyMem_Calloc(1, sizeof(EventC) + sizeof(uint64_t))
        if self.null_event is NULL:
            raise MemoryError
        self.null_event.timestamp = -1

    def __dealloc__(self):
        PyMem_Free(self.null_event)

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef NumbersC numbers
        cdef Py_ssize_t i
        cdef uint32_t number
        cdef Table table = self.search.table
        cdef EventC* event = self.null_event
        if self.search.binding == IN_SLOT and frame.slots[1 - self.slot] is not NULL:
            event = frame.slots[1 - self.slot]
        if self.search.is_by_key():
            number = self.search.find_one(event, frame)
            if number != NO_ROW:
                event = table.rows[number].event
                prefetch_line(<char*> event + self.pool.record_bytes - 1)      # a record usually spans two lines
                found_keep(found, self.pool, event)
            return 0
        numbers = self.search.acquire_buffer()
        try:
            self.search.find(event, frame, &numbers)
            if table.distinct:
                numbers.n = part_distinct(table, numbers.at, &numbers.n, False)
            for i in range(numbers.n):
                found_keep(found, self.pool, table.rows[numbers.at[i]].event)
        finally:
            self.search.release_buffer(numbers)
        return 0

    cdef int prefetch(self, FrameC* frame, EventC** events, Py_ssize_t n, int own) except -1:
        cdef uint64_t hashes[PREFETCH_ROWS]
        cdef Py_ssize_t i, m = 0
        cdef KeyAccess key = self.search.key
        if key is None or not key.can_hash or self.search.table.size < PREFETCH_MIN_SIZE:
            return 0
        for i in range(min(n, <Py_ssize_t> PREFETCH_ROWS)):
            frame.slots[own] = events[i]
            if key.hash_of(events[i], frame, &hashes[m]):
                m += 1
        self.search.table.prefetch(hashes, m)
        return 0


cdef int in_table(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef TableSearch search = <TableSearch> x.data
    cdef int64_t start
    if search.meter is None or not search.meter.on:
        return search.contains(e, f)
    start = search.meter.begin()
    try:
        return search.contains(e, f)
    finally:
        search.meter.end(start, 1)


def make_in(TableSearch search not None):
    """Return an executor of ``condition in table``. The search must have binding IN_FRAME."""
    cdef Executor executor = new_executor(<eval_fn> in_table, BOOL, (), f"in {search.table.id}")
    executor.children = (search,)
    executor.c.data = <void*> search
    return executor
