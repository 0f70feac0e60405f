# A table kept in memory. A row is a pooled record under a number that stays its own until it is deleted; numbers are
# reused. The rows are linked in order of insertion, which is the order in which every search finds them.
#
# A row of a key of several attributes stays filed under the key it came with, whatever its values become: that key
# remains taken, and a row is deleted where the key that its values make is filed. A table with indexes and no key is a
# set: of rows that are equal in time and values a search finds one (search.pxd).
#
# Ownership: the table owns its rows. Whoever keeps one beyond the call that gave it to him retains it; a row that has
# another owner is never written to, its change is a new record under the same number.

from libc.stdint cimport uint32_t, uint64_t

from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.record.event cimport CellC, EventC, EventPool, Layout
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.key_limit cimport KeyLimit
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.table.index cimport NO_ROW, CellAtC, ValueIndex

cdef struct RowC:
    EventC* event                      # NULL: the number is free
    uint64_t sequence                  # of insertion
    uint32_t previous
    uint32_t next                      # of a free number: the next free one
    uint32_t key                       # key id of the primary key
    uint32_t changed                   # composite key: its values make another key; distinct: changed since it came

cdef enum:
    PREFETCH_ROWS = 32                       # rows asked for together

cdef class Table:
    cdef readonly AppContext app
    cdef readonly str id
    cdef readonly EventPool pool
    cdef readonly Layout layout
    cdef readonly tuple primary_key    # positions
    cdef readonly Py_ssize_t size      # rows held
    cdef readonly long long refused    # rows and changes dropped because of their key
    cdef readonly bint composite       # the primary key is of several attributes
    cdef tuple declared                # positions of the attributes with an index
    cdef readonly bint distinct        # equal rows are one; rows keep their timestamps
    cdef readonly Py_ssize_t n_misfiled  # composite key: rows whose values make another key than that they are filed under
    cdef public bint quiet             # somebody else tells of what is refused
    cdef public KeyLimit limit         # of its rows, or None
    cdef object failure                # of the first row since somebody asked that found no room
    cdef int searching                 # conditions over it are being evaluated: it must not change
    cdef RowC* rows
    cdef Py_ssize_t capacity
    cdef uint32_t used                 # numbers ever given out
    cdef uint32_t free                 # first free number
    cdef uint32_t first
    cdef uint32_t last
    cdef uint64_t sequence             # of the next row
    cdef KeyMap keys                   # None: no primary key
    cdef uint32_t* numbers             # row number by key id
    cdef Py_ssize_t n_numbers
    cdef CellAtC* key_cells
    cdef int n_key_cells
    cdef bint numeric_key              # a single number, which must not be null
    cdef dict indexes                  # position -> ValueIndex, those that conditions asked for
    cdef uint64_t indexed              # bits of the positions in indexes and primary key (all, from the 64th on)
    cdef bint has_room(self) except -1
    cdef int fail(self) except -1                                      # raises the failure, if there is one
    cdef int check_writable(self) except -1
    cdef int reserve(self) except -1
    cdef int reserve_key(self, uint32_t key_id) except -1
    cdef uint32_t number_of(self, const CellC* key, uint64_t nulls) except? 0xfffffffe     # NO_ROW: there is none
    # Ask the memory for what look-ups of keys will need, PREFETCH_ROWS at the most; the keys are simple (KeyMap.is_simple).
    cdef void prefetch(self, const uint64_t* hashes, Py_ssize_t n) noexcept
    cdef uint64_t key_of(self, const EventC* row, CellC* key) noexcept                     # null bits
    cdef uint32_t insert(self, EventC* event) except? 0xfffffffe       # NO_ROW: dropped because of its key
    cdef EventC* adopt(self, EventC* event) except NULL
    cdef EventC* copy(self, const EventC* event) except NULL
    cdef int enter(self, EventC* row, uint32_t key_id) except -1
    cdef int remove(self, uint32_t number) except -1
    cdef int replace(self, uint32_t number, EventC* row) except -1     # takes the row over; it is filed as the old one
    cdef bint change(self, const uint32_t* found, EventC** rows, Py_ssize_t n) except -1   # takes the rows over
    cdef bint is_moved(self, uint32_t number, const EventC* row) except -1     # to another value of an index
    cdef int note_filing(self, uint32_t number) except -1
    cdef uint32_t row_of_key(self, const EventC* row) except? 0xfffffffe     # by the key of these values; or NO_ROW
    cdef bint is_key_free(self, const uint32_t* found, EventC** rows, Py_ssize_t n) except -1
    cdef int refuse(self, EventC* event, str what) except -1
    cdef int clear(self) except -1
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int write_misfiled(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1

cdef class TableState(Processor):      # a table as one of the steps that hold state
    cdef readonly Table table
