# Which Python objects are null.

from cpython.object cimport Py_TYPE, PyTypeObject
from libc.string cimport strcmp

cdef inline bint is_null(object value) noexcept:
    """Whether a value is None, or pandas' word for it: NA, known by the name of its type, since pandas may not be there."""
    return value is None or strcmp((<PyTypeObject*> Py_TYPE(value)).tp_name, b"NAType") == 0
