# How keys are hashed and compared by their bits. The low half of a hash is a place in the table, the high half is the
# first test of what stands there.

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from siddhi._core.event cimport BOOL, DOUBLE, INT, LONG, CellC

cdef extern from *:
    """
    #define SIDDHI_FREE UINT64_MAX
    #define SIDDHI_GOLDEN UINT64_C(0x9E3779B97F4A7C15)
    #define SIDDHI_NULL_HASH UINT64_C(0x517cc1b727220a95)
    #define SIDDHI_HIGH_HALF UINT64_C(0xffffffff00000000)
    #define SIDDHI_DOUBLE_NAN UINT64_C(0x7ff8000000000000)
    #define SIDDHI_FLOAT_NAN UINT64_C(0x7fc00000)
    """
    const uint64_t FREE "SIDDHI_FREE"              # a place of the table where nothing is
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
