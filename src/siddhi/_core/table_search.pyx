"""Searching a table, and the ``in`` operator."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort

from siddhi._core.event cimport BOOL
from siddhi._core.executor cimport TRUE, ExecC, eval_fn, new_executor
from siddhi._core.fetch cimport fetch_line
from siddhi._core.searchable cimport FoundC, found_keep
from siddhi._core.table cimport FETCHED, RowC
from siddhi._core.table_access cimport numbers_add
from siddhi._core.table_distinct cimport part_distinct
from siddhi._core.table_index cimport NO_ROW, ChainC


cdef enum:
    MIN_LIMIT = 64           # rows that a range may find before the size of the table is asked


@cython.final
cdef class TableSearch:
    """A condition over a table.

    Args:
        table: it is searched.
        access: what finds candidates; None: every row is one.
        gate: the part of the condition that does not read the row, or None.
        rest: what is tested on each candidate, or None.
        whole: what is tested on each row where every row is a candidate, or None.
        binding: where ``rest`` reads the row.
        slot: with binding IN_SLOT, the event slot.
    """

    def __init__(self, Table table not None, Access access, Executor gate, Executor rest, Executor whole,
                 int binding, int slot=0):
        self.table = table
        self.access = access
        self.key = <KeyAccess> access if isinstance(access, KeyAccess) else None
        self.value = <ValueAccess> access if isinstance(access, ValueAccess) else None
        self.gate = gate
        self.rest = rest
        self.whole = whole
        self.binding = binding
        self.slot = slot

    def __dealloc__(self):
        PyMem_Free(self.found.at)

    def __repr__(self):
        return f"<TableSearch of '{self.table.id}' by {'scan' if self.access is None else repr(self.access)}>"

    cdef NumbersC borrow(self) noexcept:
        """A buffer for one search; a search inside another one gets its own."""
        cdef NumbersC numbers = self.found
        self.found.at = NULL
        self.found.n = self.found.capacity = 0
        numbers.n = 0
        return numbers

    cdef void give_back(self, NumbersC numbers) noexcept:
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
        if self.rest is None and self.gate is None:
            # The values are there before the table is looked into: nothing can change it in between.
            return self.key.get(e, f)
        self.table.searching += 1
        try:
            if self.gate is not None and self.gate.c.fn(&self.gate.c, e, f, NULL) != TRUE:
                return NO_ROW
            number = self.key.get(e, f)
            if number != NO_ROW and not self.matches(self.rest, self.table.rows[number].event, e, f):
                return NO_ROW
        finally:
            self.table.searching -= 1
        return number

    cdef int find(self, EventC* e, FrameC* f, NumbersC* out) except -1:
        """Add the numbers of the rows that match."""
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
            if self.gate is not None and self.gate.c.fn(&self.gate.c, e, f, NULL) != TRUE:
                return 0
            if not self.narrow(out, e, f, MIN_LIMIT + table.size // 8):
                out.n = 0
                return self.scan(out, e, f)
            if not self.access.ordered:
                self.arrange(out)
            if self.rest is not None:
                for i in range(out.n):
                    if self.matches(self.rest, table.rows[out.at[i]].event, e, f):
                        out.at[n] = out.at[i]
                        n += 1
                out.n = n
        finally:
            table.searching -= 1
        return 0

    cdef bint narrow(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1:
        """Collect what the access finds; False where that is nothing to go by: looking at every row is no worse. Where it
        stopped at the limit, what it had found by then is left."""
        if self.access is None or (self.access.by_key and self.table.n_astray):
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
        """Whether a row matches."""
        cdef uint32_t number
        cdef Py_ssize_t i
        cdef NumbersC numbers
        cdef Table table = self.table
        if self.is_by_key():
            return self.find_one(e, f) != NO_ROW
        table.searching += 1
        try:
            if self.gate is not None and self.gate.c.fn(&self.gate.c, e, f, NULL) != TRUE:
                return False
            if self.whole is None:
                return table.size > 0
            if self.value is not None:
                return self.chain_contains(self.value.chain(e, f), e, f)
            numbers = self.borrow()
            try:
                if self.narrow(&numbers, e, f, 0 if self.rest is None else MIN_LIMIT + table.size // 8):
                    for i in range(numbers.n):
                        if self.matches(self.rest, table.rows[numbers.at[i]].event, e, f):
                            return True
                    return False
                if self.rest is None and numbers.n:
                    return True
                number = table.first
                while number != NO_ROW:
                    if self.matches(self.whole, table.rows[number].event, e, f):
                        return True
                    number = table.rows[number].next
                return False
            finally:
                self.give_back(numbers)
        finally:
            table.searching -= 1

    cdef bint chain_contains(self, const ChainC* chain, EventC* e, FrameC* f) except -1:
        cdef uint32_t number
        if chain is NULL:
            return False
        number = chain.first
        while number != NO_ROW:
            if self.matches(self.rest, self.table.rows[number].event, e, f):
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
        # No memory to sort quickly: insert one after the other.
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
    """A table as one side of a join (binding IN_SLOT), or as what an on-demand query asks (binding AS_EVENT).

    Args:
        search: the condition.
        slot: where the condition reads the row; joins have the slots 0 and 1.
    """

    def __cinit__(self, TableSearch search not None, int slot):
        self.search = search
        self.pool = search.table.pool
        self.slot = slot
        self.nobody = <EventC*> PyMem_Calloc(1, sizeof(EventC) + sizeof(uint64_t))
        if self.nobody is NULL:
            raise MemoryError
        self.nobody.timestamp = -1

    def __dealloc__(self):
        PyMem_Free(self.nobody)

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef NumbersC numbers
        cdef Py_ssize_t i
        cdef uint32_t number
        cdef Table table = self.search.table
        cdef EventC* event = self.nobody
        if self.search.binding == IN_SLOT and frame.slots[1 - self.slot] is not NULL:
            event = frame.slots[1 - self.slot]
        if self.search.is_by_key():
            number = self.search.find_one(event, frame)
            if number != NO_ROW:
                event = table.rows[number].event
                fetch_line(<char*> event + self.pool.record_bytes - 1)      # a record lies on two lines, as a rule
                found_keep(found, self.pool, event)
            return 0
        numbers = self.search.borrow()
        try:
            self.search.find(event, frame, &numbers)
            if table.distinct:
                numbers.n = part_distinct(table, numbers.at, &numbers.n, False)
            for i in range(numbers.n):
                found_keep(found, self.pool, table.rows[numbers.at[i]].event)
        finally:
            self.search.give_back(numbers)
        return 0

    cdef int fetch(self, FrameC* frame, EventC** events, Py_ssize_t n, int own) except -1:
        cdef uint64_t hashes[FETCHED]
        cdef Py_ssize_t i, m = 0
        cdef KeyAccess key = self.search.key
        if key is None or not key.can_hash or self.search.table.size < WORTH_FETCHING:
            return 0
        for i in range(min(n, <Py_ssize_t> FETCHED)):
            frame.slots[own] = events[i]
            if key.hash_of(events[i], frame, &hashes[m]):
                m += 1
        self.search.table.fetch(hashes, m)
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
    """Whether a row matches: ``condition in table``. The search has binding IN_FRAME."""
    cdef Executor executor = new_executor(<eval_fn> in_table, BOOL, (), f"in {search.table.id}")
    executor.children = (search,)
    executor.c.data = <void*> search
    return executor
