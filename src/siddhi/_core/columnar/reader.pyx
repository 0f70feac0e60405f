"""Columns in: tables of any kind become readers that fill records. Everything is checked before the first record."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memset

import difflib

from siddhi._core.columnar.block cimport (
    KIND_BITS, KIND_F32, KIND_F64, KIND_I16, KIND_I32, KIND_I64, KIND_I8, KIND_NULLS, KIND_OBJECTS, KIND_U16, KIND_U32,
    KIND_U64, KIND_U8, ColumnChunk, chunk_of_objects, has_value, integer_at,
)
from siddhi._core.columnar.buffer cimport Memory, allocate
from siddhi._core.columnar.convert cimport convert
from siddhi._core.columnar.source cimport ColumnSource, chunks_of, open_source
from siddhi._core.record.event cimport (
    BORROWED, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC, EventPool, Layout, acquire, event_to_tuple,
    release,
)
from siddhi._core.record.instant cimport INT64_MAX, INT64_MIN, TimestampCheck, check_instant, is_instant, is_usual

from siddhi._core.record.instant import times_as_ms

cdef enum:
    BLOCK = 256

cdef TimestampCheck OUR_TIME = TimestampCheck("", "")      # a new check expects plausible times in ms


@cython.final
cdef class ColumnReader:
    """Fills the cells of one attribute from its column."""

    cdef int fill(self, EventC** events, Py_ssize_t start, Py_ssize_t n, int cell, int word, uint64_t bit) except -1:
        cdef Py_ssize_t count
        while n > 0:
            if not self.chunk_start <= start < self.chunk_end:
                self.seek(start)
            count = min(n, self.chunk_end - start)
            fill_cells(self.code, self.chunk, start - self.chunk_start, count, events, cell, word, bit)
            events += count
            start += count
            n -= count
        return 0

    cdef int seek(self, Py_ssize_t row) except -1:
        """Select the chunk that holds a row; rows are mostly read in order."""
        if not 0 <= row < self.length:
            raise IndexError(f"row {row} of a column of {self.length} rows")
        if row < self.chunk_start:
            self.next_chunk = self.chunk_end = 0
        while row >= self.chunk_end:
            self.chunk = self.chunks[self.next_chunk]
            self.next_chunk += 1
            self.chunk_start = self.chunk_end
            self.chunk_end += self.chunk.length
        return 0


@cython.final
cdef class Columns:
    """The columns of a batch, one reader per attribute. ``len()`` is the number of rows."""

    def __len__(self):
        return self.length

    def timestamp_list(self):
        """Return the timestamps in ms, or None without a timestamp column."""
        cdef Py_ssize_t i
        if self.timestamps is NULL:
            return None
        return [self.timestamps[i] for i in range(self.length)]

    def to_rows(self):
        """Return all rows as tuples, read through records: exactly what a query will see."""
        cdef EventPool pool = EventPool(self.layout)
        cdef EventC** events = <EventC**> PyMem_Malloc(BLOCK * sizeof(EventC*))
        cdef ColumnReader reader
        cdef Py_ssize_t start, i, n
        cdef int k
        cdef list rows = []
        if events is NULL:
            raise MemoryError
        try:
            for start in range(0, self.length, BLOCK):
                n = min(BLOCK, self.length - start)
                for i in range(n):
                    events[i] = acquire(pool)
                    events[i].flags = BORROWED
                    memset(&events[i].body[0], 0, 8 * self.layout.words)
                for k in range(self.layout.width):
                    reader = self.readers[k]
                    reader.fill(events, start, n, self.layout.words + k, k >> 6, (<uint64_t> 1) << (k & 63))
                for i in range(n):
                    rows.append(event_to_tuple(events[i], self.layout))
                    release(pool, events[i])
        finally:
            PyMem_Free(events)
        return rows


cpdef Columns read_columns(object data, Layout layout, object timestamp):
    """Return readers for the attributes of ``layout``, found in ``data`` by name; other columns are ignored.

    Args:
        data: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, duckdb, ...), a pandas
            DataFrame, a numpy structured array, a mapping of names to arrays or lists, or a list of rows.
        layout: names and types of the attributes.
        timestamp: None; the name of the column with the events' time; or that column itself. Integers are milliseconds
            since the epoch, dates and times of any unit and zone are converted.

    Raises:
        TypeError: ``data``, or a column of it, is of no known kind.
        ValueError: a column is missing, has a wrong type or length, or holds a value that does not fit its attribute.
    """
    if type(data) is list or type(data) is tuple:
        from siddhi._core.columnar.row_columns import columns_of_rows
        data = columns_of_rows(data, layout.names, timestamp if isinstance(timestamp, str) else None)
    cdef ColumnSource source = open_source(data)
    cdef Columns columns = Columns.__new__(Columns)
    cdef Py_ssize_t length = source.length
    cdef list readers = []
    cdef ColumnReader reader
    cdef str first = ""
    cdef int i
    for i in range(layout.width):
        name = layout.names[i]
        if name not in source.names:
            raise ValueError(missing(source, name, f"attribute '{name}'"))
        reader = open_reader(source.chunks(name), layout, i, name)
        if length < 0:
            length = reader.length
            first = name
        elif reader.length != length:
            other = f"column '{first}' has" if first else "not"
            raise ValueError(f"column '{name}' has {reader.length} rows, {other} {length}")
        readers.append(reader)
    columns.layout = layout
    columns.readers = tuple(readers)
    if timestamp is not None:
        length = read_timestamps(columns, source, timestamp, length)
    columns.length = max(0, length)
    return columns


cdef str missing(ColumnSource source, str name, str purpose):
    cdef str there = ", ".join([str(known) for known in source.names])
    cdef list close = difflib.get_close_matches(name, [known for known in source.names if isinstance(known, str)], 1)
    return f"no column '{name}' for {purpose}; the data has: {there or 'none'}" + (
        f". Did you mean '{close[0]}'?" if close else "")


cdef ColumnReader open_reader(list chunks, Layout layout, int position, str name):
    cdef ColumnReader reader = ColumnReader.__new__(ColumnReader)
    cdef ColumnChunk chunk
    reader.code = layout.codes[position]
    reader.chunks = []
    for chunk in chunks:
        reader.chunks.append(convert(chunk, layout, position, name, reader.length))
        reader.length += chunk.length
    return reader


cdef Py_ssize_t read_timestamps(Columns columns, ColumnSource source, object timestamp, Py_ssize_t length) except -1:
    """Set ``columns.timestamps``; return the number of rows."""
    cdef ColumnReader reader
    cdef ColumnChunk chunk
    cdef str name = timestamp if isinstance(timestamp, str) else "timestamp"
    cdef Memory memory
    cdef int64_t* out
    cdef Py_ssize_t i
    if isinstance(timestamp, str):
        if name not in source.names:
            raise ValueError(missing(source, name, "the timestamps"))
        chunks = source.chunks(name)
    else:
        chunks = chunks_of(timestamp, name)
    chunks = [with_ms(chunk) for chunk in chunks]
    reader = open_reader(chunks, Layout((name,), (LONG,)), 0, name)
    if 0 <= length != reader.length:
        raise ValueError(f"there are {reader.length} timestamps for {length} rows")
    length = 0
    for chunk in reader.chunks:
        for i in range(chunk.length if chunk.kind == KIND_NULLS or chunk.valid is not NULL else 0):
            if chunk.kind == KIND_NULLS or not has_value(chunk.valid, chunk.valid_bit + i):
                raise ValueError(f"row {length + i}: column '{name}' is null, an event needs a timestamp")
        length += chunk.length
    if len(reader.chunks) == 1 and (<ColumnChunk> reader.chunks[0]).kind == KIND_I64:
        columns.timestamps = <const int64_t*> (<ColumnChunk> reader.chunks[0]).values
        columns.owner = reader
        return check_timestamps(columns, name, length)
    memory = allocate(length * sizeof(int64_t))
    out = <int64_t*> memory.data
    for chunk in reader.chunks:
        for i in range(chunk.length):
            out[i] = integer_at(chunk, i)
        out += chunk.length
    columns.timestamps = <const int64_t*> memory.data
    columns.owner = memory
    return check_timestamps(columns, name, length)


cdef ColumnChunk with_ms(ColumnChunk chunk):
    """Return a chunk of times whose Python objects are ms."""
    if chunk.kind != KIND_OBJECTS:
        return chunk
    values = chunk.owner[1]
    converted = times_as_ms(values, "timestamp")
    return chunk if converted is values else chunk_of_objects(converted, chunk.type_name)


cdef Py_ssize_t check_timestamps(Columns columns, str name, Py_ssize_t length) except -1:
    """Refuse invalid times; return the number of rows."""
    cdef const int64_t* times = columns.timestamps
    cdef int64_t earliest = INT64_MAX, latest = INT64_MIN
    cdef uint64_t differ = 0
    cdef Py_ssize_t i
    # Usually all times are plausible, and so are the bounds given by their common leading bits: a loop that vectorizes.
    for i in range(length):
        differ |= <uint64_t> (times[i] ^ times[0])
    for i in range(6):
        differ |= differ >> (1 << i)
    if length and is_usual(OUR_TIME, times[0] & ~<int64_t> differ) and is_usual(OUR_TIME, times[0] | <int64_t> differ):
        columns.earliest, columns.latest = times[0] & ~<int64_t> differ, times[0] | <int64_t> differ
        return length
    for i in range(length):
        earliest = times[i] if times[i] < earliest else earliest
        latest = times[i] if times[i] > latest else latest
    columns.earliest, columns.latest = earliest, latest
    if length and not (is_instant(earliest) and is_instant(latest)):
        for i in range(length):
            check_instant(times[i], f"row {i}: timestamp in column '{name}':")
    return length


# --- Columns into records: values first, then null bits, so that a column without nulls never tests for one.

ctypedef fused source_t:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double

ctypedef fused target_t:
    int32_t
    int64_t
    float
    double


cdef void spread(const source_t* values, Py_ssize_t n, EventC** events, int cell, target_t* kind) noexcept:
    """Copy values into cells; ``kind`` only selects the type."""
    cdef Py_ssize_t i
    for i in range(n):
        if target_t is float and (source_t is int64_t or source_t is uint64_t):
            # By way of double, as for a single row.
            (<target_t*> &events[i].body[cell])[0] = <target_t> <double> values[i]
        else:
            (<target_t*> &events[i].body[cell])[0] = <target_t> values[i]


cdef int spread_numbers(int source, const void* values, Py_ssize_t start, Py_ssize_t n, EventC** events, int cell,
                        target_t* kind) except -1:
    if source == KIND_F64:
        spread(<const double*> values + start, n, events, cell, kind)
    elif source == KIND_I64:
        spread(<const int64_t*> values + start, n, events, cell, kind)
    elif source == KIND_I32:
        spread(<const int32_t*> values + start, n, events, cell, kind)
    elif source == KIND_F32:
        spread(<const float*> values + start, n, events, cell, kind)
    elif source == KIND_I16:
        spread(<const int16_t*> values + start, n, events, cell, kind)
    elif source == KIND_I8:
        spread(<const int8_t*> values + start, n, events, cell, kind)
    elif source == KIND_U8:
        spread(<const uint8_t*> values + start, n, events, cell, kind)
    elif source == KIND_U16:
        spread(<const uint16_t*> values + start, n, events, cell, kind)
    elif source == KIND_U32:
        spread(<const uint32_t*> values + start, n, events, cell, kind)
    elif source == KIND_U64:
        spread(<const uint64_t*> values + start, n, events, cell, kind)
    else:
        raise SystemError(f"no loop from column kind {source} to numbers")
    return 0


cdef void spread_bits(const uint8_t* bits, Py_ssize_t bit, Py_ssize_t n, EventC** events, int cell) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        (<CellC*> &events[i].body[cell]).i = has_value(bits, bit + i)


cdef void spread_bytes(const uint8_t* flags, Py_ssize_t n, EventC** events, int cell) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        (<CellC*> &events[i].body[cell]).i = flags[i] != 0


cdef void spread_objects(const uint64_t* objects, Py_ssize_t n, EventC** events, int cell) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        events[i].body[cell] = objects[i]


cdef void mark_holes(const uint64_t* objects, Py_ssize_t n, EventC** events, int word, uint64_t bit) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        if objects[i] == 0:
            events[i].body[word] |= bit


cdef void mark_nulls(const uint8_t* valid, Py_ssize_t valid_bit, Py_ssize_t n, EventC** events, int word,
                     uint64_t bit) noexcept:
    cdef Py_ssize_t i = 0
    while i < n:
        if ((valid_bit + i) & 7) == 0 and i + 8 <= n and valid[(valid_bit + i) >> 3] == 0xff:
            i += 8
            continue
        if not has_value(valid, valid_bit + i):
            events[i].body[word] |= bit
        i += 1


cdef int fill_cells(int code, ColumnChunk chunk, Py_ssize_t start, Py_ssize_t n, EventC** events, int cell, int word,
                    uint64_t bit) except -1:
    """Fill cells of ``events[0:n]`` from rows ``start`` on of a converted chunk."""
    cdef Py_ssize_t i
    if chunk.kind == KIND_NULLS:
        for i in range(n):
            events[i].body[cell] = 0
            events[i].body[word] |= bit
        return 0
    if code == STRING or code == OBJECT:
        spread_objects(<const uint64_t*> chunk.values + start, n, events, cell)
        if chunk.holes:
            mark_holes(<const uint64_t*> chunk.values + start, n, events, word, bit)
        return 0
    if code == DOUBLE:
        spread_numbers(chunk.kind, chunk.values, start, n, events, cell, <double*> NULL)
    elif code == LONG:
        spread_numbers(chunk.kind, chunk.values, start, n, events, cell, <int64_t*> NULL)
    elif code == INT:
        spread_numbers(chunk.kind, chunk.values, start, n, events, cell, <int32_t*> NULL)
    elif code == FLOAT:
        spread_numbers(chunk.kind, chunk.values, start, n, events, cell, <float*> NULL)
    elif chunk.kind == KIND_BITS:
        spread_bits(<const uint8_t*> chunk.values, chunk.bit + start, n, events, cell)
    else:
        spread_bytes(<const uint8_t*> chunk.values + start, n, events, cell)
    if chunk.valid is not NULL:
        mark_nulls(chunk.valid, chunk.valid_bit + start, n, events, word, bit)
    return 0
