"""Decoder of the events of messages in Siddhi's binary format; the format is described in siddhi/io/mappers/binary.py."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, STRING
from siddhi._core.record.user_event cimport Event

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char* text, Py_ssize_t size, const char* errors)

cdef union Bits32:
    uint32_t bits
    int32_t integer
    float real

cdef union Bits64:
    uint64_t bits
    int64_t integer
    double real


cdef inline uint32_t read_32(const uint8_t* at) noexcept:
    return (<uint32_t> at[0] << 24) | (<uint32_t> at[1] << 16) | (<uint32_t> at[2] << 8) | at[3]


cdef inline uint64_t read_64(const uint8_t* at) noexcept:
    return (<uint64_t> read_32(at) << 32) | read_32(at + 4)


@cython.final
cdef class BinaryReader:
    """Decodes messages of one stream.

    Args:
        codes: type codes of the attributes.
    """

    cdef bytes _codes
    cdef Py_ssize_t _least               # bytes of an event with empty texts

    def __init__(self, codes):
        cdef int code
        self._codes = bytes(codes)
        self._least = 8
        for code in self._codes:
            self._least += 8 if code == LONG or code == DOUBLE else 1 if code == BOOL else 4

    def events(self, bytes message not None):
        """Return the events of a message; None: it is not well-formed, or has a text that is not UTF-8."""
        cdef const uint8_t* at = <const uint8_t*> PyBytes_AS_STRING(message)
        cdef const uint8_t* end = at + PyBytes_GET_SIZE(message)
        cdef Py_ssize_t count
        cdef Event event
        cdef list events = []
        if end - at < 4:
            return None
        count = <int32_t> read_32(at)
        at += 4
        if count < 0 or count > (end - at) // self._least:
            return None
        while count > 0:
            count -= 1
            event = self._event(&at, end)
            if event is None:
                return None
            events.append(event)
        return events if at == end else None

    cdef Event _event(self, const uint8_t** position, const uint8_t* end):
        cdef const uint8_t* at = position[0]
        cdef const uint8_t* codes = <const uint8_t*> PyBytes_AS_STRING(self._codes)
        cdef Py_ssize_t width = PyBytes_GET_SIZE(self._codes), i
        cdef Event event
        cdef tuple values
        cdef object value
        cdef Bits32 short_bits
        cdef Bits64 long_bits
        if end - at < 8:
            return None
        event = Event.__new__(Event)
        event.timestamp = <int64_t> read_64(at)
        at += 8
        values = PyTuple_New(width)
        event.values = values
        for i in range(width):
            if codes[i] == LONG or codes[i] == DOUBLE:
                if end - at < 8:
                    return None
                long_bits.bits = read_64(at)
                at += 8
                if codes[i] == LONG:
                    value = long_bits.integer
                else:
                    value = long_bits.real
            elif codes[i] == BOOL:
                if end - at < 1:
                    return None
                value = at[0] != 0
                at += 1
            else:
                if end - at < 4:
                    return None
                short_bits.bits = read_32(at)
                at += 4
                if codes[i] == INT:
                    value = short_bits.integer
                elif codes[i] == FLOAT:
                    value = short_bits.real
                elif short_bits.integer == 0:
                    value = None                     # an empty text, or an object
                elif codes[i] != STRING or short_bits.integer < 0 or end - at < short_bits.integer:
                    return None
                else:
                    try:
                        value = PyUnicode_DecodeUTF8(<const char*> at, short_bits.integer, NULL)
                    except ValueError:
                        return None
                    at += short_bits.integer
            Py_INCREF(value)
            PyTuple_SET_ITEM(values, i, value)
        position[0] = at
        return event
