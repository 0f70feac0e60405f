"""On-demand queries: searches and changes that are not driven by a stream."""

cimport cython

from siddhi._core.expression.executor cimport Executor
from siddhi._core.expression.parameter cimport ParameterSet
from siddhi._core.query.output cimport QueryOutput
from siddhi._core.query.selector cimport Selector
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport CURRENT, TIMER, EventC, EventPool, Layout, acquire, event_to_tuple, release
from siddhi._core.record.frame cimport TRUE, FrameC
from siddhi._core.record.user_event cimport Event
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lock cimport lock_app, unlock_app
from siddhi._core.runtime.lookup cimport FoundC, Searchable, found_free, found_release, look_up
from siddhi._core.runtime.operator cimport Processor

cdef enum:
    NO_TIMESTAMP = -1


@cython.final
cdef class CollectOutput(QueryOutput):
    """Collects output as events without timestamp.

    Args:
        app: context of the app.
        pool: pool of the output records.
        layout: layout of the output records; attributes after the shown ones serve sorting only.
        shown: names and types of the result.
    """

    cdef readonly Layout shown
    cdef readonly list events

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None, Layout shown not None):
        super().__init__(app, pool, layout, None)
        self.shown = shown
        self.events = []

    cdef int act(self, EventChunk* chunk) except -1:
        cdef EventC* record = chunk.head
        cdef Event event
        while record is not NULL:
            event = Event.__new__(Event)
            event.timestamp = NO_TIMESTAMP
            event.values = event_to_tuple(record, self.layout)
            if self.shown.width < self.layout.width:
                event.values = event.values[:self.shown.width]
            event.layout = self.shown
            self.events.append(event)
            record = record.next
        return 0


@cython.final
@cython.no_gc_clear
cdef class FinishedSelector(Selector):
    """Selector that applies ``having`` to the last row of each group instead of every row.

    The arguments are those of a selector that emits the last row, or the last of each group."""

    cdef Executor group_having

    def __init__(self, *arguments):
        Selector.__init__(self, *arguments)
        self.group_having, self.having = self.having, None

    cdef EventC* select(self, EventC* event) except? NULL:
        """Mark a row that fails ``having`` by its type. It represents its group until the next row arrives."""
        cdef EventC* out = Selector.select(self, event)
        cdef bint done = False
        self.app.frame.output = out
        try:
            if self.group_having.c.fn(&self.group_having.c, event, &self.app.frame, NULL) != TRUE:
                out.type = TIMER
            done = True
        finally:
            if not done:
                release(self.pool, out)
        return out

    cdef int finish(self) except -1:
        cdef EventC** row
        cdef Py_ssize_t i, n = 0
        if self.last is not NULL and self.last.type == TIMER:
            release(self.pool, self.last)
            self.last = NULL
        for i in range(self.n_order):
            row = &self.last_of_group[self.order[i]]
            if row[0].type == TIMER:
                release(self.pool, row[0])
                row[0] = NULL
            else:
                self.order[n] = self.order[i]
                n += 1
        self.n_order = n
        return Selector.finish(self)


cdef class OnDemand:
    """Base class: runs under the app's lock and restores the frame."""

    cdef readonly AppContext app
    cdef readonly Processor selector
    cdef ParameterSet parameters    # or None
    cdef bint busy

    cdef object answer(self):
        raise TypeError(f"{type(self).__name__} must implement answer()")

    def declare(self, ParameterSet parameters not None):
        """Let run() take values of these parameters."""
        self.parameters = parameters

    def run(self, dict values=None):
        """Return the answer; None if the same query is running further up the stack.

        Args:
            values: values of the declared parameters by name; None: there are none.

        Raises:
            ParameterMismatchError: the values are not those of the parameters.
        """
        cdef FrameC* frame = &self.app.frame
        cdef FrameC before
        cdef EventC* slots[1]
        cdef bint done = False
        lock_app(self.app.lock)
        try:
            if self.busy:
                return None
            if self.parameters is not None:
                self.parameters.set(values)
            self.busy = True
            before = frame[0]
            slots[0] = NULL
            frame.slots = slots
            frame.partition = 0
            try:
                answer = self.answer()
                done = True
                return answer
            finally:
                if not done:
                    self.selector.abort()
                self.selector.reset(NO_TIMESTAMP)
                self.selector.finish()
                # The clock is kept; all other fields are restored.
                before.clock = frame.clock
                before.playback = frame.playback
                frame[0] = before
                self.busy = False
        finally:
            unlock_app(self.app.lock)


@cython.final
cdef class OnDemandFind(OnDemand):
    """Finds rows and selects from them.

    Args:
        app: context of the app.
        source: searched for rows.
        pool: pool of the rows.
        selector: the selection, over the rows.
        output: output of the selection.
        enough: number of found rows that determine the answer; -1: all.
    """

    cdef readonly Searchable source
    cdef readonly EventPool pool
    cdef readonly CollectOutput output
    cdef Py_ssize_t enough

    def __init__(self, AppContext app not None, Searchable source not None, EventPool pool not None,
                 Processor selector not None, CollectOutput output not None, Py_ssize_t enough=-1):
        self.app = app
        self.source = source
        self.pool = pool
        self.selector = selector
        self.output = output
        self.enough = enough

    cdef object answer(self):
        cdef FoundC found
        cdef Py_ssize_t i, n
        cdef int type
        found.events = NULL
        found.size = found.capacity = 0
        self.output.events = []
        try:
            look_up(self.source, &self.app.frame, &found)
            n = min(self.enough, found.size) if self.enough >= 0 else found.size
            for i in range(n):
                type = found.events[i].type
                found.events[i].type = CURRENT
                try:
                    self.selector.process(found.events[i])
                finally:
                    found.events[i].type = type
            self.selector.finish()
            return self.output.events
        finally:
            self.output.events = []
            found_release(&found, self.pool)
            found_free(&found)


@cython.final
cdef class OnDemandChange(OnDemand):
    """Runs a selection on one event of nulls; its output changes a table.

    Args:
        app: context of the app.
        selector: the selection.
        output: output of the selection; acts on the table.
    """

    cdef EventPool pool
    cdef QueryOutput output

    def __init__(self, AppContext app not None, Processor selector not None, QueryOutput output not None):
        self.app = app
        self.selector = selector
        self.output = output
        self.pool = EventPool(Layout((), ()))

    cdef object answer(self):
        cdef EventC* event = acquire(self.pool)
        if self.output.meter is not None and self.output.meter.on != self.output.counting:
            self.output.set_counting(self.output.meter.on)     # statistics were switched since the last run
        event.timestamp = NO_TIMESTAMP
        event.body[0] = 0
        try:
            self.selector.process_one(event)
        finally:
            release(self.pool, event)
        return []
