# Columns out through the Arrow C data interface.

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t

cdef struct ExportC:             # data to export; borrowed for the call
    PyObject* layout
    PyObject* owner              # owner of `data`: exported arrays keep a reference
    Py_ssize_t size
    void** data                  # as in EventBatch
    uint8_t** valid

cdef object export_schema(const ExportC* source)     # PyCapsule "arrow_schema"
cdef object export_array(const ExportC* source)      # PyCapsule "arrow_array"
cdef object export_stream(const ExportC* source)    # PyCapsule "arrow_array_stream", of one array
