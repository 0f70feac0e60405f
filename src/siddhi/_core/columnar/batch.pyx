"""Columns out: events collected in typed arrays, returned as numpy arrays, lists, Arrow or Python values."""

cimport cython
from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_FULL, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.float cimport PyFloat_FromDouble
from cpython.long cimport PyLong_FromLongLong
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.string cimport memchr, memcpy, memset

import difflib
from array import array as typed_array

from siddhi._core.columnar.arrow_export cimport ExportC, export_array, export_schema
from siddhi._core.columnar.buffer cimport free_block, grow_block, shrink_block
from siddhi._core.record.event cimport (
    BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC, Layout, cell_from_python,
)
from siddhi._core.record.user_event cimport row_values

cdef extern from "siddhi/single.h":
    double siddhi_shortest_double(float value)

cdef enum:
    FIRST_CAPACITY = 16
    HTML_ROWS = 20

cdef Py_ssize_t[7] WIDTHS = [sizeof(void*), 4, 8, 4, 8, 1, sizeof(void*)]      # bytes, by TypeCode
cdef int[7] GROUPS = [1, 2, 0, 2, 0, 3, 1]     # of writers: 8 bytes, objects, 4 bytes, bools
cdef const char* FORMATS[7]     # of the buffer protocol, by TypeCode
FORMATS[:] = [b"O", b"i", b"q", b"f", b"d", b"?", b"O"]
if sizeof(long) == 8:
    FORMATS[<int> LONG] = b"l"        # numpy's name of int64
cdef tuple ARRAYS = ("", "i", "q", "f", "d", "B", "")     # type codes of the module array, by TypeCode
cdef tuple TYPE_NAMES = ("string", "int", "long", "float", "double", "bool", "object")


cdef void take_column(const ColumnWriterC* writer, int group, EventC** events, Py_ssize_t n, Py_ssize_t row) noexcept:
    """Copy one column of events without nulls."""
    cdef Py_ssize_t i
    cdef int cell = writer.cell
    cdef uint64_t* words = <uint64_t*> writer.data + row
    if group == 0:
        for i in range(n):
            words[i] = events[i].body[cell]
    elif group == 1:
        for i in range(n):
            words[i] = events[i].body[cell]
            Py_INCREF(<object> <PyObject*> words[i])
    elif group == 2:
        for i in range(n):
            (<int32_t*> writer.data)[row + i] = (<const CellC*> &events[i].body[cell]).i
    else:
        for i in range(n):
            (<uint8_t*> writer.data)[row + i] = (<const CellC*> &events[i].body[cell]).i != 0


# no_gc: the only reference is the layout, which __dealloc__ needs; a collection would clear it first.
@cython.no_gc
@cython.final
cdef class BatchBuilder:
    """Collects events of one layout; :meth:`EventBatch` objects take over its arrays without a copy."""

    def __cinit__(self, Layout layout not None):
        cdef int i, group, n = 0
        self.layout = layout
        self.words = layout.words
        self.next_capacity = FIRST_CAPACITY
        self.writers = <ColumnWriterC*> PyMem_Calloc(max(1, layout.width), sizeof(ColumnWriterC))
        self.order = <int*> PyMem_Calloc(max(1, layout.width), sizeof(int))
        if self.writers is NULL or self.order is NULL:
            raise MemoryError
        for group in range(4):
            for i in range(layout.width):
                if GROUPS[layout.codes[i]] == group:
                    self.order[n] = i
                    self.writers[n].cell = layout.words + i
                    self.writers[n].word = i >> 6
                    self.writers[n].bit = (<uint64_t> 1) << (i & 63)
                    n += 1
            self.ends[group] = self.writers + n
        self.make_columns()

    def __dealloc__(self):
        free_columns(self.layout, self.timestamps, self.data, self.valid, self.size)
        PyMem_Free(self.writers)
        PyMem_Free(self.order)

    def __len__(self):
        return self.size

    cdef int make_columns(self) except -1:
        """Start with empty columns. On success the former ones belong to a batch; on failure they are kept."""
        cdef void** data = <void**> PyMem_Calloc(max(1, self.layout.width), sizeof(void*))
        cdef uint8_t** valid = <uint8_t**> PyMem_Calloc(max(1, self.layout.width), sizeof(uint8_t*))
        if data is NULL or valid is NULL:
            PyMem_Free(data)
            PyMem_Free(valid)
            raise MemoryError
        self.timestamps, self.data, self.valid = NULL, data, valid
        self.size = self.capacity = 0
        return 0

    cdef int grow(self) except -1:
        self.resize(max(2 * self.capacity, self.next_capacity))
        return 0

    cdef int resize(self, Py_ssize_t capacity) except -1:
        cdef int k, i
        self.timestamps = <int64_t*> grow_block(self.timestamps, capacity * sizeof(int64_t))
        for k in range(self.layout.width):
            i = self.order[k]
            self.data[i] = self.writers[k].data = grow_block(self.data[i], capacity * WIDTHS[self.layout.codes[i]])
            self.valid[i] = self.writers[k].valid = <uint8_t*> grow_block(self.valid[i], capacity)
            memset(self.valid[i] + self.capacity, 1, capacity - self.capacity)
        self.capacity = capacity
        return 0

    cdef int shrink(self) except -1:
        """Free unused room before a batch takes the columns over."""
        cdef int i
        self.timestamps = <int64_t*> shrink_block(self.timestamps, self.size * sizeof(int64_t))
        for i in range(self.layout.width):
            self.data[i] = shrink_block(self.data[i], self.size * WIDTHS[self.layout.codes[i]])
            self.valid[i] = <uint8_t*> shrink_block(self.valid[i], self.size)
        return 0

    cdef int append(self, const EventC* event) except -1:
        cdef Py_ssize_t row = self.size
        cdef const uint64_t* body = &event.body[0]
        cdef const ColumnWriterC* writer
        cdef const ColumnWriterC* end
        cdef uint64_t nulls = body[0]
        cdef int i
        if row == self.capacity:
            self.grow()
        for i in range(1, self.words):
            nulls |= body[i]
        if nulls:
            self.append_nulls(event, row)
        self.timestamps[row] = event.timestamp
        writer = self.writers
        end = self.ends[0]
        while writer is not end:
            (<uint64_t*> writer.data)[row] = body[writer.cell]
            writer += 1
        end = self.ends[1]
        while writer is not end:
            if not nulls or not body[writer.word] & writer.bit:
                Py_INCREF(<object> <PyObject*> body[writer.cell])
            (<uint64_t*> writer.data)[row] = body[writer.cell]
            writer += 1
        end = self.ends[2]
        while writer is not end:
            (<int32_t*> writer.data)[row] = (<const CellC*> &body[writer.cell]).i
            writer += 1
        end = self.ends[3]
        while writer is not end:
            (<uint8_t*> writer.data)[row] = (<const CellC*> &body[writer.cell]).i != 0
            writer += 1
        self.size = row + 1
        return 0

    cdef int append_block(self, EventC** events, Py_ssize_t n) except -1:
        """Collect several events, column by column."""
        cdef Py_ssize_t i, row = self.size
        cdef uint64_t nulls = 0
        cdef int k
        while self.capacity - row < n:
            self.grow()
        for i in range(n):
            self.timestamps[row + i] = events[i].timestamp
            for k in range(self.words):
                nulls |= events[i].body[k]
        # A record may have more cells than are collected; their null bits are ignored.
        if nulls if self.words > 1 else nulls << (64 - self.layout.width):
            for i in range(n):
                self.append(events[i])
            return 0
        for k in range(self.layout.width):
            take_column(&self.writers[k], GROUPS[self.layout.codes[self.order[k]]], events, n, row)
        self.size = row + n
        return 0

    cdef void append_nulls(self, const EventC* event, Py_ssize_t row) noexcept:
        cdef int k
        cdef const ColumnWriterC* writer
        for k in range(self.layout.width):
            writer = &self.writers[k]
            if event.body[writer.word] & writer.bit:
                writer.valid[row] = 0

    def append_row(self, timestamp, row):
        """Collect one row of Python values.

        Raises:
            ValueError: a value does not fit its attribute, or there are too few or too many; nothing is collected.
        """
        cdef EventC* event
        cdef int i
        cdef Py_ssize_t n_bytes = sizeof(EventC) + 8 * (self.layout.words + self.layout.width)
        values = row_values(row, self.layout.names)
        if len(values) != self.layout.width:
            raise ValueError(f"a row of {self.layout.width} values is needed, not of {len(values)}")
        event = <EventC*> PyMem_Calloc(1, n_bytes)
        if event is NULL:
            raise MemoryError
        try:
            event.timestamp = timestamp
            for i in range(self.layout.width):
                cell_from_python(event, self.layout, i, values[i])
            self.append(event)
        finally:
            for i in range(self.layout.n_objects):
                if event.body[self.layout.objects[i]] != 0:
                    Py_DECREF(<object> <PyObject*> event.body[self.layout.objects[i]])
            PyMem_Free(event)

    def take_batch(self):
        """Return everything collected so far as an :class:`EventBatch`; the builder is empty again.

        Raises:
            MemoryError: out of memory; the builder is unchanged.
        """
        return self.take()

    cdef EventBatch take(self):
        cdef EventBatch batch = EventBatch.__new__(EventBatch)
        cdef int64_t* timestamps
        cdef void** data
        cdef uint8_t** valid
        cdef Py_ssize_t size
        if 4 * self.size < self.capacity and self.capacity > FIRST_CAPACITY:
            self.shrink()
        timestamps, data, valid, size = self.timestamps, self.data, self.valid, self.size
        self.make_columns()
        batch.layout = self.layout
        batch.ts, batch.data, batch.valid, batch.size = timestamps, data, valid, size
        self.next_capacity = max(<Py_ssize_t> FIRST_CAPACITY, size)
        return batch


cdef void free_columns(Layout layout, int64_t* timestamps, void** data, uint8_t** valid, Py_ssize_t size) noexcept:
    cdef int i
    cdef Py_ssize_t row
    free_block(timestamps)
    if data is not NULL and valid is not NULL:
        for i in range(layout.width):
            if layout.codes[i] == STRING or layout.codes[i] == OBJECT:
                for row in range(size):
                    if valid[i][row]:
                        Py_DECREF(<object> (<PyObject**> data[i])[row])
            free_block(data[i])
            free_block(valid[i])
    PyMem_Free(data)
    PyMem_Free(valid)


@cython.final
cdef class BatchBuffer:
    """A column as a read-only buffer."""

    def __getbuffer__(self, Py_buffer* view, int flags):
        if flags & PyBUF_WRITABLE:
            raise BufferError("a batch is shared by its receivers: copy the array to change it")
        view.buf = self.values
        view.obj = self
        view.len = self.shape * self.stride
        view.itemsize = self.stride
        view.readonly = 1
        view.ndim = 1
        view.format = <char*> FORMATS[self.code] if flags & PyBUF_FORMAT else NULL
        view.shape = &self.shape if flags & PyBUF_ND else NULL
        view.strides = &self.stride if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
        view.suboffsets = NULL
        view.internal = NULL


cdef object view_of(EventBatch batch, void* values, int code):
    """Return a numpy array over memory of the batch."""
    cdef BatchBuffer buffer
    import numpy
    if batch.size == 0:
        return numpy.empty(0, dtype=numpy.dtype(FORMATS[code].decode()))
    buffer = BatchBuffer.__new__(BatchBuffer)
    buffer.batch = batch
    buffer.values = values
    buffer.code = code
    buffer.shape = batch.size
    buffer.stride = WIDTHS[code]
    return numpy.asarray(buffer)


# no_gc: the only reference is the layout, which __dealloc__ needs; a collection would clear it first.
@cython.no_gc
@cython.final
cdef class EventBatch:
    """Events as columns, in the order they were emitted. ``len()`` is their number.

    ``batch["price"]`` is a numpy array: int32, int64, float32, float64 and bool columns without nulls are read-only
    views of the batch's memory (which lives as long as any of them); with nulls they are masked arrays (``numpy.ma``)
    over NaN, 0 or False. Strings and objects are arrays of Python objects, None for null.

    The batch exports itself through the Arrow PyCapsule interface, so ``pyarrow.record_batch(batch)`` and
    ``polars.DataFrame(batch)`` work; timestamps are not among the columns.

    Batches are immutable; they can be pickled and copied, names, nulls and timestamps included.
    """

    def __dealloc__(self):
        free_columns(self.layout, self.ts, self.data, self.valid, self.size)

    def __init__(self):
        raise TypeError("batches are made by the engine")

    def __len__(self):
        return self.size

    @property
    def names(self):
        """Names of the columns."""
        return self.layout.names

    @property
    def types(self):
        """SiddhiQL types of the columns: ``"string"``, ``"int"``, ..."""
        return tuple([TYPE_NAMES[code] for code in self.layout.types])

    @property
    def timestamps(self):
        """Time of each event in ms since the epoch, a read-only int64 array."""
        return view_of(self, self.ts, LONG)

    cdef int position_of(self, object name) except -1:
        cdef int i
        for i in range(self.layout.width):
            if self.layout.names[i] == name:
                return i
        close = difflib.get_close_matches(name, self.layout.names, 1) if isinstance(name, str) else []
        raise KeyError(f"no column {name!r} in this batch of {', '.join(self.layout.names) or 'no columns'}"
                       + (f": did you mean {close[0]!r}?" if close else ""))

    cdef bint has_nulls(self, int position) noexcept:
        return self.size > 0 and memchr(self.valid[position], 0, self.size) is not NULL

    cdef object value(self, int position, Py_ssize_t row):
        cdef int code = self.layout.codes[position]
        cdef const void* data = self.data[position]
        if not self.valid[position][row]:
            return None
        if code == STRING or code == OBJECT:
            return <object> (<PyObject**> data)[row]
        if code == DOUBLE:
            return PyFloat_FromDouble((<const double*> data)[row])
        if code == LONG:
            return PyLong_FromLongLong((<const int64_t*> data)[row])
        if code == INT:
            return PyLong_FromLongLong((<const int32_t*> data)[row])
        if code == FLOAT:
            return PyFloat_FromDouble(siddhi_shortest_double((<const float*> data)[row]))
        return (<const uint8_t*> data)[row] != 0

    def __getitem__(self, name):
        """Return a column as a numpy array, see the class.

        Raises:
            KeyError: no such column.
        """
        cdef int position = self.position_of(name)
        cdef int code = self.layout.codes[position]
        import numpy
        if code == STRING or code == OBJECT:
            array = numpy.empty(self.size, dtype=object)
            self.copy_objects(position, array)
            return array
        if not self.has_nulls(position):
            return view_of(self, self.data[position], code)
        self.clear_nulls(position)
        mask = ~view_of(self, self.valid[position], BOOL)
        return numpy.ma.MaskedArray(view_of(self, self.data[position], code), mask=mask, copy=False)

    cdef int copy_objects(self, int position, object array) except -1:
        """Copy a column of objects into a new array of this length, which must be full of None."""
        cdef Py_buffer view
        cdef PyObject** cells
        cdef PyObject** objects = <PyObject**> self.data[position]
        cdef Py_ssize_t row
        PyObject_GetBuffer(array, &view, PyBUF_FULL)
        cells = <PyObject**> view.buf
        for row in range(self.size):
            if self.valid[position][row]:
                Py_INCREF(<object> objects[row])
                Py_DECREF(<object> cells[row])
                cells[row] = objects[row]
        PyBuffer_Release(&view)
        return 0

    cdef int clear_nulls(self, int position) noexcept:
        """Overwrite the bytes of nulls with NaN, 0 or False, so that arithmetic on the plain array is defined."""
        cdef int code = self.layout.codes[position]
        cdef Py_ssize_t row, width = WIDTHS[code]
        cdef const uint8_t* valid = self.valid[position]
        for row in range(self.size):
            if not valid[row]:
                if code == DOUBLE:
                    (<double*> self.data[position])[row] = NAN
                elif code == FLOAT:
                    (<float*> self.data[position])[row] = <float> NAN
                else:
                    memset(<char*> self.data[position] + row * width, 0, width)
        return 0

    def column(self, name):
        """Return a column as a list of Python values, None for null.

        Raises:
            KeyError: no such column.
        """
        cdef int position = self.position_of(name)
        cdef Py_ssize_t row
        return [self.value(position, row) for row in range(self.size)]

    def __iter__(self):
        """Iterate over the values of the events, as tuples."""
        cdef Py_ssize_t row
        cdef int i
        for row in range(self.size):
            yield tuple([self.value(i, row) for i in range(self.layout.width)])

    def to_pylist(self):
        """Return the values of the events as a list of dicts."""
        return [dict(zip(self.layout.names, row)) for row in self]

    def to_pydict(self):
        """Return the columns as lists of Python values, by name."""
        return {name: self.column(name) for name in self.layout.names}

    cdef int describe(self, ExportC* out) except -1:
        out.layout = <PyObject*> self.layout
        out.owner = <PyObject*> self
        out.size = self.size
        out.data = self.data
        out.valid = self.valid
        return 0

    def __arrow_c_schema__(self):
        """Return the types of the columns, an Arrow struct.

        Raises:
            TypeError: there is a column of objects.
        """
        cdef ExportC export
        self.describe(&export)
        return export_schema(&export)

    def __arrow_c_array__(self, requested_schema=None):
        """Return the columns as an Arrow struct array, numbers without a copy. ``requested_schema`` is ignored.

        Raises:
            TypeError: there is a column of objects.
            ValueError: a string cannot be written as UTF-8.
        """
        cdef ExportC export
        self.describe(&export)
        return export_schema(&export), export_array(&export)

    def __copy__(self):
        return self

    def __reduce__(self):
        times = typed_array("q", self.bytes_of(self.ts, sizeof(int64_t)))
        return restore_batch, (self.layout, times, tuple([self.packed(i) for i in range(self.layout.width)]))

    cdef bytes bytes_of(self, const void* values, Py_ssize_t width):
        return b"" if self.size == 0 else (<const char*> values)[:self.size * width]

    cdef tuple packed(self, int position):
        """Return a column as :func:`restore_batch` takes it. Typed arrays pickle alike on every machine."""
        cdef int code = self.layout.codes[position]
        self.clear_nulls(position)
        values = (typed_array(ARRAYS[code], self.bytes_of(self.data[position], WIDTHS[code])) if ARRAYS[code]
                  else [self.value(position, row) for row in range(self.size)])
        return values, self.bytes_of(self.valid[position], 1)

    def __repr__(self):
        columns = ", ".join([f"{name} {kind}" for name, kind in zip(self.names, self.types)])
        return f"EventBatch({self.size} event{'' if self.size == 1 else 's'}: {columns})"

    def _repr_html_(self):
        from html import escape
        from itertools import islice
        columns = zip(self.names, self.types)
        head = "".join([f"<th>{escape(name)}<br><small>{kind}</small></th>" for name, kind in columns])
        body = "".join(
            [f"<tr><td>{self.ts[row]}</td>" + "".join([f"<td>{escape(str(value))}</td>" for value in values]) + "</tr>"
             for row, values in enumerate(islice(self, HTML_ROWS))])
        more = f"<p>{self.size - HTML_ROWS} more</p>" if self.size > HTML_ROWS else ""
        return f"<table><thead><tr><th>timestamp</th>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def restore_batch(Layout layout not None, timestamps not None, tuple columns not None):
    """Return a batch that was pickled or copied.

    Args:
        layout: names and types of the columns.
        timestamps: ms since the epoch, an array of int64.
        columns: for each column its values, an array or a list of objects, and a byte per row: 1 for a value, 0 for null.

    Raises:
        ValueError: the columns do not fit the layout, or differ in length.
    """
    cdef BatchBuilder builder = BatchBuilder(layout)
    cdef Py_ssize_t n = len(timestamps), row
    cdef int i, code
    cdef bytes plain, valid
    cdef list objects
    if len(columns) != layout.width or timestamps.typecode != "q":
        raise ValueError(f"a batch of {layout.width} columns with timestamps can't be made of {len(columns)} columns")
    for i in range(layout.width):
        values, valid = columns[i]
        expected = ARRAYS[layout.codes[i]]
        if len(values) != n or len(valid) != n or valid.strip(b"\0\1") or getattr(values, "typecode", "") != expected:
            raise ValueError(f"column '{layout.names[i]}' is not of {n} values of type {TYPE_NAMES[layout.codes[i]]}")
        if layout.codes[i] == STRING and not all([value is None or isinstance(value, str) for value in values]):
            raise ValueError(f"column '{layout.names[i]}' has values that are not strings")
    if n == 0:
        return builder.take()
    builder.resize(n)
    plain = timestamps.tobytes()
    memcpy(builder.timestamps, <const char*> plain, n * sizeof(int64_t))
    for i in range(layout.width):
        values, valid = columns[i]
        code = layout.codes[i]
        memcpy(builder.valid[i], <const char*> valid, n)
        if code == STRING or code == OBJECT:
            objects = values
            for row in range(n):
                if builder.valid[i][row]:
                    Py_INCREF(objects[row])
                    (<PyObject**> builder.data[i])[row] = <PyObject*> objects[row]
        else:
            plain = values.tobytes()
            memcpy(builder.data[i], <const char*> plain, n * WIDTHS[code])
    builder.size = n
    return builder.take()
