"""Tables kept in stores: the requests to a store and the data passed to it.

A store is Python. It receives the values that a condition or assignment reads from an event, by name, and returns rows
as tuples. This module converts events to such values, and rows to records.
"""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn, evaluate_to_python, new_executor
from siddhi._core.expression.parameter cimport ParameterSet
from siddhi._core.query.output cimport QueryOutput
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport BOOL, EventC, EventPool, Layout, acquire, event_to_tuple, release
from siddhi._core.record.frame cimport TRUE, FrameC
from siddhi._core.record.user_event cimport Event, record_of
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lock cimport lock_app, unlock_app
from siddhi._core.runtime.lookup cimport FoundC, Searchable, found_add
from siddhi._core.table.index cimport NO_ROW
from siddhi._core.table.output cimport TableSink, TableUpdateOrInsert
from siddhi._core.table.search cimport AS_EVENT, IN_SLOT, TableSearch
from siddhi._core.table.table cimport Table


@cython.final
cdef class Parameters:
    """The values that a condition, or assignments, read from an event.

    Args:
        names: names under which the store receives them.
        executors: their values.
    """

    cdef readonly tuple names
    cdef tuple executors

    def __init__(self, tuple names not None, tuple executors not None):
        if len(names) != len(executors):
            raise ValueError("parameters need one executor for each name")
        self.names = names
        self.executors = executors

    cdef dict bind(self, EventC* event, FrameC* frame):
        cdef Py_ssize_t i
        cdef dict values = {}
        for i in range(len(self.names)):
            values[self.names[i]] = evaluate_to_python(<Executor> self.executors[i], event, frame)
        return values


def event_of(tuple values not None, Layout layout not None):
    """Return an event without timestamp, for reports about a row."""
    cdef Event event = Event.__new__(Event)
    event.timestamp = -1
    event.values = values
    event.layout = layout
    return event


@cython.final
cdef class StoreQuery:
    """A condition over a table in a store, compiled for one use.

    Args:
        pool: pool of the records that rows become.
        layout: names and types of the table's attributes.
        parameters: values that the store needs from the event.
        find: fn(values), returns the matching rows, an iterable of sequences.
        contains: fn(values), returns whether a row matches.
        residual: condition that the store cannot test: tested on each row it returns; None: none.
        binding: where ``residual`` reads the row (see search.pxd).
        slot: with binding IN_SLOT, the event slot.
    """

    cdef readonly EventPool pool
    cdef readonly Layout layout
    cdef Parameters parameters
    cdef object ask
    cdef object ask_whether
    cdef Executor residual
    cdef int binding
    cdef int slot

    def __init__(self, EventPool pool not None, Layout layout not None, Parameters parameters not None, find, contains,
                 Executor residual, int binding, int slot=0):
        self.pool = pool
        self.layout = layout
        self.parameters = parameters
        self.ask = find
        self.ask_whether = contains
        self.residual = residual
        self.binding = binding
        self.slot = slot

    cdef EventC* record(self, row) except NULL:
        return record_of(row, self.pool, self.layout)

    cdef bint matches(self, EventC* record, EventC* event, FrameC* frame) except -1:
        cdef EventC* before
        cdef bint answer
        if self.residual is None:
            return True
        if self.binding == AS_EVENT:
            return self.residual.c.fn(&self.residual.c, record, frame, NULL) == TRUE
        if self.binding == IN_SLOT:
            frame.slots[self.slot] = record
            return self.residual.c.fn(&self.residual.c, event, frame, NULL) == TRUE
        before = frame.row
        frame.row = record
        try:
            answer = self.residual.c.fn(&self.residual.c, event, frame, NULL) == TRUE
        finally:
            frame.row = before
        return answer

    cdef int find(self, EventC* event, FrameC* frame, FoundC* found) except -1:
        """Append the matching rows; the caller owns the references."""
        cdef EventC* record
        cdef bint kept
        for row in self.ask(self.parameters.bind(event, frame)):
            record = self.record(row)
            kept = False
            try:
                if self.matches(record, event, frame):
                    found_add(found, record)
                    kept = True
            finally:
                if not kept:
                    release(self.pool, record)
        return 0

    cdef bint contains(self, EventC* event, FrameC* frame) except -1:
        cdef EventC* record
        cdef dict values = self.parameters.bind(event, frame)
        cdef bint answer
        if self.residual is None:
            answer = True if self.ask_whether(values) else False
            return answer
        for row in self.ask(values):
            record = self.record(row)
            try:
                if self.matches(record, event, frame):
                    return True
            finally:
                release(self.pool, record)
        return False


@cython.final
cdef class StoreSearchable(Searchable):
    """A table in a store as one side of a join (binding IN_SLOT) or as source of an on-demand query (AS_EVENT).

    Args:
        query: the search in the store.
        slot: slot in which the condition reads the row; joins have the slots 0 and 1.
    """

    cdef readonly StoreQuery query
    cdef EventC* null_event                # stands in for the current event; no cells, no timestamp, no pool

    def __cinit__(self, StoreQuery query not None, int slot):
        self.query = query
        self.pool = query.pool
        self.slot = slot
        self.null_event = <EventC*> PyMem_Calloc(1, sizeof(EventC) + sizeof(uint64_t))
        if self.null_event is NULL:
            raise MemoryError
        self.null_event.timestamp = -1

    def __dealloc__(self):
        PyMem_Free(self.null_event)

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef EventC* event = self.null_event
        if self.query.binding == IN_SLOT and frame.slots[1 - self.slot] is not NULL:
            event = frame.slots[1 - self.slot]
        return self.query.find(event, frame, found)


@cython.final
cdef class CachedSearchable(Searchable):
    """A table in a store with a cache of all its rows, while they are few.

    Args:
        cache: ``cache.ensure()`` returns whether all rows are in memory.
        memory: searches the cached rows.
        store: searches the store.
    """

    cdef object cache
    cdef Searchable memory
    cdef Searchable store

    def __init__(self, cache not None, Searchable memory not None, Searchable store not None):
        if memory.pool is not store.pool or memory.slot != store.slot:
            raise ValueError("the cached rows must have the pool and slot of the store's rows")
        self.cache = cache
        self.memory = memory
        self.store = store
        self.pool = store.pool
        self.slot = store.slot

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        if self.cache.ensure():
            return self.memory.find(frame, found)
        return self.store.find(frame, found)


@cython.final
cdef class CachedQuery:
    """Like :class:`CachedSearchable`, for ``in``."""

    cdef object cache
    cdef TableSearch memory
    cdef StoreQuery store

    def __init__(self, cache not None, TableSearch memory not None, StoreQuery store not None):
        self.cache = cache
        self.memory = memory
        self.store = store


cdef int in_cached(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef CachedQuery query = <CachedQuery> x.data
    if query.cache.ensure():
        return query.memory.contains(e, f)
    return query.store.contains(e, f)


def make_in_cached(CachedQuery query not None, str name not None):
    """Return an executor of ``condition in table``."""
    cdef Executor executor = new_executor(<eval_fn> in_cached, BOOL, (), f"in {name}")
    executor.children = (query,)
    executor.c.data = <void*> query
    return executor


cdef int in_store(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    return (<StoreQuery> x.data).contains(e, f)


def make_in_store(StoreQuery query not None, str name not None):
    """Return an executor of ``condition in table``. The query must have binding IN_FRAME."""
    cdef Executor executor = new_executor(<eval_fn> in_store, BOOL, (), f"in {name}")
    executor.children = (query,)
    executor.c.data = <void*> query
    return executor


cdef class StoreSink(QueryOutput):
    """Passes a chunk to a store.

    Args:
        app: context of the app.
        pool: pool of the output records.
        layout: names and types of the output.
        parameters: values that the store needs from each event, besides the output.
        operate: fn(parameters, records), performs the change; a dict and a tuple for each event of the chunk.
        gather: during a batch, ``gather.take(change, parameters, records)`` defers the change and returns whether
            ``gather.flush()`` must be called at the end of the batch; None: changes are not deferred.
        change: passed to ``gather.take``.
    """

    cdef Parameters parameters
    cdef object operate
    cdef object gather
    cdef object change
    cdef object cache
    cdef TableSink mirror

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None,
                 Parameters parameters not None, operate, gather=None, change=None):
        super().__init__(app, pool, layout, None, False, True)
        self.parameters = parameters
        self.operate = operate
        self.gather = gather
        self.change = change

    cdef list bound(self, EventChunk* chunk):
        cdef list values = []
        cdef EventC* event = chunk.head
        cdef FrameC* frame = &self.app.frame
        while event is not NULL:
            frame.output = event
            values.append(self.parameters.bind(event, frame))
            event = event.next
        return values

    cdef list records(self, EventChunk* chunk):
        cdef list records = []
        cdef EventC* event = chunk.head
        while event is not NULL:
            records.append(event_to_tuple(event, self.layout))
            event = event.next
        return records

    def reflect_in(self, cache not None, TableSink mirror):
        """Apply the output to the cached rows first, while ``cache.whole`` says that all rows are cached.

        Args:
            cache: notified of changes.
            mirror: applies them; None: it cannot be done in memory, the rows are read again.
        """
        self.cache = cache
        self.mirror = mirror

    cdef int reflect(self, EventChunk* chunk) except -1:
        cdef bint done = False
        if self.cache is None or not self.cache.whole:
            return 0
        if self.mirror is None:
            self.cache.invalidate()
            return 0
        try:
            self.mirror.act(chunk)
            done = True
        finally:
            if not done:
                self.cache.invalidate()
        self.cache.grown()
        return 0

    cdef bint is_gathered(self, list values, list records) except -1:
        """Defer the change if a batch is being sent; return whether it was deferred."""
        if self.gather is None or not self.app.in_batch:
            return False
        if self.gather.take(self.change, values, records):
            try:
                self.app.batch_callbacks.append(self.gather)
            except MemoryError:
                self.gather.flush()         # flush now: the callback could not be registered
        return True

    cdef int act(self, EventChunk* chunk) except -1:
        # Read the values first: a cached row is the event itself, without its time.
        cdef list values = self.bound(chunk), records = self.records(chunk)
        self.reflect(chunk)
        if not self.is_gathered(values, records):
            self.operate(values, records)
        return 0


@cython.final
cdef class StoreUpdateOrInsert(StoreSink):
    """``update or insert into`` a table in a store.

    Events that change no row are reduced among themselves as for tables in memory: a later event changes the row that
    an earlier one inserts.

    Args:
        operate: fn(parameters, records, reduce): ``reduce(positions)`` returns the rows to insert for the events at these
            positions, which matched no row; it may be called any number of times while ``operate`` runs.
        pending: performs the same on an empty table in memory with the same attributes.
    """

    cdef TableUpdateOrInsert pending

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None,
                 Parameters parameters not None, operate, TableUpdateOrInsert pending not None, gather=None, change=None):
        super().__init__(app, pool, layout, parameters, operate, gather, change)
        self.pending = pending

    cdef int act(self, EventChunk* chunk) except -1:
        cdef Reduction reduction
        cdef list values = self.bound(chunk), records = self.records(chunk)
        self.reflect(chunk)
        if self.is_gathered(values, records):
            return 0
        reduction = Reduction(self)
        reduction.first = chunk.head
        try:
            self.operate(values, records, reduction)
        finally:
            reduction.first = NULL
        return 0


@cython.final
cdef class Reduction:
    """Computes the rows to insert for events that changed no row. Valid while their chunk is processed."""

    cdef StoreUpdateOrInsert sink
    cdef EventC* first

    def __init__(self, StoreUpdateOrInsert sink not None):
        self.sink = sink

    def __call__(self, positions):
        """Return the rows, in order."""
        cdef TableUpdateOrInsert pending = self.sink.pending
        cdef Table table = pending.table
        cdef FrameC* frame = &self.sink.app.frame
        cdef set wanted = set(positions)
        cdef list rows = []
        cdef EventC* event = self.first
        cdef Py_ssize_t i = 0
        cdef uint32_t number
        pending.cut = table.sequence
        try:
            while event is not NULL:
                if i in wanted:
                    frame.output = event
                    pending.act_one(event)
                event = event.next
                i += 1
            number = table.first
            while number != NO_ROW:
                rows.append(event_to_tuple(table.rows[number].event, table.layout))
                number = table.rows[number].next
        finally:
            table.clear()
        return rows


@cython.final
cdef class StoreAnswer:
    """An on-demand query that a store answers by itself.

    Args:
        app: context of the app.
        layout: names and types of the selection.
        parameters: values that the store needs; there is no event.
        query: fn(values), returns the rows of the answer.
    """

    cdef readonly AppContext app
    cdef Layout layout
    cdef EventPool pool
    cdef Parameters parameters
    cdef ParameterSet declared      # those of the query's text, or None
    cdef object query

    def __init__(self, AppContext app not None, Layout layout not None, Parameters parameters not None, query):
        self.app = app
        self.layout = layout
        self.pool = EventPool(layout)
        self.parameters = parameters
        self.query = query

    def declare(self, ParameterSet parameters not None):
        """See :meth:`OnDemand.declare`."""
        self.declared = parameters

    def run(self, dict values=None):
        """Return the answer as events without timestamp. Arguments and errors are those of :meth:`OnDemand.run`."""
        cdef FrameC before
        cdef FrameC* frame = &self.app.frame
        cdef list events = []
        cdef Event event
        cdef EventC* record
        lock_app(self.app.lock)
        try:
            if self.declared is not None:
                self.declared.set(values)
            before = frame[0]
            record = acquire(self.pool)
            record.timestamp = -1
            memset(record.body, 0xff, 8 * self.layout.words)     # an event of nulls
            frame.partition = 0
            try:
                bound = self.parameters.bind(record, frame)
            finally:
                release(self.pool, record)
                before.clock = frame.clock
                before.playback = frame.playback
                frame[0] = before
            for row in self.query(bound):
                record = record_of(row, self.pool, self.layout)
                event = Event.__new__(Event)
                event.timestamp = -1
                event.values = event_to_tuple(record, self.layout)
                event.layout = self.layout
                release(self.pool, record)
                events.append(event)
            return events
        finally:
            unlock_app(self.app.lock)


@cython.final
cdef class CachedAnswer:
    """An on-demand query that is answered from the cache while all rows are cached.

    Args:
        app: context of the app.
        cache: as for :class:`CachedSearchable`.
        memory: the query over the cached rows; has ``run()``.
        store: the query that the store answers.
    """

    cdef readonly AppContext app
    cdef object cache
    cdef object memory
    cdef object store

    def __init__(self, AppContext app not None, cache not None, memory not None, StoreAnswer store not None):
        self.app = app
        self.cache = cache
        self.memory = memory
        self.store = store

    def declare(self, ParameterSet parameters not None):
        """See :meth:`OnDemand.declare`."""
        self.memory.declare(parameters)
        self.store.declare(parameters)

    def run(self, dict values=None):
        """Return the answer as events without timestamp; None if the same query is running further up the stack."""
        lock_app(self.app.lock)
        try:
            return self.memory.run(values) if self.cache.ensure() else self.store.run(values)
        finally:
            unlock_app(self.app.lock)
