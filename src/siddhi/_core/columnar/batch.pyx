"""Columns out: events collected in typed arrays, returned as numpy arrays, lists, Arrow or Python values."""

cimport cython
from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_FULL, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.float cimport PyFloat_FromDouble
from cpython.long cimport PyLong_FromLongLong
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.string cimport memchr, memcpy, memset

import difflib
from array import array as typed_array
from functools import lru_cache
from operator import index as index_of, itemgetter

from siddhi._core.columnar.arrow_export cimport ExportC, export_array, export_schema, export_stream
from siddhi._core.columnar.buffer cimport free_block, grow_block, shrink_block
from siddhi._core.record.event cimport (
    BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC, Layout, cell_from_python,
)
from siddhi._core.record.event import TYPE_NAMES
from siddhi._core.record.exact cimport exact_text
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


cdef EventBatch rows_of(EventBatch batch, object numbers):
    """Return a copy of rows.

    Args:
        batch: the batch.
        numbers: their numbers, a range or list, none of which is negative or too large.
    """
    cdef BatchBuilder builder = BatchBuilder(batch.layout)
    cdef Py_ssize_t row, source, width, n = len(numbers)
    cdef Py_ssize_t* sources
    cdef char* to
    cdef int i
    if n == 0:
        return builder.take()
    builder.resize(n)
    sources = <Py_ssize_t*> PyMem_Malloc(n * sizeof(Py_ssize_t))
    if sources is NULL:
        raise MemoryError
    try:
        for row in range(n):
            sources[row] = numbers[row]
            builder.timestamps[row] = batch.ts[sources[row]]
        for i in range(batch.layout.width):
            width, to = WIDTHS[batch.layout.codes[i]], <char*> builder.data[i]
            for row in range(n):
                source = sources[row]
                memcpy(to + row * width, <const char*> batch.data[i] + source * width, width)
                builder.valid[i][row] = batch.valid[i][source]
            if batch.layout.codes[i] == STRING or batch.layout.codes[i] == OBJECT:
                for row in range(n):
                    if builder.valid[i][row]:
                        Py_INCREF(<object> (<PyObject**> builder.data[i])[row])
    finally:
        PyMem_Free(sources)
    builder.size = n
    return builder.take()


cdef Py_ssize_t row_at(EventBatch batch, Py_ssize_t index) except -1:
    """Return the number of a row, which may be counted from the end."""
    cdef Py_ssize_t row = index if index >= 0 else index + batch.size
    if not 0 <= row < batch.size:
        raise IndexError(f"no row {index} in a batch of {batch.size}")
    return row


cdef EventBatch columns_of(EventBatch batch, list names):
    """Return a copy of columns.

    Raises:
        KeyError: no such column.
        ValueError: a column is named twice.
    """
    cdef list positions = [batch.position_of(name) for name in names]
    cdef BatchBuilder builder
    cdef Py_ssize_t row
    cdef int i, source
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"column {name!r} is named twice")
    builder = BatchBuilder(Layout(names, [batch.layout.types[source] for source in positions]))
    if batch.size == 0:
        return builder.take()
    builder.resize(batch.size)
    memcpy(builder.timestamps, batch.ts, batch.size * sizeof(int64_t))
    for i in range(len(positions)):
        source = positions[i]
        memcpy(builder.data[i], batch.data[source], batch.size * WIDTHS[batch.layout.codes[source]])
        memcpy(builder.valid[i], batch.valid[source], batch.size)
        if batch.layout.codes[source] == STRING or batch.layout.codes[source] == OBJECT:
            for row in range(batch.size):
                if builder.valid[i][row]:
                    Py_INCREF(<object> (<PyObject**> builder.data[i])[row])
    builder.size = batch.size
    return builder.take()


cdef EventBatch chosen_from(EventBatch batch, object chosen):
    """Return the rows, or the columns, that a list or an array chooses.

    Raises:
        KeyError: no such column.
        IndexError: no such row; a mask has another length than the batch.
        TypeError: the list has neither names, numbers nor truth values.
    """
    cdef list numbers = []
    listed = chosen.tolist() if hasattr(chosen, "tolist") else list(chosen)
    if listed and all([isinstance(one, str) for one in listed]):
        return columns_of(batch, listed)
    if listed and all([isinstance(one, bool) or type(one).__name__ == "bool_" for one in listed]):
        if len(listed) != batch.size:
            raise IndexError(f"a mask of {len(listed)} values for a batch of {batch.size} rows")
        return rows_of(batch, [row for row, is_taken in enumerate(listed) if is_taken])
    for one in listed:
        if isinstance(one, (str, bool)) or not hasattr(one, "__index__"):
            raise TypeError("a batch is indexed with names of columns, numbers of rows or truth values, "
                            f"not {one!r} in a {type(chosen).__name__}")
        numbers.append(row_at(batch, index_of(one)))
    return rows_of(batch, numbers)


cdef int refuse_name(EventBatch batch, object name) except -1:
    if name in batch.layout.names:
        raise ValueError(f"the batch has a column '{name}': choose another name with timestamp=...")
    return 0


cdef object needed(str package, str method, str extra):
    """Import a package that a method needs."""
    from importlib import import_module
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"{method}() requires {package}: pip install 'siddhi[{extra}]'") from error


class BatchRow(tuple):
    """A row of a batch: a tuple whose values also have names, as attributes.

    There is no attribute for a name that a tuple has itself (``count``, ``index``) and for one that is not a Python
    identifier; ``_asdict()`` has all names.
    """

    __slots__ = ()
    _fields = ()

    def __getattr__(self, name):
        raise AttributeError(f"a row of {', '.join(self._fields)} has no attribute '{name}'", name=name, obj=self)

    def _asdict(self):
        """Return the values by name."""
        return dict(zip(self._fields, self))

    def __reduce__(self):
        return restore_row, (self._fields, tuple(self))


cdef object new_row = tuple.__new__


@lru_cache(maxsize=256)
def row_class(tuple names not None):
    """Return the subclass of :class:`BatchRow` with these names."""
    members = {"__slots__": (), "_fields": names, "__match_args__": names, "__module__": __name__}
    for position, name in enumerate(names):
        if name.isidentifier() and not name.startswith("_") and not hasattr(tuple, name):
            members[name] = property(itemgetter(position))
    return type("BatchRow", (BatchRow,), members)


def restore_row(tuple names not None, values):
    """Return a row that was pickled or copied."""
    return new_row(row_class(names), values)


# no_gc: the only reference is the layout, which __dealloc__ needs; a collection would clear it first.
@cython.no_gc
@cython.final
cdef class EventBatch:
    """Events as columns, in the order they were emitted. ``len()`` is their number.

    ``batch["price"]`` is a numpy array: int32, int64, float32, float64 and bool columns without nulls are read-only
    views of the batch's memory (which lives as long as any of them); with nulls they are masked arrays (``numpy.ma``)
    over NaN, 0 or False. Strings and objects are arrays of Python objects, None for null.

    ``batch[0]`` is a row, a tuple with names (``batch[0].price``), and ``batch[10:20]`` a batch of ten rows.

    ``to_pandas()``, ``to_polars()``, ``to_arrow()`` and ``to_dicts()`` make frames of it. The batch exports itself through
    the Arrow PyCapsule interface, so other libraries take it too; timestamps are not among the columns.

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

    def __getitem__(self, index):
        """Return a column as a numpy array (see the class), a row as a named tuple, or rows or columns as a batch.

        Args:
            index: name of a column, number of a row, or slice of rows; a list or array of names, of numbers, or of
                a truth value for each row.

        Raises:
            KeyError: no such column.
            IndexError: no such row, or a truth value is missing.
            TypeError: a list has something else.
        """
        cdef Py_ssize_t row
        cdef int position, code, i
        if isinstance(index, slice):
            return rows_of(self, range(*index.indices(self.size)))
        if isinstance(index, list) or hasattr(index, "ndim") and index.ndim:
            return chosen_from(self, index)
        if hasattr(index, "__index__"):
            row = row_at(self, index_of(index))
            return new_row(row_class(self.layout.names), [self.value(i, row) for i in range(self.layout.width)])
        position = self.position_of(index)
        code = self.layout.codes[position]
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

    def head(self, n=5):
        """Return the first *n* rows, or all but the last *-n*, as a batch of their own."""
        return self[:n]

    def tail(self, n=5):
        """Return the last *n* rows, or all but the first *-n*, as a batch of their own."""
        return self[max(0, self.size - n) if n >= 0 else -n:]

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
        """Iterate over the values of the events, as named tuples: see :class:`BatchRow`."""
        cdef Py_ssize_t row
        cdef int i
        kind = row_class(self.layout.names)
        for row in range(self.size):
            yield new_row(kind, [self.value(i, row) for i in range(self.layout.width)])

    def to_pylist(self):
        """Return the values of the events as a list of dicts."""
        return [dict(zip(self.layout.names, row)) for row in self]

    def to_dicts(self):
        """Return the values of the events as a list of dicts, as :meth:`to_pylist` does."""
        return self.to_pylist()

    def to_arrow(self, timestamp=None):
        """Return the columns as a ``pyarrow.Table``.

        Args:
            timestamp: name of an additional first column with the events' times (``timestamp[ms, UTC]``); None: no such
                column.

        Raises:
            ImportError: pyarrow is not installed.
            TypeError: there is a column of objects, which Arrow can't carry.
            ValueError: the batch has a column of the name ``timestamp``.
        """
        pyarrow = needed("pyarrow", "to_arrow", "arrow")
        table = pyarrow.table(self)
        if timestamp is not None:
            refuse_name(self, timestamp)
            times = pyarrow.array(self.timestamps).cast(pyarrow.timestamp("ms", "UTC"))
            table = table.add_column(0, timestamp, times)
        return table

    def to_polars(self, timestamp=None):
        """Return the columns as a ``polars.DataFrame``: null is null, and NaN is NaN.

        Args:
            timestamp: name of an additional first column with the events' times (``Datetime("ms", "UTC")``); None: no such
                column.

        Raises:
            ImportError: polars is not installed.
            TypeError: there is a column of objects, which Arrow can't carry.
            ValueError: the batch has a column of the name ``timestamp``.
        """
        polars = needed("polars", "to_polars", "polars")
        frame = polars.DataFrame(self)
        if timestamp is not None:
            refuse_name(self, timestamp)
            times = polars.Series(timestamp, self.timestamps).cast(polars.Datetime("ms")).dt.replace_time_zone("UTC")
            frame.insert_column(0, times)
        return frame

    def to_pandas(self, timestamp=None):
        """Return the columns as a ``pandas.DataFrame``.

        A column of numbers or bools without nulls has the type of numpy (``int32``, ``float64``, ...); with nulls it has the
        nullable type (``Int32``, ``Float64``, ``boolean``, ...), so that null is ``pandas.NA`` and NaN stays NaN. Strings
        have pandas' type ``string``, and objects ``object`` with None for null.

        Args:
            timestamp: name of an additional first column with the events' times (``datetime64[ms, UTC]``); None: no such
                column.

        Raises:
            ImportError: pandas is not installed.
            ValueError: the batch has a column of the name ``timestamp``.
        """
        cdef int i
        pandas = needed("pandas", "to_pandas", "pandas")
        columns = {}
        if timestamp is not None:
            refuse_name(self, timestamp)
            columns[timestamp] = pandas.Series(self.timestamps.astype("datetime64[ms]")).dt.tz_localize("UTC")
        for i, name in enumerate(self.layout.names):
            code = self.layout.codes[i]
            values = self[name]
            if code == STRING:
                values = pandas.array(values, dtype="string")
            elif code != OBJECT and self.has_nulls(i):
                kind = (pandas.arrays.BooleanArray if code == BOOL
                        else pandas.arrays.IntegerArray if code == INT or code == LONG else pandas.arrays.FloatingArray)
                values = kind(values.data.copy(), values.mask.copy())
            columns[name] = pandas.Series(values)
        return pandas.DataFrame(columns, copy=True)

    def to_type(self, kind):
        """Return the rows as a list of objects of a class: a dataclass, msgspec.Struct, NamedTuple, TypedDict or dict.

        Raises:
            TypeError: the fields of the class are not the columns, or an annotation does not allow their values.
        """
        cdef Py_ssize_t row
        cdef int i
        from siddhi._core.record.row_maker import TypedRowMaker
        maker = TypedRowMaker("a batch", self.layout, kind)
        return maker.rows_of_values([tuple([self.value(i, row) for i in range(self.layout.width)])
                                     for row in range(self.size)])

    def to_numpy(self):
        """Return the columns as a structured array of numpy, one field per column.

        With nulls it is a masked array (``numpy.ma``) over NaN, 0 or False; strings and objects are None for null.
        """
        cdef int i
        import numpy
        kinds = [(name, "O" if not ARRAYS[self.layout.codes[i]] else self[name].dtype)
                 for i, name in enumerate(self.layout.names)]
        columns = [self[name] for name in self.layout.names]
        made = numpy.ma.empty if any([isinstance(column, numpy.ma.MaskedArray) for column in columns]) else numpy.empty
        table = made(self.size, dtype=kinds)
        for name, column in zip(self.layout.names, columns):
            table[name] = column
        return table

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

    def __arrow_c_stream__(self, requested_schema=None):
        """Return the columns as a stream of one Arrow struct array. ``requested_schema`` is ignored.

        Raises:
            TypeError: there is a column of objects.
        """
        cdef ExportC export
        self.describe(&export)
        return export_stream(&export)

    def __copy__(self):
        return self

    def __reduce__(self):
        times = typed_array("q", self.bytes_of(self.ts, sizeof(int64_t)))
        return restore_batch, (self.layout, times, tuple([self.encoded(i) for i in range(self.layout.width)]))

    cdef bytes bytes_of(self, const void* values, Py_ssize_t width):
        return b"" if self.size == 0 else (<const char*> values)[:self.size * width]

    cdef tuple encoded(self, int position):
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
            if code == STRING:
                objects = [None if value is None else exact_text(value) for value in objects]
            for row in range(n):
                if builder.valid[i][row]:
                    Py_INCREF(objects[row])
                    (<PyObject**> builder.data[i])[row] = <PyObject*> objects[row]
        else:
            plain = values.tobytes()
            memcpy(builder.data[i], <const char*> plain, n * WIDTHS[code])
    builder.size = n
    return builder.take()
