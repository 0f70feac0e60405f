# Which Python objects are null.

from cpython.object cimport Py_TYPE, PyTypeObject
from libc.string cimport strcmp

cdef inline bint is_null(object value) noexcept:
    """Return whether a value is None, pandas' NA or numpy's `masked`; the latter two are recognised by their type names."""
    cdef const char* name
    if value is None:
        return True
    name = (<PyTypeObject*> Py_TYPE(value)).tp_name
    return (name[0] == c"N" and strcmp(name, b"NAType") == 0) or (name[0] == c"M" and strcmp(name, b"MaskedConstant") == 0)
