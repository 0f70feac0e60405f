# A table in memory. A row is a pooled record with a number that it keeps until it is deleted; numbers are reused. Rows
# are linked in order of insertion, and every search returns them in this order.
#
# A row of a table with a composite primary key stays filed under the key it was inserted with, even if its values
# change: that key remains taken. A delete removes the row filed under the key that the values of the found row make. A
# table with indexes and no key is a set: of rows equal in time and values a search returns one (search.pxd).
#
# Ownership: the table owns its rows. A caller that keeps a row beyond the current call must retain it. A row with
# another owner is never written to: a change creates a new record under the same number.

from libc.stdint cimport uint32_t, uint64_t

from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.record.event cimport CellC, EventC, EventPool, Layout
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.key_limit cimport KeyLimit
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.table.index cimport NO_ROW, CellAtC, ValueIndex

cdef struct RowC:
    EventC* event                      # NULL: free number
    uint64_t sequence                  # order of insertion
    uint32_t previous
    uint32_t next     # of a free number: the next free one
    uint32_t key      # key id of the primary key
    uint32_t changed  # composite key: filed under another key than its values make; set: changed since its insertion

cdef enum:
    PREFETCH_ROWS = 32                       # number of rows prefetched together

cdef class Table:
    cdef readonly AppContext app
    cdef readonly str id
    cdef readonly EventPool pool
    cdef readonly Layout layout
    cdef readonly tuple primary_key      # positions
    cdef readonly Py_ssize_t size        # number of rows
    cdef readonly long long refused      # number of rows and changes refused because of their key
    cdef readonly bint composite         # the primary key has several attributes
    cdef tuple declared                  # positions of the attributes with an index
    cdef readonly bint distinct          # the table is a set; rows keep their timestamps
    cdef readonly Py_ssize_t n_misfiled  # composite key: number of rows filed under another key than their values make
    cdef public bint quiet               # the owner reports refused rows
    cdef public KeyLimit limit           # of the number of rows, or None
    cdef object failure                  # error of the first row refused by the limit since the last check
    cdef int searching                   # conditions over it are being evaluated: it must not change
    cdef RowC* rows
    cdef Py_ssize_t capacity
    cdef uint32_t used                 # numbers in use or free
    cdef uint32_t free                 # first free number
    cdef uint32_t first
    cdef uint32_t last
    cdef uint64_t sequence             # of the next row
    cdef KeyMap keys                   # None: no primary key
    cdef uint32_t* numbers             # row number by key id
    cdef Py_ssize_t n_numbers
    cdef CellAtC* key_cells
    cdef int n_key_cells
    cdef bint numeric_key  # one numeric attribute, which must not be null
    cdef dict indexes      # position -> ValueIndex, created when conditions need them
    cdef uint64_t indexed  # bit mask of the positions in indexes and primary key (all ones from the 64th on)
    cdef bint has_room(self) except -1
    cdef int fail(self) except -1                                      # raises `failure`, if any
    cdef int check_writable(self) except -1
    cdef int reserve(self) except -1
    cdef int reserve_key(self, uint32_t key_id) except -1
    cdef uint32_t number_of(self, const CellC* key, uint64_t nulls) except? 0xfffffffe     # NO_ROW: none
    # Prefetch what lookups of up to PREFETCH_ROWS keys will need; the keys must be simple (KeyMap.is_simple).
    cdef void prefetch(self, const uint64_t* hashes, Py_ssize_t n) noexcept
    cdef uint64_t key_of(self, const EventC* row, CellC* key) noexcept                     # returns the null bits
    cdef uint32_t insert(self, EventC* event) except? 0xfffffffe  # NO_ROW: refused because of its key or the limit
    cdef EventC* adopt(self, EventC* event) except NULL
    cdef EventC* copy(self, const EventC* event) except NULL
    cdef int enter(self, EventC* row, uint32_t key_id) except -1
    cdef int remove(self, uint32_t number) except -1
    cdef int replace(self, uint32_t number, EventC* row) except -1     # consumes the row; it stays filed as the old one
    cdef bint change(self, const uint32_t* found, EventC** rows, Py_ssize_t n) except -1  # consumes the rows
    cdef bint is_moved(self, uint32_t number, const EventC* row) except -1  # the value of an index differs
    cdef int note_filing(self, uint32_t number) except -1
    cdef uint32_t row_of_key(self, const EventC* row) except? 0xfffffffe  # filed under the key of these values, or NO_ROW
    cdef bint is_key_free(self, const uint32_t* found, EventC** rows, Py_ssize_t n) except -1
    cdef int refuse(self, EventC* event, str what) except -1
    cdef int clear(self) except -1
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int write_misfiled(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1

cdef class TableState(Processor):      # the snapshot operator of a table
    cdef readonly Table table
