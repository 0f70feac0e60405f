"""Recognise the kind of a table. Optional libraries are recognised, never imported."""

cimport cython
from libc.stdint cimport uint8_t

import sys
from collections.abc import Iterable, Mapping, Sized

from siddhi._core.columnar.arrow_import cimport ArrowTable, import_arrow
from siddhi._core.columnar.batch cimport EventBatch
from siddhi._core.columnar.block cimport (
    KIND_BYTES, KIND_F32, KIND_F64, KIND_I16, KIND_I32, KIND_I64, KIND_I8, KIND_OBJECTS, KIND_U16, KIND_U32, KIND_U64,
    KIND_U8, MICROSECONDS, MILLISECONDS, NANOSECONDS, SECONDS, ColumnChunk, chunk_of_objects, new_chunk,
)
from siddhi._core.record.event cimport DOUBLE, FLOAT, Layout

cdef dict NUMPY_KINDS = {
    "b1": KIND_BYTES, "i1": KIND_I8, "i2": KIND_I16, "i4": KIND_I32, "i8": KIND_I64, "u1": KIND_U8, "u2": KIND_U16,
    "u4": KIND_U32, "u8": KIND_U64, "f4": KIND_F32, "f8": KIND_F64,
}
cdef tuple NO_COLUMNS = (str, bytes, bytearray, Mapping)      # refused although they have a length and can be iterated
cdef enum:
    TABLE_ROWS = 65536      # of what is read bit by bit

cdef dict NUMPY_UNITS = {"s": SECONDS, "ms": MILLISECONDS, "us": MICROSECONDS, "ns": NANOSECONDS}


cdef class ColumnSource:
    """Columns by name."""

    cdef list chunks(self, str name):
        raise TypeError("a source of no kind")


@cython.final
cdef class ArrowSource(ColumnSource):
    cdef ArrowTable table

    cdef list chunks(self, str name):
        if self.names.count(name) > 1:
            raise ValueError(f"the data has {self.names.count(name)} columns named '{name}'")
        return self.table.chunks(self.names.index(name), name)


@cython.final
cdef class KeyedSource(ColumnSource):
    """A table that returns a column for ``columns[name]``."""

    cdef list chunks(self, str name):
        if self.names.count(name) > 1:
            raise ValueError(f"the data has {self.names.count(name)} columns named '{name}'")
        return chunks_of(self.columns[name], name)


cdef ColumnSource open_source(object data):
    """Return the columns of a table; of a source, itself, so that what can be read once is opened once.

    Raises:
        TypeError: not a table of a known kind.
        ValueError: an Arrow producer failed.
    """
    cdef ArrowSource arrow
    cdef KeyedSource keyed
    if isinstance(data, ColumnSource):
        return data
    keyed = KeyedSource.__new__(KeyedSource)
    numpy = sys.modules.get("numpy")
    pandas = sys.modules.get("pandas")
    keyed.columns = data
    keyed.length = -1
    if isinstance(data, EventBatch):
        keyed.names = list((<EventBatch> data).names)
        keyed.length = len(data)
        return keyed
    if is_a(data, pandas, "DataFrame"):
        # Not by its Arrow export, which converts unused columns and requires pyarrow.
        keyed.names = list(data.columns)
        keyed.length = len(data)
        return keyed
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        arrow = ArrowSource.__new__(ArrowSource)
        arrow.table = import_arrow(data)
        if not arrow.table.is_struct:
            raise TypeError(f"a table is needed, this {type(data).__name__} is one column without a name: give it as "
                            "{name: column}")
        arrow.names = arrow.table.names
        arrow.length = arrow.table.length
        return arrow
    if isinstance(data, Mapping):
        keyed.names = list(data)
        return keyed
    if is_a(data, numpy, "ndarray") and data.dtype.names is not None:
        if data.ndim != 1:
            raise ValueError(f"a structured array of one dimension is needed, not of {data.ndim}")
        keyed.names = list(data.dtype.names)
        keyed.length = len(data)
        return keyed
    if callable(getattr(data, "collect", None)):
        raise TypeError(f"a table is needed, not {type(data).__name__}, which has not been computed: send its .collect()")
    raise TypeError(f"a table is needed, not {type(data).__name__}: a data frame, anything that exports Arrow, a numpy "
                    "structured array, a mapping of names to arrays, or a list of rows")


def tables_of(data, names=None):
    """Return an iterator over the tables of what is read bit by bit; None: *data* is read at once.

    That is a polars LazyFrame, a duckdb relation, and a RecordBatchReader, dataset or scanner of pyarrow. One table of some
    10,000 rows is in memory at a time, as far as the library can compute the data so.

    Args:
        data: any object.
        names: columns that are needed, where it is cheaper not to compute the others; those that do not exist are ignored.
    """
    polars = sys.modules.get("polars")
    pyarrow = sys.modules.get("pyarrow")
    if is_a(data, polars, "LazyFrame"):
        return lazy_tables(data, names)
    if is_a(data, pyarrow, "RecordBatchReader"):
        return iter(data)
    dataset = sys.modules.get("pyarrow.dataset")
    if is_a(data, dataset, "Dataset"):
        there = data.schema.names
        return iter(data.to_batches(columns=None if names is None else [name for name in there if name in names]))
    if is_a(data, dataset, "Scanner"):
        return iter(data.to_batches())
    if is_a(data, sys.modules.get("duckdb"), "DuckDBPyRelation"):
        return relation_tables(data)
    return None


def lazy_tables(frame, names):
    """Yield the tables of a polars LazyFrame."""
    if names is not None:
        frame = frame.select([name for name in frame.collect_schema().names() if name in names])
    if hasattr(frame, "collect_batches"):
        yield from frame.collect_batches(chunk_size=TABLE_ROWS, maintain_order=True, lazy=True)
    else:       # polars before 1.34
        yield from frame.collect().iter_slices(TABLE_ROWS)


def relation_tables(relation):
    """Yield the tables of a duckdb relation.

    Raises:
        TypeError: pyarrow, which duckdb needs, is not installed.
    """
    try:
        reader = (relation.to_arrow_reader(TABLE_ROWS) if hasattr(relation, "to_arrow_reader")
                  else relation.fetch_arrow_reader(TABLE_ROWS))
    except ImportError as error:
        raise TypeError("a duckdb relation is read with pyarrow: pip install 'siddhi[arrow]'") from error
    yield from reader


cdef bint is_a(object value, object module, str name) except -1:
    """Return whether a value is of a class of an optional module. The module may be partly imported by another thread,
    so the class may be missing."""
    return isinstance(value, getattr(module, name, ()))


cdef list chunks_of(object values, str name):
    """Return the chunks of one column.

    Raises:
        TypeError: not a column.
        ValueError: its type fits no attribute.
    """
    cdef ArrowTable table
    numpy = sys.modules.get("numpy")
    pandas = sys.modules.get("pandas")
    if is_a(values, numpy, "ndarray"):
        return [chunk_of_array(values, name)]
    if is_a(values, pandas, "Series") or is_a(values, pandas, "Index"):
        return chunks_of_series(values, name, numpy, pandas)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        table = import_arrow(values)
        if table.is_struct:
            raise ValueError(f"column '{name}' is a table or struct: take its fields out into columns")
        return table.chunks(-1, name)
    if isinstance(values, NO_COLUMNS) or not (isinstance(values, Iterable) and isinstance(values, Sized)):
        raise TypeError(f"column '{name}' is a {type(values).__name__}, not an array or a list")
    if isinstance(values, (list, tuple)):
        return [chunk_of_objects(tuple(values), type(values).__name__)]
    try:
        view = memoryview(values)
    except TypeError:
        return [chunk_of_objects(tuple(values), type(values).__name__)]
    import numpy
    return [chunk_of_array(numpy.asarray(view), name)]


cdef list chunks_of_series(object series, str name, object numpy, object pandas):
    """Return the chunks of a data frame's column. NaN is a number; where no number is expected, it is null."""
    cdef object values
    cdef ColumnChunk chunk
    if is_a(series.dtype, pandas, "SparseDtype"):
        series = pandas.Series(numpy.asarray(series.array))
    dtype = series.dtype
    if not isinstance(dtype, numpy.dtype):
        if getattr(dtype, "tz", None) is not None and not hasattr(dtype, "pyarrow_dtype"):
            return [chunk_of_array(pandas.DatetimeIndex(series).tz_convert(None).to_numpy(), name)]
        array = series.array
        if hasattr(array, "__arrow_array__"):
            try:
                return chunks_of(array.__arrow_array__(), name)
            except ImportError:
                pass    # the type has no Arrow form on this machine
        return [chunk_of_array(series.to_numpy(dtype=object, na_value=None), name)]
    values = series.to_numpy()
    if dtype.kind != "O":
        return [chunk_of_array(values, name)]
    missing = pandas.isna(values)
    if missing.any():
        values = values.copy()
        values[missing & numpy.array([not isinstance(value, float) for value in values])] = None
    chunk = chunk_of_array(values, name)
    chunk.nan_is_null = True
    return [chunk]


cdef str column_with_nan(object data, Layout layout):
    """Return the first pandas column with NaN for a float or double attribute; None: there is none."""
    cdef int i
    pandas = sys.modules.get("pandas")
    if pandas is None or not (is_a(data, pandas, "DataFrame") or isinstance(data, Mapping)):
        return None
    for i in range(layout.width):
        if layout.codes[i] == FLOAT or layout.codes[i] == DOUBLE:
            values = data[layout.names[i]]
            if is_a(values, pandas, "Series") and getattr(values.dtype, "kind", "") == "f" and (
                    (type(values.dtype).__module__.startswith("numpy") or is_a(values.dtype, pandas, "SparseDtype"))
                    and values.hasnans):
                return layout.names[i]
    return None


cdef ColumnChunk chunk_of_array(object array, str name):
    """Return a chunk of a numpy array, without a copy if possible."""
    cdef ColumnChunk chunk
    import numpy
    if array.ndim != 1:
        raise ValueError(f"column '{name}' has {array.ndim} dimensions, not one")
    if isinstance(array, numpy.ma.MaskedArray):
        chunk = chunk_of_array(array.data, name)
        return with_mask(chunk, numpy.ma.getmaskarray(array), numpy) if array.mask is not numpy.ma.nomask else chunk
    dtype = array.dtype
    type_name = str(dtype)
    if dtype.kind == "M":
        return chunk_of_datetimes(array, name, numpy)
    if dtype.kind in "OUST":
        return chunk_of_objects(tuple(array.tolist()), type_name)
    if dtype.str[1:] == "f2":
        array = array.astype(numpy.float32)
    kind = NUMPY_KINDS.get(array.dtype.str[1:])
    if kind is None:
        raise ValueError(f"column '{name}' is an array of {type_name}, which no attribute can take")
    array = numpy.require(array, dtype=array.dtype.newbyteorder("="), requirements="CA")
    return new_chunk(kind, type_name, array.shape[0], address(array), array)


cdef const void* address(object array) except? NULL:
    return <const void*> <size_t> array.__array_interface__["data"][0]


cdef ColumnChunk chunk_of_datetimes(object array, str name, object numpy):
    """Return a chunk of times; NaT is null."""
    cdef ColumnChunk chunk
    type_name = str(array.dtype)
    unit, count = numpy.datetime_data(array.dtype)
    if unit == "generic":
        raise ValueError(f"column '{name}' is an array of datetime64 without a unit")
    missing = numpy.isnat(array)
    if count != 1 or unit not in NUMPY_UNITS:
        finest = unit if unit in NUMPY_UNITS else "ns" if unit in ("ps", "fs", "as") else "s"
        coarse, array = array, array.astype(f"datetime64[{finest}]")
        unit = finest
        if unit == "s" and not ((array.astype(coarse.dtype) == coarse) | missing).all():
            raise ValueError(f"column '{name}' ({type_name}) holds dates out of the range of milliseconds")
    array = numpy.ascontiguousarray(array.view(numpy.int64).astype(numpy.int64, copy=False))
    chunk = new_chunk(KIND_I64, type_name, array.shape[0], address(array), array)
    chunk.unit = NUMPY_UNITS[unit]
    return with_mask(chunk, missing, numpy) if missing.any() else chunk


cdef ColumnChunk with_mask(ColumnChunk chunk, object mask, object numpy):
    """Return the chunk with nulls where the mask is true."""
    bits = numpy.packbits(~mask, bitorder="little")
    if chunk.kind == KIND_OBJECTS:
        values = [None if null else value for null, value in zip(mask, chunk.owner[1])]
        return chunk_of_objects(tuple(values), chunk.type_name)
    chunk.valid = <const uint8_t*> address(bits)
    chunk.valid_bit = 0
    chunk.owner = (chunk.owner, bits)
    return chunk
