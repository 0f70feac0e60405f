# Parser of rows: Python values are read into records of one stream.
#
# A row is checked completely before it is used: a refused row has no effect. Functions on the path of every event stand
# here, so that the sender can inline them; rows.pyx holds the rest.

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint8_t

from siddhi._core.record.event cimport DOUBLE, LONG, STRING, CellC, EventC, EventPool, Layout, acquire
from siddhi._core.record.instant cimport TimestampCheck, is_usual
from siddhi._core.record.row_reader cimport RowReader
from siddhi._core.stream.junction cimport StreamJunction

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(object value)
    bint PyLong_CheckExact(object value)

# Python's conversion of a timestamp, an int of two digits, costs more than a filter query: read the digits directly.
cdef extern from *:
    """
    #ifndef SIDDHI_INT64
    #define SIDDHI_INT64
    static inline int64_t siddhi_int64(PyObject *value, int *overflow)
    {
    #if PY_VERSION_HEX < 0x030C0000 && PYLONG_BITS_IN_DIGIT == 30
        const digit *digits = ((PyLongObject *)value)->ob_digit;
        Py_ssize_t size = Py_SIZE(value);
        if ((size_t)size <= 2) {
            if (size == 2) return (int64_t)digits[0] | ((int64_t)digits[1] << 30);
            return size == 0 ? 0 : (int64_t)digits[0];
        }
    #endif
        return PyLong_AsLongLongAndOverflow(value, overflow);
    }
    #endif
    """
    int64_t siddhi_int64(object value, int* overflow) except? -1

cdef class RowParser:
    cdef str stream
    cdef EventPool pool
    cdef Layout layout
    cdef TimestampCheck times
    cdef uint8_t* codes                # of the layout
    cdef int width
    cdef int words
    cdef RowReader reader              # of the class of the last row that it could read, or None
    cdef dict readers                  # by class; None: rows of the class are not read by such a reader
    cdef void bind(self, StreamJunction junction) noexcept
    cdef tuple values_of(self, row)
    cdef RowReader reader_of(self, kind)
    cdef int refuse_width(self, tuple row) except -1
    cdef int read_value(self, EventC* event, int position, object value) except -1      # releases the record on failure
    cdef int64_t time_of(self, timestamp) except? -1
    cdef int look_at(self, int64_t time) except -1

cdef inline int64_t parse_time(RowParser parser, timestamp) except? -1:
    """Return a timestamp in ms. EventError: it is not one, or out of range."""
    cdef int64_t time
    cdef int overflow = 0
    if PyLong_CheckExact(timestamp):
        time = siddhi_int64(timestamp, &overflow)
        if overflow != 0:
            parser.time_of(timestamp)
    else:
        time = parser.time_of(timestamp)
    check_time(parser, time)
    return time

cdef inline int check_time(RowParser parser, int64_t time) except -1:
    """Refuse a time that is out of range; warn about one that seems to be in another unit."""
    return 0 if is_usual(parser.times, time) else parser.look_at(time)

cdef inline EventC* parse_row(RowParser parser, row) except NULL:
    """Return a record of a row, without a timestamp; the caller owns it. EventError: the row does not fit the stream."""
    cdef int i
    cdef PyObject* value
    cdef EventC* event
    cdef CellC* cell
    cdef uint8_t code
    cdef int overflow = 0
    if not PyTuple_CheckExact(row):
        row = parser.values_of(row)
    if PyTuple_GET_SIZE(row) != parser.width:
        parser.refuse_width(row)
    event = acquire(parser.pool)
    for i in range(parser.words):
        event.body[i] = 0
    cell = <CellC*> &event.body[parser.words]
    for i in range(parser.width):
        value = <PyObject*> PyTuple_GET_ITEM(row, i)
        code = parser.codes[i]
        # The most common cases; cell_from_python reads the others.
        if code == DOUBLE and PyFloat_CheckExact(<object> value):
            cell.d = PyFloat_AS_DOUBLE(<object> value)
        elif code == STRING and PyUnicode_CheckExact(<object> value):
            Py_INCREF(<object> value)
            cell.o = value
        elif code == LONG and PyLong_CheckExact(<object> value):
            cell.l = siddhi_int64(<object> value, &overflow)
            if overflow != 0:
                parser.read_value(event, i, <object> value)
        else:
            parser.read_value(event, i, <object> value)
        cell += 1
    return event
