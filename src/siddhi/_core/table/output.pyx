"""Output of queries to tables."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uint8_t

from siddhi._core.expression.executor cimport CONSTANT, VARIABLE, Executor
from siddhi._core.record.event cimport BOOL, OBJECT, STRING, CellC, EventPool, Layout, release, retain
from siddhi._core.record.frame cimport NULL_VALUE, TRUE, FrameC
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport BlockTraits, refuse_blocks
from siddhi._core.runtime.sampler cimport profiling
from siddhi._core.table.access cimport NumbersC
from siddhi._core.table.index cimport NO_ROW
from siddhi._core.table.search cimport part_distinct, rows_equal


cdef class Assignments:
    """Assignments of ``set`` to attributes of a row.

    Args:
        table: the table of the rows.
        positions: indexes of the attributes, ascending.
        executors: their values; types as the attributes.
    """

    def __cinit__(self, Table table not None, positions, tuple executors not None):
        cdef int i, position
        cdef Executor executor
        cdef SetC* set
        self.table = table
        self.executors = executors
        self.n = len(executors)
        self.sets = <SetC*> PyMem_Malloc(max(1, self.n) * sizeof(SetC))
        if self.sets is NULL:
            raise MemoryError
        self.in_place = True
        for i in range(self.n):
            executor = executors[i]
            position = positions[i]
            set = &self.sets[i]
            set.x = &executor.c
            set.cell = table.layout.cell(position)
            set.word = table.layout.null_word(position)
            set.bit = (<uint64_t> 1) << (position & 63)
            set.is_object = executor.type in (STRING, OBJECT)
            set.is_bool = executor.type == BOOL
            set.is_copy = executor.kind == VARIABLE and not set.is_object
            self.touched |= (<uint64_t> 1) << position if position < 64 else ~<uint64_t> 0
            if self.n > 1 and executor.kind not in (VARIABLE, CONSTANT):
                self.in_place = False

    def __dealloc__(self):
        PyMem_Free(self.sets)

    cdef int assign(self, EventC* event, EventC* row) except -1:
        cdef int i, status
        cdef const SetC* set
        cdef FrameC* frame = &self.table.app.frame
        cdef CellC value
        cdef PyObject* old
        frame.row = row
        for i in range(self.n):
            set = &self.sets[i]
            if set.is_copy:
                if event.body[set.x.word] & set.x.bit:
                    row.body[set.word] |= set.bit
                else:
                    row.body[set.cell] = event.body[set.x.cell]
                    row.body[set.word] &= ~set.bit
                continue
            value.bits = 0
            status = set.x.fn(set.x, event, frame, &value)
            if set.is_bool:
                value.i = status == TRUE
            if set.is_object:
                if status == NULL_VALUE:
                    value.o = NULL
                else:
                    Py_INCREF(<object> <PyObject*> value.o)
                old = <PyObject*> row.body[set.cell]
                row.body[set.cell] = value.bits
            elif status != NULL_VALUE:
                row.body[set.cell] = value.bits
            if status == NULL_VALUE:
                row.body[set.word] |= set.bit
            else:
                row.body[set.word] &= ~set.bit
            if set.is_object:
                Py_XDECREF(old)
        return 0

    cdef int update(self, EventC* event, const uint32_t* found, Py_ssize_t n) except -1:
        """Assign to all rows, or to none if two rows would have the same primary key."""
        cdef Table table = self.table
        cdef Py_ssize_t i
        cdef EventC** rows
        cdef EventC* row
        cdef bint indexed = (self.touched & table.indexed) != 0
        if self.in_place and not indexed:
            table.check_writable()
            for i in range(n):
                row = table.rows[found[i]].event
                if row.refs == 1:
                    self.assign(event, row)
                else:
                    row = table.copy(row)
                    try:
                        self.assign(event, row)
                    except BaseException:
                        release(table.pool, row)
                        raise
                    table.replace(found[i], row)
            return 0
        rows = self.assigned(event, found, n)
        try:
            table.change(found, rows, n)
        finally:
            PyMem_Free(rows)
        return 0

    cdef EventC** assigned(self, EventC* event, const uint32_t* found, Py_ssize_t n) except NULL:
        cdef Table table = self.table
        cdef Py_ssize_t i, made = 0
        cdef bint done = False
        cdef EventC** rows = <EventC**> PyMem_Malloc(n * sizeof(EventC*))
        if rows is NULL:
            raise MemoryError
        table.searching += 1
        try:
            for i in range(n):
                rows[i] = table.copy(table.rows[found[i]].event)
                made += 1
                self.assign(event, rows[i])
            done = True
        finally:
            table.searching -= 1
            if not done:
                for i in range(made):
                    release(table.pool, rows[i])
                PyMem_Free(rows)
        return rows

    cdef int update_distinct(self, EventC* event, uint32_t* found, Py_ssize_t n) except -1:
        cdef Table table = self.table
        cdef Py_ssize_t i, n_distinct
        cdef bint moves = False
        cdef uint8_t* differs
        cdef EventC** rows
        table.check_writable()
        n_distinct = part_distinct(table, found, &n, True)
        rows = self.assigned(event, found, n_distinct)
        differs = <uint8_t*> PyMem_Malloc(n_distinct)
        try:
            if differs is NULL:
                for i in range(n_distinct):
                    release(table.pool, rows[i])
                raise MemoryError
            for i in range(n_distinct):
                differs[i] = not rows_equal(table.layout, table.rows[found[i]].event, rows[i])
                moves |= differs[i] and table.is_moved(found[i], rows[i])
            table.change(found, rows, n_distinct)
            for i in range(n_distinct):
                # Rows with a new value of an index count as inserted again, and rows equal to them are removed.
                table.rows[found[i]].changed = not moves and (differs[i] or table.rows[found[i]].changed)
            if moves:
                for i in range(n_distinct, n):
                    table.remove(found[i])
                part_distinct(table, found, &n_distinct, True)
        finally:
            PyMem_Free(differs)
            PyMem_Free(rows)
        return 0


cdef class TableSink(QueryOutput):
    """Base class: passes the events of a chunk to `act_one` one by one.

    Args:
        app: context of the app.
        pool: pool of the output records.
        layout: names and types of the output.
        table: target table.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None, Table table not None):
        super().__init__(app, pool, layout, None, False, True)
        self.table = table
        self.refuses_rows = table.limit is not None

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)
        traits.order_free = (not self.callbacks and self.debugger is None and self.limiter is None
                             and not self.app.frame.playback)
        return 0

    cdef int emit(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        cdef EventC* event = chunk.head
        if (event.next is not NULL or self.limiter is not None or self.counting or self.callbacks
                or self.debugger is not None or self.buffered is not NULL or profiling.sampler is not NULL):
            return QueryOutput.emit(self, chunk, last_timestamp)
        # Common case: a single event without callbacks or limiter.
        try:
            return self.act(chunk)
        finally:
            release(self.pool, event)

    cdef int act_one(self, EventC* event) except -1:
        raise TypeError(f"{type(self).__name__} must implement act_one()")

    cdef int act(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef Py_ssize_t i = 0
        cdef list refused = None
        if self.refused is not None:
            while event is not NULL:
                i += 1
                event = event.next
            if i == self.expected:     # otherwise another chunk, sent by a callback meanwhile
                refused = self.refused
            i, event = 0, chunk.head
        self.table.failure = None
        while event is not NULL:
            self.app.frame.output = event
            self.act_one(event)
            if refused is not None and self.table.failure is not None:
                refused.append((i, self.table.failure))
                self.table.failure = None
            i += 1
            event = event.next
        return self.table.fail()


@cython.final
cdef class TableInsert(TableSink):
    """``insert into``. The pool must be that of the table."""

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None, Table table not None):
        super().__init__(app, pool, layout, table)
        if pool is not table.pool:
            raise ValueError("an insert into a table must use the pool of the table")

    cdef int act_one(self, EventC* event) except -1:
        self.table.insert(event)
        return 0


@cython.final
cdef class TableDelete(TableSink):
    """``delete``."""

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None,
                 TableSearch search not None):
        super().__init__(app, pool, layout, search.table)
        self.search = search

    cdef int act_one(self, EventC* event) except -1:
        cdef NumbersC numbers
        cdef uint32_t number
        cdef Py_ssize_t i
        cdef Table table = self.table
        if self.search.key is not None:
            number = self.search.find_one(event, &self.app.frame)
            if number != NO_ROW:
                table.remove(number)
            return 0
        numbers = self.search.acquire_buffer()
        try:
            self.search.find(event, &self.app.frame, &numbers)
            if table.n_misfiled:
                for i in range(numbers.n):
                    numbers.at[i] = table.row_of_key(table.rows[numbers.at[i]].event)
            for i in range(numbers.n):
                if numbers.at[i] != NO_ROW and table.rows[numbers.at[i]].event is not NULL:
                    table.remove(numbers.at[i])
        finally:
            self.search.release_buffer(numbers)
        return 0


@cython.final
cdef class TableUpdate(TableSink):
    """``update``."""

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None,
                 TableSearch search not None, Assignments assignments not None):
        super().__init__(app, pool, layout, search.table)
        self.search = search
        self.assignments = assignments

    cdef int act_one(self, EventC* event) except -1:
        cdef NumbersC numbers
        cdef uint32_t number
        if self.search.key is not None:
            number = self.search.find_one(event, &self.app.frame)
            if number != NO_ROW:
                self.assignments.update(event, &number, 1)
            return 0
        numbers = self.search.acquire_buffer()
        try:
            self.search.find(event, &self.app.frame, &numbers)
            if numbers.n and self.table.distinct:
                self.assignments.update_distinct(event, numbers.at, numbers.n)
            elif numbers.n:
                self.assignments.update(event, numbers.at, numbers.n)
        finally:
            self.search.release_buffer(numbers)
        return 0


@cython.final
cdef class TableUpdateOrInsert(TableSink):
    """``update or insert into``. The pool must be that of the table.

    Events of one chunk that match no earlier row are reduced among themselves: a later event changes the row that an
    earlier one would insert, if it changes no earlier row. The resulting rows are inserted at the end of the chunk.
    Without `pending` they are inserted at once, where the result is the same.

    Args:
        overwrites: the assignments set every attribute to the output attribute of the same name, and the condition compares
            the primary key with that of the output.
        pending: performs the same on an empty table without key, with the same pool; None: the table has no key that could
            conflict.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None,
                 TableSearch search not None, Assignments assignments not None, bint overwrites,
                 TableUpdateOrInsert pending=None):
        super().__init__(app, pool, layout, search.table)
        if pool is not search.table.pool or (pending is not None and pending.table.pool is not pool):
            raise ValueError("an insert into a table must use the pool of the table")
        self.search = search
        self.assignments = assignments
        self.overwrites = overwrites and search.key is not None and search.residual is None
        self.pending = pending

    cdef int act(self, EventChunk* chunk) except -1:
        self.cut = self.table.sequence
        if self.pending is not None:
            if chunk.head.next is not NULL:
                return self.act_separately(chunk)
            self.gathering = False
        return TableSink.act(self, chunk)

    cdef int act_separately(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        try:
            while event is not NULL:
                self.app.frame.output = event
                self.gathering = True  # set each time: the handler of a refused change may send events itself
                self.act_one(event)
                event = event.next
        finally:
            self.gathering = False
            self.add_pending()
        return self.table.fail()

    cdef int add_pending(self) except -1:
        cdef Table pending = self.pending.table
        cdef Py_ssize_t i = 0, n = pending.size
        cdef uint32_t number = pending.first
        cdef EventC** rows = <EventC**> PyMem_Malloc(max(1, n) * sizeof(EventC*))
        if rows is NULL:
            raise MemoryError
        while number != NO_ROW:
            rows[i] = pending.rows[number].event
            retain(self.pool, rows[i])
            i += 1
            number = pending.rows[number].next
        try:
            pending.clear()
            for i in range(n):
                self.table.insert(rows[i])
        finally:
            for i in range(n):
                release(self.pool, rows[i])
            PyMem_Free(rows)
        return 0

    cdef int act_one(self, EventC* event) except -1:
        cdef NumbersC numbers
        cdef uint32_t number
        cdef Py_ssize_t n = 0
        if self.search.key is not None:
            number = self.search.find_one(event, &self.app.frame)
            if number == NO_ROW:
                self.add_or_defer(event)
            elif self.overwrites:
                self.table.replace(number, self.table.adopt(event))
                if self.table.n_misfiled:
                    self.table.note_filing(number)
            else:
                self.assignments.update(event, &number, 1)
            return 0
        numbers = self.search.acquire_buffer()
        try:
            self.search.find(event, &self.app.frame, &numbers)
            while n < numbers.n and self.table.rows[numbers.at[n]].sequence < self.cut:
                n += 1
            if numbers.n and self.table.distinct:
                self.assignments.update_distinct(event, numbers.at, n if n else numbers.n)
            elif numbers.n:
                self.assignments.update(event, numbers.at, n if n else numbers.n)
            else:
                self.add_or_defer(event)
        finally:
            self.search.release_buffer(numbers)
        return 0

    cdef int add_or_defer(self, EventC* event) except -1:
        if self.gathering:
            return self.pending.act_one(event)
        self.table.insert(event)
        return 0
