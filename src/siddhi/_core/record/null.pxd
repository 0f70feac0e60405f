# Which Python objects are null.

from cpython.object cimport Py_TYPE, PyTypeObject
from libc.string cimport strcmp

cdef inline bint is_null(object value) noexcept:
    """Return whether a value is None, NA or NaT of pandas, or `masked` of numpy; they are known by their type names."""
    cdef const char* name
    if value is None:
        return True
    name = (<PyTypeObject*> Py_TYPE(value)).tp_name
    if name[0] == c"N":
        return strcmp(name, b"NAType") == 0 or strcmp(name, b"NaTType") == 0
    return name[0] == c"M" and strcmp(name, b"MaskedConstant") == 0
