from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from siddhi._core.expression.executor cimport ExecC, Executor
from siddhi._core.index.hash_index cimport MAX_WIDTH, KeyMap
from siddhi._core.join.join cimport JoinSelector
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport CellC, EventC, EventPool, Layout
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.key_limit cimport KeyLimit, Refusals
from siddhi._core.runtime.lookup cimport Searchable
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.table.table cimport Table

# --- Buckets of time. Boundaries follow the calendar of a time zone: GMT by arithmetic, others by a Python function.

cpdef enum BucketLength:               # finest first
    SECOND = 0
    MINUTE = 1
    HOUR = 2
    DAY = 3
    MONTH = 4
    YEAR = 5

cdef class Calendar:
    cdef object bounds_in_zone         # fn(length, ms) -> (start, end) for hours and longer; None: GMT
    cdef int bounds(self, int length, int64_t time, int64_t* start, int64_t* end) except -1

# --- Rows of an aggregation: how events are folded into a row and rows are merged. A row is a record with one layout
# for all levels: two times, the group, the latest values, the base values (sums, counts, ...). A null base value means
# that there was no value yet.

cpdef enum FoldKind:
    COUNT = 0
    SUM = 1
    MINIMUM = 2
    MAXIMUM = 3
    DISTINCT = 4               # a set of values, including null
    DEVIATION = 5              # three cells: number of values, mean, sum of squared distances from the mean
    LATEST = 6

cpdef enum FinishKind:
    AS_STORED = 0
    MEAN = 1                   # of a sum and a count
    SIZE = 2                   # of a set
    SPREAD = 3                 # standard deviation of a DEVIATION
    COMPUTED = 4               # an expression over the row

cdef struct FoldC:
    uint8_t kind               # FoldKind
    uint8_t code               # TypeCode of the argument
    bint computed              # not a plain attribute
    int32_t cell               # in the row
    int32_t word
    uint64_t bit
    int32_t source_cell        # in the event
    int32_t source_word
    uint64_t source_bit
    const ExecC* x

cdef struct FinishC:
    uint8_t kind               # FinishKind
    bint is_object
    int32_t cell               # in the answer
    int32_t word
    uint64_t bit
    int32_t first_cell         # in the row
    int32_t first_word
    uint64_t first_bit
    int32_t second_cell        # MEAN: the count
    uint8_t code               # of the first cell; COMPUTED: of the result
    const ExecC* x             # COMPUTED

cdef class Fold:
    cdef readonly EventPool pool       # of the rows
    cdef readonly EventPool answers    # of the rows returned to readers
    cdef tuple executors
    cdef FoldC* folds
    cdef int n_folds
    cdef FinishC* finishes
    cdef int n_finishes
    cdef bint computes                 # a base value is computed by an expression
    cdef int last_cell                 # body index of the time of the latest event; 0: order of arrival decides
    cdef EventC* computed(self, EventC* event, FrameC* frame) except NULL
    cdef int begin(self, EventC* row) except -1
    cdef int add(self, EventC* row, const EventC* event, const EventC* computed, int64_t time) except -1
    cdef EventC* clone(self, const EventC* row) except NULL
    cdef int merge(self, EventC* row, const EventC* newer) except -1
    cdef EventC* finish(self, EventC* row, int64_t bucket, FrameC* frame) except NULL

# Incremental aggregation. One level per bucket length, finest first. A level has the rows of its current bucket
# (`running`) and a table of the rows of completed buckets.
#
# The app's clock determines the current bucket. When it is over, all running rows move on at once: the next level
# merges them, the table stores them, and the level is empty. So at any time every event is contained in exactly one
# running row of one level, and in the tables of that level and the finer ones. Events are read once; afterwards rows
# are merged.
#
# With `by`, a row belongs to the bucket of the events' own time, so many buckets can be running at once. A late event
# makes a further row of its bucket, which readers merge.

cdef enum:
    HINTS = 256

cdef struct KeyFieldC:                # an attribute of the group
    int cell
    int word
    uint64_t bit

cdef int64_t NEVER                     # before all times

cdef class Rows:                       # rows by bucket and group; owns a reference to each
    cdef readonly EventPool pool
    cdef KeyMap keys
    cdef EventC** rows                 # [capacity] by row id
    cdef Py_ssize_t capacity
    cdef uint32_t id_of(self, const CellC* key, uint64_t nulls, bint* is_new) except? 0xfffffffe
    cdef int clear(self) except -1

cdef class Level:
    cdef readonly int length           # BucketLength
    cdef readonly Table table          # table of completed buckets; None: they are in
    cdef readonly object store         # see runtime/assembly/aggregation/store.py
    cdef Rows running
    cdef int64_t start                 # start of the current bucket; start == end before the first event
    cdef int64_t end
    cdef int64_t known_start           # bucket of the last lookup
    cdef int64_t known_end
    cdef int64_t until                 # an earlier run has stored all buckets before this time; NEVER: none
    cdef Rows standing                 # see restart.pxi
    cdef KeyMap ahead                  # see limit.pxi; None: of the finest level, or without limit

cdef class Aggregation(Processor):
    cdef readonly str id
    cdef readonly Fold fold
    cdef readonly tuple levels
    cdef Level finest
    cdef Calendar calendar
    cdef Executor by                   # executor of the time of an event; None: the app's clock
    cdef bint by_text
    cdef int time_cell                 # body index of the bucket in a row: AGG_EVENT_TIMESTAMP, else AGG_TIMESTAMP
    cdef KeyFieldC* groups             # [n_groups] in the row
    cdef KeyFieldC* sources            # [n_groups] in the event
    cdef int* group_objects            # [n_groups] whether they are objects with references
    cdef int n_groups
    cdef bint retains                  # releasing a row may run Python code
    cdef bint shared                   # stores hold rows of several nodes: results are read from there only
    cdef bint unprepared               # levels have not yet been initialized from stores
    cdef bint resumed                  # restored from a snapshot that is not yet reconciled with stores
    cdef bint undecided                # initialized from stores; the first event decides how to continue
    cdef list stash                    # see restart.pxi
    cdef bint stash_replaying
    cdef bint replaying                # see restart.pxi
    cdef object purge                  # operator that deletes old rows, or None
    cdef readonly KeyLimit limit       # limit of the rows in memory, or None
    cdef readonly Refusals refusals    # the refused events of a chunk
    cdef bint unreserved               # running rows were replaced: compute Level.ahead again
    cdef int64_t due                   # due time of the timer; NOT_ORDERED: none
    cdef uint32_t* hints               # [HINTS] row id in the finest level that a similar key had last
    cdef int take(self, EventC* event, int64_t now) except -1
    cdef int64_t time_of(self, EventC* event) except? -1
    cdef EventC* row_for(self, EventC* event, int64_t bucket) except NULL
    cdef EventC* make_row(self, EventC* event, int64_t bucket) except NULL
    cdef int64_t bucket_of(self, Level level, int64_t time) except? -1
    cdef uint64_t key_of(self, const EventC* row, int64_t bucket, CellC* key) noexcept
    cdef int prepare(self, bint has_event=*) except -1
    cdef int roll(self, int64_t now) except -1
    cdef int write_to_store(self, Level level) except -1
    cdef void stamp(self, Level level) noexcept
    cdef int flush(self, Level level, Level coarser) except -1
    cdef int merge_into(self, Rows rows, int64_t bucket, EventC* row) except -1
    cdef int order(self) except -1

# --- Reading an aggregation: rows of one bucket length within a range of time, from tables and running rows.
#
# Results are computed for each request; they are records of their own, from the pool Fold.answers.

cdef struct KeyFilterC:                 # a group must equal this value for the condition to hold
    int cell                            # of the group in the row
    int word
    uint64_t bit
    int code
    const ExecC* x
    CellC value                    # current value during a search

cdef class AggregationSearch(Searchable):
    cdef readonly Aggregation aggregation
    cdef Executor condition            # over the result row; None: no condition
    cdef object range                  # (start, end) if constant
    cdef Executor first                # otherwise its executors
    cdef Executor second
    cdef object range_of
    cdef int level                     # index of the level; -1: computed by `per`
    cdef Executor per
    cdef object level_of
    cdef tuple key_filter_executors
    cdef KeyFilterC* key_filters
    cdef int n_key_filters
    cdef int answer(self, EventC* event, FrameC* frame, EventChunk* out, bint waits=*) except -1
    cdef int set_waiting(self, bint waits) except -1
    cdef bint evaluate_key_filters(self, EventC* event, FrameC* frame) except -1
    cdef bint passes(self, const EventC* row) noexcept
    cdef int merge_stored(self, Rows rows, Level requested, records, int64_t start, int64_t end) except -1
    cdef int gather_of_nodes(self, Rows rows, int at, int64_t start, int64_t end) except -1
    cdef int gather(self, int at, int64_t start, int64_t end, FrameC* frame, EventChunk* out) except -1
    cdef int gather_anew(self, Rows rows, int at, int64_t start, int64_t end, FrameC* frame, EventChunk* out) except -1
    cdef int finish(self, Rows rows, FrameC* frame, EventChunk* out) except -1

cdef class AggregationJoin(Processor):
    cdef AggregationSearch search
    cdef JoinSelector parts
    cdef int own
    cdef bint outer
    cdef bint joins_expired
