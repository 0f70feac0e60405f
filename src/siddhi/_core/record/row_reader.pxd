# Reader of typed rows: dataclasses, msgspec structs, named tuples and dicts as tuples in the order of attributes.

cdef class RowReader:
    cdef readonly object kind
    cdef tuple names
    cdef Py_ssize_t n
    cdef int form
    cdef bint exact
    cdef Py_ssize_t* places            # by name: offset in the object, or 0; of tuples: position
    cdef tuple read(self, row)         # None: the row has other names, or lacks a value

# Names of the fields of a class whose instances have named values in their fields; None: its rows have no names.
cpdef tuple fields_of(kind)

# Offset of an attribute in the instances of a class; 0: it is not kept at a fixed place.
cdef Py_ssize_t offset_of(kind, str name) except -1

# `exact`: a row with further names is not read. None: instances of the class are not read so.
cdef RowReader new_reader(kind, tuple names, bint exact)
