# An incremental aggregation. One level per bucket length, finest first. Each level has the rows of its bucket at work
# (running) and a table of the rows of buckets that are over.
#
# The bucket at work is told by the app's clock. When it is over, each running row is handed on in one go: the next
# level merges it, the table takes it over, and the level is empty. So every event is in exactly one running row of one
# level plus in the tables of that level and the finer ones, at any moment; events are read once, rows are merged.
#
# With `by`, a row belongs to the bucket of its events' own time, of which many can be running at once; what comes late
# is a further row of its bucket, and readers merge.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.aggregation_fold cimport Fold
from siddhi._core.aggregation_time cimport Calendar
from siddhi._core.context cimport AppContext
from siddhi._core.event cimport CellC, EventC, EventPool
from siddhi._core.executor cimport Executor, FrameC
from siddhi._core.keymap cimport MAX_WIDTH, KeyMap
from siddhi._core.processor cimport Processor
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter
from siddhi._core.table cimport Table

cdef enum:
    HINTS = 256

cdef struct PlaceC:                # one attribute of the group
    int cell
    int word
    uint64_t bit

cdef int64_t NEVER                     # before all times

cdef class Rows:                       # rows by bucket and group; owns a reference to each
    cdef readonly EventPool pool
    cdef KeyMap keys
    cdef EventC** rows                 # [capacity] by slot
    cdef Py_ssize_t capacity
    cdef uint32_t slot_of(self, const CellC* key, uint64_t nulls, bint* is_new) except? 0xfffffffe
    cdef int clear(self) except -1

cdef class Level:
    cdef readonly int length           # BucketLength
    cdef readonly Table table          # None: they are kept elsewhere, in
    cdef readonly object store         # see runtime/assembly/aggregation_store.py
    cdef Rows running
    cdef int64_t start                 # of the bucket at work; 0 == end before the first event
    cdef int64_t end
    cdef int64_t known_start           # the bucket looked up last
    cdef int64_t known_end
    cdef int64_t until                 # rows of buckets before were stored before this run; NEVER: none were
    cdef Rows standing                 # see aggregation_replay.pyx

cdef class Aggregation(Processor):
    cdef readonly str id
    cdef readonly Fold fold
    cdef readonly tuple levels
    cdef Level finest
    cdef Calendar calendar
    cdef Executor by                   # time of an event; None: the app's clock
    cdef bint by_text
    cdef int time_cell                 # body index of the bucket of a row: AGG_EVENT_TIMESTAMP, else AGG_TIMESTAMP
    cdef PlaceC* groups                # [n_groups] in the row
    cdef PlaceC* sources               # [n_groups] in the event
    cdef int* group_objects            # [n_groups] whether they are strings
    cdef int n_groups
    cdef bint retains                  # what a row gives up may run Python
    cdef bint shared                   # stores hold the rows of several nodes: what is read comes from there alone
    cdef bint unprepared               # the levels are still to be told what stores hold of their buckets
    cdef bint resumed                  # they came from a snapshot, which what stores hold is still to be held against
    cdef bint undecided                # they are what stores hold; the first event is still to tell how it goes on
    cdef list stash                    # see aggregation_resume.pyx
    cdef bint stash_replaying
    cdef bint replaying                # see aggregation_replay.pyx
    cdef object purge                  # what deletes old rows, or None
    cdef int64_t due                   # when the timer is ordered for; NOT_ORDERED: it is not
    cdef uint32_t* hints               # [HINTS] slot of the finest level that such a key had last
    cdef int take(self, EventC* event, int64_t now) except -1
    cdef int64_t time_of(self, EventC* event) except? -1
    cdef EventC* row_for(self, EventC* event, int64_t bucket) except NULL
    cdef EventC* make_row(self, EventC* event, int64_t bucket) except NULL
    cdef int64_t bucket_of(self, Level level, int64_t time) except? -1
    cdef uint64_t key_of(self, const EventC* row, int64_t bucket, CellC* key) noexcept
    cdef int prepare(self, bint has_event=*) except -1
    cdef int roll(self, int64_t now) except -1
    cdef int put_away(self, Level level) except -1
    cdef void stamp(self, Level level) noexcept
    cdef int flush(self, Level level, Level coarser) except -1
    cdef int merge_into(self, Rows rows, int64_t bucket, EventC* row) except -1
    cdef int order(self) except -1
