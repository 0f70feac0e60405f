# How keys are hashed and compared by their bits. The low half of a hash selects an entry of the table; the high half is
# compared before the key.

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

from siddhi._core.record.event cimport BOOL, DOUBLE, INT, LONG, CellC, EventC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef extern from *:
    """
    #define SIDDHI_FREE UINT64_MAX
    #define SIDDHI_GOLDEN UINT64_C(0x9E3779B97F4A7C15)
    #define SIDDHI_NULL_HASH UINT64_C(0x517cc1b727220a95)
    #define SIDDHI_HIGH_HALF UINT64_C(0xffffffff00000000)
    #define SIDDHI_DOUBLE_NAN UINT64_C(0x7ff8000000000000)
    #define SIDDHI_FLOAT_NAN UINT64_C(0x7fc00000)
    """
    const uint64_t FREE "SIDDHI_FREE"              # an unused entry of the table
    const uint64_t GOLDEN "SIDDHI_GOLDEN"          # 2**64 / golden ratio: spreads neighbours
    const uint64_t NULL_HASH "SIDDHI_NULL_HASH"
    const uint64_t HIGH_HALF "SIDDHI_HIGH_HALF"
    const uint64_t DOUBLE_NAN "SIDDHI_DOUBLE_NAN"
    const uint64_t FLOAT_NAN "SIDDHI_FLOAT_NAN"

cdef extern from "Python.h":
    ctypedef struct PyASCIIObject:
        Py_hash_t hash
    ctypedef Py_hash_t (*hashfunc)(PyObject* value)
    ctypedef struct PyTypeObject:
        hashfunc tp_hash
    PyTypeObject PyUnicode_Type

cdef inline uint64_t mix(uint64_t bits) noexcept:
    """Spread the bits over both halves."""
    bits = (bits ^ (bits >> 32)) * GOLDEN
    return bits ^ (bits >> 29)

cdef inline uint64_t text_hash(void* text) noexcept:
    cdef Py_hash_t known = (<PyASCIIObject*> text).hash
    if known == -1:
        # str's own, also for a subclass with another __hash__: texts are compared as texts. It can't fail.
        known = PyUnicode_Type.tp_hash(<PyObject*> text)
    return <uint64_t> known

cdef inline uint64_t canonical(int code, const CellC* cell) noexcept:
    """The bits by which a number is compared: one zero, one NaN, nothing beyond its width."""
    cdef CellC value
    value.bits = 0
    if code == LONG:
        return cell.bits
    if code == INT:
        value.i = cell.i
    elif code == BOOL:
        value.i = 1 if cell.i else 0
    elif code == DOUBLE:
        value.d = cell.d
        if value.d == 0:
            value.d = 0
        elif value.d != value.d:
            value.bits = DOUBLE_NAN
    else:
        value.f = cell.f
        if value.f == 0:
            value.f = 0
        elif value.f != value.f:
            value.bits = FLOAT_NAN
    return value.bits

# --- A hash map from typed keys (one or more cells) to dense ids: of groups, partitions, distinct values, index entries.
#
# Ids are small integers, given out densely from 0 and reused after remove(). A key is `width` cells with a null bit
# each; null is a value of its own. Doubles and floats compare by value, -0.0 equals 0.0 and NaN equals NaN; strings by
# content; other objects by Python's == and hash (which may raise).
cdef enum:
    NO_ID = 0xffffffff
    MAX_WIDTH = 64                   # null bits in one word

cdef class KeyMap:
    cdef readonly int width
    cdef readonly tuple types        # TypeCode of each cell of a key
    cdef uint8_t* codes              # [width] the same
    cdef int shape                   # what find is specialised for
    cdef bint has_text               # a key holds strings or objects, which the map owns
    cdef bint has_objects
    cdef CellC* keys                 # [capacity][width], by key id, in their canonical bits; null cells are 0
    cdef uint64_t* nulls             # [capacity] bit i: cell i of the key is null
    cdef uint64_t* hashes            # [capacity] of the key; of an unused id: the next unused id
    cdef uint8_t* live               # [capacity] whether the id has a key
    cdef uint64_t* table             # [mask + 1] open addressing: upper half of the hash and key id, or FREE
    cdef uint64_t mask
    cdef readonly Py_ssize_t size    # number of keys
    cdef Py_ssize_t capacity         # ids allocated
    cdef uint32_t used               # ids given out since the last clear
    cdef uint32_t free_id            # first of the ids to reuse, NO_ID: none
    cdef uint32_t find(self, const CellC* key, uint64_t nulls) except? 0xfffffffe  # NO_ID when absent
    cdef uint32_t insert(self, const CellC* key, uint64_t nulls, bint* is_new) except? 0xfffffffe  # find or add
    cdef int remove(self, uint32_t key_id) except -1
    cdef void prefetch(self, const CellC* key, uint64_t nulls) noexcept  # the memory that find and insert read first
    cdef void prefetch_key(self, uint32_t key_id) noexcept               # the memory that remove reads first
    cdef int clear(self) except -1
    # Keys of one number or text, for prefetching: the hash, and the id that a look-up will most likely find.
    cdef bint is_simple(self) noexcept
    cdef uint64_t hash_of_one(self, const CellC* key) noexcept
    cdef uint32_t guess(self, uint64_t hash) noexcept                                   # NO_ID: none
    cdef bint is_live(self, uint32_t key_id) noexcept
    cdef uint32_t id_bound(self) noexcept                  # all ids are below this
    cdef object key_to_python(self, uint32_t key_id)       # tuple
    cdef int write(self, SnapshotWriter writer) except -1  # keeps the ids
    cdef int read(self, SnapshotReader reader) except -1
    cdef int allocate(self, Py_ssize_t capacity) except -1
    cdef int rehash(self, uint64_t mask) except -1
    cdef int set_key(self, uint32_t key_id, const CellC* key, uint64_t nulls) except -1
    cdef void forget(self) noexcept

# --- Keys in a snapshot:
#
#   u32 width · type code of each part · u32 ids · u32 unused ids, in the order they are to be reused · null words if
#   any part is null · columns: numbers raw, strings and objects as tagged values; nulls of those are left out
cdef int write_keys(KeyMap keys, SnapshotWriter writer) except -1
cdef int read_keys(KeyMap keys, SnapshotReader reader) except -1     # into an empty map; half filled on failure
