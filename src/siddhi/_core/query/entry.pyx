"""Entry of a query: filters on the stream's record, then the copy into the query's own record."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from siddhi._core.expression.executor cimport ExecC, Executor, evaluate_condition
from siddhi._core.record.event cimport CURRENT, OBJECT, STRING, Layout, acquire, release
from siddhi._core.record.frame cimport MAX_BLOCK, TRUE, FrameC
from siddhi._core.runtime.context cimport fault_alone
from siddhi._core.runtime.operator cimport BlockTraits, receive_fn
from siddhi._core.stream.junction cimport send

# A condition called without exception check; the caller checks the result. -1: an exception is set.
ctypedef int (*quiet_fn)(const ExecC* x, EventC* event, FrameC* frame, void* unused) noexcept


cdef class RecordCopier:
    """Copies the cells that later operators read into records of a query.

    Args:
        source: layout copied from.
        pool: pool of the query's records.
        positions: for each cell of the query's record its position in the source; -1 leaves the cell null.
    """

    def __cinit__(self, Layout source not None, EventPool pool not None, positions):
        cdef int i, n = 0
        cdef int position
        cdef CopyC* copy
        self.pool = pool
        self.words = pool.layout.words
        self.copies = <CopyC*> PyMem_Malloc(max(1, len(positions)) * sizeof(CopyC))
        if self.copies is NULL:
            raise MemoryError
        for i in range(len(positions)):
            position = positions[i]
            copy = &self.copies[n]
            copy.cell = pool.layout.cell(i)
            copy.word = pool.layout.null_word(i)
            copy.bit = (<uint64_t> 1) << (i & 63)
            copy.is_object = pool.layout.codes[i] == STRING or pool.layout.codes[i] == OBJECT
            if position < 0:
                # A cell that is always null: its source is an unused null bit that is always set.
                copy.source_bit = 0
                copy.source_cell = -1
            else:
                copy.source_cell = source.cell(position)
                copy.source_word = source.null_word(position)
                copy.source_bit = (<uint64_t> 1) << (position & 63)
            n += 1
        self.n_copies = n
        self.all_there = source.words == 1 and -1 not in positions

    def __dealloc__(self):
        PyMem_Free(self.copies)

    cdef EventC* copy(self, const EventC* event) except NULL:
        """Return a new record with the event's timestamp, type and cells; the caller owns it."""
        return copy_record(self, event)

    cdef int copy_block(self, EventC** events, Py_ssize_t n, EventC** out) except -1:
        """Copy a block, cell by cell."""
        cdef Py_ssize_t i = 0
        cdef int word
        try:
            while i < n:
                out[i] = acquire(self.pool)
                i += 1
        except MemoryError:
            while i > 0:
                i -= 1
                release(self.pool, out[i])
            raise
        for i in range(n):
            out[i].timestamp = events[i].timestamp
            out[i].type = events[i].type
            for word in range(self.words):
                out[i].body[word] = 0
        for i in range(self.n_copies):
            copy_cells(&self.copies[i], events, n, out)
        return 0


cdef inline EventC* copy_record(RecordCopier copier, const EventC* event) except NULL:
    """Call `RecordCopier.copy` without virtual dispatch, for the hot callers of this module."""
    cdef int i
    cdef CopyC* cell
    cdef uint64_t value
    cdef EventC* record = acquire(copier.pool)
    record.timestamp = event.timestamp
    record.type = event.type
    for i in range(copier.words):
        record.body[i] = 0
    if copier.words == 1 and event.body[0] == 0 and copier.all_there:
        # No nulls: the common case.
        for i in range(copier.n_copies):
            cell = &copier.copies[i]
            value = event.body[cell.source_cell]
            record.body[cell.cell] = value
            if cell.is_object:
                Py_INCREF(<object> <PyObject*> value)
        return record
    for i in range(copier.n_copies):
        cell = &copier.copies[i]
        if cell.source_cell < 0 or event.body[cell.source_word] & cell.source_bit:
            record.body[cell.word] |= cell.bit
            continue
        value = event.body[cell.source_cell]
        record.body[cell.cell] = value
        if cell.is_object:
            Py_INCREF(<object> <PyObject*> value)
    return record


cdef void copy_cells(const CopyC* copy, EventC** events, Py_ssize_t n, EventC** out) noexcept:
    """Copy one cell of a block of events."""
    cdef Py_ssize_t i
    cdef int source = copy.source_cell, target = copy.cell, word = copy.source_word
    cdef uint64_t bit = copy.source_bit, nulls = 0
    if source < 0:
        for i in range(n):
            out[i].body[copy.word] |= copy.bit
        return
    for i in range(n):
        nulls |= events[i].body[word]
    if nulls & bit:
        for i in range(n):
            if events[i].body[word] & bit:
                out[i].body[copy.word] |= copy.bit
            else:
                out[i].body[target] = events[i].body[source]
                if copy.is_object:
                    Py_INCREF(<object> <PyObject*> events[i].body[source])
    elif copy.is_object:
        for i in range(n):
            out[i].body[target] = events[i].body[source]
            Py_INCREF(<object> <PyObject*> events[i].body[source])
    else:
        for i in range(n):
            out[i].body[target] = events[i].body[source]


cdef inline int admits(QueryEntry entry, EventC* event) noexcept:
    """Return whether an event passes the filters; -1: a filter failed, its exception is set."""
    cdef int i, verdict
    for i in range(entry.n_conditions):
        entry.frame.type = event.type
        entry.frame.group = entry.frame.partition
        verdict = (<quiet_fn> entry.conditions[i].fn)(entry.conditions[i], event, entry.frame, NULL)
        if verdict != TRUE:
            return -1 if verdict == -1 else 0
    return TRUE


cdef inline bint may_borrow(QueryEntry entry, EventC* event) noexcept:
    """Return whether the query forwards the event unchanged, so that its projection can be skipped."""
    return entry.forward is not None and entry.forward.plain and event.type == CURRENT


cdef int entry_receive(QueryEntry entry, EventChunk* chunk) except -1:
    cdef EventC* event = chunk.head
    cdef int verdict
    if event.next is not NULL:
        return entry.receive_many(event)
    verdict = admits(entry, event)
    if verdict != TRUE:
        return verdict
    if may_borrow(entry, event):
        return send_on(entry.onward, chunk)
    return entry_go_on(entry, chunk)


cdef int send_on(StreamJunction junction, EventChunk* chunk) except -1:
    """Forward a chunk of one event through consecutive queries that forward it too: a loop instead of nested sends."""
    cdef EventC* event = chunk.head
    cdef PyObject* entry                   # borrowed; the junction keeps it even if it unsubscribes
    cdef int verdict, sends = 0            # `sends` counts what would be nested sends
    cdef AppContext app = junction.app
    try:
        while junction.plain and junction.n == 1 and junction.array[0].on_chunk == <receive_fn> entry_receive:
            entry = <PyObject*> junction.array[0].receiver
            app.depth += 1
            if app.depth > app.depth_limit:
                junction.check_depth()
            verdict = admits(<QueryEntry> entry, event)
            if verdict == TRUE and may_borrow(<QueryEntry> entry, event):
                sends += 1
                junction = (<QueryEntry> entry).onward
                continue
            if verdict == TRUE:
                verdict = go_on_unchecked(entry, chunk)
            if verdict == -1:
                return junction.fail(0, chunk)
            app.depth -= 1
            return 0
        return send(junction, chunk)
    finally:
        app.depth -= sends


cdef int entry_go_on(QueryEntry entry, EventChunk* chunk) except -1:
    """Process an event that has passed the filters."""
    if entry.copier is None:
        return entry.next.process_one(chunk.head)
    return entry.copy_one(chunk.head)


cdef receive_fn go_on_unchecked = <receive_fn> entry_go_on


cdef class QueryEntry(Receiver):
    """Receives the input of a query.

    Args:
        app: context of the app.
        filters: conditions on the stream's record, in order.
        copier: makes the record for the next operator; None: the stream's own record is passed.
        next: the first operator after the filters.
        source: junction of the stream; handles failures of single rows of a block.
        reads: bit mask of the attributes that are read; all ones for more than 64 attributes.
        filing: entries of the predicate index of the stream, under which the filters are filed; None: not filed.
        forward: the output if ``next`` is a projection that passes the record on unchanged; else None.
        inserts: the output if ``next`` is a projection whose rows a limit may refuse; else None.
    """

    def __init__(self, AppContext app not None, tuple filters not None, RecordCopier copier, Processor next not None,
                 FaultSink source not None, uint64_t reads, tuple filing=None, QueryOutput forward=None,
                 QueryOutput inserts=None):
        cdef int i
        cdef Executor executor
        self.app = app
        self.frame = &app.frame
        self.filters = filters
        self.n_conditions = len(filters)
        self.selects = True
        self.conditions = <const ExecC**> PyMem_Malloc(max(1, self.n_conditions) * sizeof(void*))
        if self.conditions is NULL:
            raise MemoryError
        for i in range(self.n_conditions):
            executor = filters[i]
            self.conditions[i] = &executor.c
            self.selects = self.selects and executor.c.select is not NULL
        self.copier = copier
        self.next = next
        self.inserts = inserts
        self.forward = forward
        self.onward = None if forward is None else forward.target
        self.on_chunk = <receive_fn> entry_receive
        self.source = source
        self.read_mask = reads
        self.filing = filing

    def __dealloc__(self):
        PyMem_Free(self.conditions)

    def move(self, FaultSink source not None):
        """Receive from another stream with the same records, when the output has moved."""
        self.source = source
        self.onward = None if self.forward is None else self.forward.target

    def set_refusals(self, Refusals refusals not None):
        """Set the refusals of the operator whose limit refuses single events."""
        self.refusals = refusals

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        self.next.bind_blocks(traits)
        traits.takes = True
        traits.order_free = traits.order_free and (self.selects or not self.app.frame.playback)
        # Filters that can be evaluated by block only read. If a row may fail, its record goes to the error handling of
        # the stream; the same holds for operators after a copy.
        traits.retains = traits.retains or not self.selects or self.copier is not None
        traits.reads = self.read_mask
        return 0

    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1:
        cdef EventC* passed[MAX_BLOCK]
        cdef EventC* records[MAX_BLOCK]
        cdef EventC** rows = events
        cdef Py_ssize_t i, at = 0, made = 0, m = n
        if self.n_conditions:
            m = self.filter_block(events, n, passed)
            events = rows = passed
        try:
            if self.copier is not None:
                rows = records
                self.copier.copy_block(events, m, records)
                made = m
            while at < m:
                try:
                    self.next.process_block(rows, m, &at)
                except KeyboardInterrupt as interrupt:
                    self.next.abort()
                    self.app.defer_interrupt(interrupt)
                    at += 1
                except Exception as error:
                    self.next.abort()
                    if at == m:
                        raise            # raised by rows that were passed on: not an error of this query's filters
                    self.source.fault(error, events[at])
                    at += 1
        finally:
            for i in range(made):
                release(self.copier.pool, records[i])
        return 0

    cdef Py_ssize_t filter_block(self, EventC** events, Py_ssize_t n, EventC** passed) except -1:
        """Collect the events that pass the filters; return their number."""
        cdef Py_ssize_t i = 0, m = 0
        if self.selects:
            for i in range(self.n_conditions):
                n = self.conditions[i].select(self.conditions[i], events, n, passed)
                events = passed
            return n
        while i < n:
            try:
                while i < n:
                    passed[m] = events[i]
                    if self.passes(events[i]):
                        m += 1
                    i += 1
            except KeyboardInterrupt as interrupt:
                self.app.defer_interrupt(interrupt)
                i += 1
            except Exception as error:
                self.source.fault(error, events[i])
                i += 1
        return m

    cdef inline bint passes(self, EventC* event) except -1:
        cdef int i
        for i in range(self.n_conditions):
            self.frame.type = event.type
            self.frame.group = self.frame.partition
            if self.conditions[i].fn(self.conditions[i], event, self.frame, NULL) != TRUE:
                return False
        return True

    cdef void abort(self) noexcept:
        self.next.abort()

    cdef int receive(self, EventChunk* chunk) except -1:
        return entry_receive(self, chunk)

    cdef int copy_one(self, EventC* event) except -1:
        cdef EventC* record = copy_record(self.copier, event)
        try:
            return self.next.process_one(record)
        finally:
            release(self.copier.pool, record)

    cdef int receive_many(self, EventC* event) except -1:
        cdef EventC* record
        cdef EventC* refused
        cdef bint any_passed = False
        cdef list failures = None, passed = None if self.inserts is None else []
        if self.refusals is not None:
            self.refusals.collects = True
        try:
            while event is not NULL:
                if self.passes(event):
                    any_passed = True
                    if passed is not None:
                        passed.append(<size_t> event)
                    if self.copier is None:
                        self.next.process(event)
                    else:
                        record = copy_record(self.copier, event)
                        try:
                            self.next.process(record)
                        finally:
                            release(self.copier.pool, record)
                    if self.refusals is not None and self.refusals.pending is not None:
                        failures = [] if failures is None else failures
                        failures.append((<size_t> event, self.refusals.pending))
                        self.refusals.pending = None
                event = event.next
        finally:
            if self.refusals is not None:
                self.refusals.collects = False
        if passed is not None:
            failures = self.insert_all(passed)
        elif any_passed:
            self.next.finish()
        if failures is not None:
            for address, error in failures:
                refused = <EventC*> <size_t> address
                fault_alone(self.source, error, refused)
        return 0

    cdef list insert_all(self, list passed):
        """End a chunk of rows for a table; return the addresses of events whose rows were refused, with the errors."""
        cdef QueryOutput inserts = self.inserts
        cdef Py_ssize_t expected = inserts.expected
        cdef list before = inserts.refused, refused = []
        inserts.expected = len(passed)
        inserts.refused = refused
        try:
            self.next.finish()
        finally:
            inserts.expected = expected
            inserts.refused = before
        return [(passed[number], error) for number, error in refused]


cdef class FilterProcessor(Processor):
    """Filter after a window or a stream function. RESET always passes: a filter applies to events only."""

    def __init__(self, AppContext app not None, Executor condition not None):
        self.app = app
        self.condition = condition

    cdef int process(self, EventC* event) except -1:
        self.app.frame.type = event.type
        self.app.frame.group = self.app.frame.partition
        if evaluate_condition(&self.condition.c, event, &self.app.frame) == TRUE:
            return self.next.process(event)
        return 0


cdef class RecordCopyProcessor(Processor):
    """Copies an event into the records of the next operator (a window after a stream function)."""

    def __init__(self, AppContext app not None, RecordCopier copier not None):
        self.app = app
        self.copier = copier

    cdef int process(self, EventC* event) except -1:
        cdef EventC* record = copy_record(self.copier, event)
        try:
            return self.next.process(record)
        finally:
            release(self.copier.pool, record)
