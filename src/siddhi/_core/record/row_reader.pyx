"""Reader of typed rows: the places of the values in instances of a class are found once."""

cimport cython
from cpython.dict cimport PyDict_GetItem, PyDict_Size
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM

cdef extern from "Python.h":
    object PyObject_GetAttr(object value, object name)

# Classes with __slots__, which msgspec's structs are, keep an attribute at a fixed place. Offset of the member that a
# descriptor describes; 0: the descriptor is of another kind.
cdef extern from *:
    """
    #include <structmember.h>
    static Py_ssize_t siddhi_member_offset(PyObject *descriptor)
    {
        PyMemberDef *member;
        if (Py_TYPE(descriptor) != &PyMemberDescr_Type)
            return 0;
        member = ((PyMemberDescrObject *)descriptor)->d_member;
        return member->type == T_OBJECT_EX && member->offset > 0 ? member->offset : 0;
    }
    """
    Py_ssize_t siddhi_member_offset(object descriptor)

cdef enum ReaderForm:
    DICT
    TUPLE
    OBJECT


cpdef tuple fields_of(kind):
    fields = getattr(kind, "__dataclass_fields__", None)
    if type(fields) is dict:
        import dataclasses
        return tuple([field.name for field in dataclasses.fields(kind)])
    fields = getattr(kind, "__struct_fields__", None)         # msgspec
    if type(fields) is tuple:
        return fields
    fields = getattr(kind, "_fields", None)
    if type(fields) is tuple and issubclass(kind, tuple) and kind.__iter__ is tuple.__iter__:
        return fields
    return None


cdef Py_ssize_t offset_of(kind, str name) except -1:
    if kind.__getattribute__ is not object.__getattribute__:
        return 0
    for base in kind.__mro__:
        if name in base.__dict__:
            return siddhi_member_offset(base.__dict__[name])
    return 0


@cython.final
cdef class RowReader:
    """Reads instances of one class."""

    def __init__(self):
        raise TypeError("use new_reader()")

    def __dealloc__(self):
        PyMem_Free(self.places)

    cdef tuple read(self, row):
        cdef Py_ssize_t i
        cdef PyObject* value
        cdef object found
        cdef tuple values = PyTuple_New(self.n)
        if self.form == OBJECT:
            for i in range(self.n):
                if self.places[i]:
                    value = (<PyObject**> (<char*> <void*> row + self.places[i]))[0]
                    if value is NULL:
                        return None
                    found = <object> value
                else:
                    try:
                        found = PyObject_GetAttr(row, <object> PyTuple_GET_ITEM(self.names, i))
                    except AttributeError:
                        return None
                Py_INCREF(found)
                PyTuple_SET_ITEM(values, i, found)
            return values
        if self.form == DICT:
            if self.exact and PyDict_Size(row) != self.n:
                return None
            for i in range(self.n):
                value = PyDict_GetItem(row, <object> PyTuple_GET_ITEM(self.names, i))
                if value is NULL:
                    return None
                Py_INCREF(<object> value)
                PyTuple_SET_ITEM(values, i, <object> value)
            return values
        for i in range(self.n):
            if self.places[i] >= PyTuple_GET_SIZE(row):
                return None
            value = <PyObject*> PyTuple_GET_ITEM(row, self.places[i])
            Py_INCREF(<object> value)
            PyTuple_SET_ITEM(values, i, <object> value)
        return values


cdef RowReader new_reader(kind, tuple names, bint exact):
    cdef RowReader reader = RowReader.__new__(RowReader)
    cdef Py_ssize_t i
    reader.kind = kind
    reader.names = names
    reader.n = len(names)
    reader.exact = exact
    if kind is dict:
        reader.form = DICT
        return reader
    fields = fields_of(kind)
    if fields is None or not set(names).issubset(fields) or exact and len(fields) != len(names):
        return None
    reader.places = <Py_ssize_t*> PyMem_Calloc(max(1, reader.n), sizeof(Py_ssize_t))
    if reader.places is NULL:
        raise MemoryError
    reader.form = TUPLE if issubclass(kind, tuple) else OBJECT
    for i in range(reader.n):
        reader.places[i] = fields.index(names[i]) if reader.form == TUPLE else offset_of(kind, names[i])
    return reader
