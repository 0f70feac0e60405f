# Maker of typed rows: values in the order of attributes become objects of a class.

from siddhi._core.record.event cimport Layout

cdef class TypedRowMaker:
    cdef readonly object kind
    cdef readonly Layout layout
    cdef int form
    cdef tuple names                   # of the fields, in the order of the class
    cdef int n
    cdef int* positions                # of the attribute, by field
    cdef Py_ssize_t* places            # offset in the object, by field; 0: by name
    cdef bint in_order                 # fields are in the order of the attributes
    cdef tuple keywords                # names of the last arguments of a call, or None
    cdef object make(self, tuple values)
    cdef tuple ordered(self, tuple values)
