"""Maker of typed rows: events become dataclasses, msgspec structs, named tuples or dicts, without Python code per attribute.

A class is matched with the attributes once: its fields must be the attributes, and its annotations must allow their values.
"""

cimport cython
from cpython.dict cimport PyDict_SetItem
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_New, PyTuple_SET_ITEM

import inspect
import types
import typing

from siddhi._core.record.event cimport Layout
from siddhi._core.record.row_reader cimport fields_of, offset_of
from siddhi._core.record.user_event cimport Event

cdef extern from "Python.h":
    int PyObject_GenericSetAttr(object value, object name, object attribute) except -1
    object PyType_GenericAlloc(PyTypeObject* kind, Py_ssize_t n)
    object PyObject_Vectorcall(object function, PyObject** arguments, size_t n, PyObject* keywords)

cdef extern from *:
    """
    #define siddhi_tuple_items(values) (((PyTupleObject *)(values))->ob_item)
    /* As object.__new__(kind) does. */
    #define siddhi_new_object(kind, no_arguments) PyBaseObject_Type.tp_new(kind, no_arguments, NULL)
    """
    object siddhi_new_object(PyTypeObject* kind, object no_arguments)
    PyObject** siddhi_tuple_items(object values) noexcept

cdef enum TypedForm:
    OBJECT          # a dataclass that only keeps its fields: a new object is filled
    TUPLE
    DICT
    CALL            # the class is called

cdef tuple PYTHON_TYPES = (str, int, int, float, float, bool, None)       # by TypeCode; None: anything
cdef tuple NO_ARGUMENTS = ()
cdef tuple WRAPPERS = tuple([getattr(typing, name) for name in ("Annotated", "Final", "Required", "NotRequired", "ReadOnly")
                             if hasattr(typing, name)])


@cython.final
cdef class TypedRowMaker:
    """Makes objects of one class from events of one layout.

    Args:
        what: the source of the events, for errors, such as ``stream 'S'``.
        layout: its attributes.
        kind: a dataclass, a ``msgspec.Struct``, a named tuple, a ``TypedDict`` or dict.

    Raises:
        TypeError: the class is of another kind, has other fields than attributes, or an annotation does not allow the values
            of its attribute.
    """

    def __init__(self, str what not None, Layout layout not None, kind):
        cdef int i
        self.kind = kind
        self.layout = layout
        if not isinstance(kind, type):
            raise TypeError(f"{what} gives objects of a class: a dataclass, msgspec.Struct, NamedTuple, TypedDict or dict, "
                            f"not {kind!r}")
        self.form, self.names = form_of(what, kind, layout.names)
        refuse_misfit(what, layout, kind, self.names)
        self.n = len(self.names)
        self.positions = <int*> PyMem_Calloc(max(1, self.n), sizeof(int))
        self.places = <Py_ssize_t*> PyMem_Calloc(max(1, self.n), sizeof(Py_ssize_t))
        if self.positions is NULL or self.places is NULL:
            raise MemoryError
        for i in range(self.n):
            self.positions[i] = layout.names.index(self.names[i])
            if self.form == OBJECT:
                self.places[i] = offset_of(kind, self.names[i])
        self.in_order = self.names == layout.names
        if self.form == CALL:
            keywords = tuple([name for name, parameter in inspect.signature(kind).parameters.items()
                              if parameter.kind is parameter.KEYWORD_ONLY])
            self.keywords = keywords or None
        elif self.form == DICT:
            self.kind = dict

    def __dealloc__(self):
        PyMem_Free(self.positions)
        PyMem_Free(self.places)

    cdef object make(self, tuple values):
        """Return the object of the values of all attributes."""
        cdef int i
        cdef object made, value
        cdef PyObject** place
        cdef PyObject* before
        if self.form == OBJECT:
            made = siddhi_new_object(<PyTypeObject*> self.kind, NO_ARGUMENTS)
            for i in range(self.n):
                value = <object> PyTuple_GET_ITEM(values, self.positions[i])
                if self.places[i]:
                    place = <PyObject**> (<char*> <void*> made + self.places[i])
                    before = place[0]
                    Py_INCREF(value)
                    place[0] = <PyObject*> value
                    Py_XDECREF(before)
                else:
                    PyObject_GenericSetAttr(made, <object> PyTuple_GET_ITEM(self.names, i), value)
            return made
        if self.form == DICT:
            made = {}
            for i in range(self.n):
                PyDict_SetItem(made, <object> PyTuple_GET_ITEM(self.names, i), <object> PyTuple_GET_ITEM(values, i))
            return made
        if self.form == TUPLE:
            made = PyType_GenericAlloc(<PyTypeObject*> self.kind, self.n)
            for i in range(self.n):
                value = <object> PyTuple_GET_ITEM(values, self.positions[i])
                Py_INCREF(value)
                PyTuple_SET_ITEM(made, i, value)
            return made
        if not self.in_order:
            values = self.ordered(values)
        return PyObject_Vectorcall(self.kind, siddhi_tuple_items(values),
                                   self.n - (0 if self.keywords is None else len(self.keywords)),
                                   NULL if self.keywords is None else <PyObject*> self.keywords)

    cdef tuple ordered(self, tuple values):
        """Return values in the order of the fields."""
        cdef int i
        cdef object value
        cdef tuple changed = PyTuple_New(self.n)
        for i in range(self.n):
            value = <object> PyTuple_GET_ITEM(values, self.positions[i])
            Py_INCREF(value)
            PyTuple_SET_ITEM(changed, i, value)
        return changed

    def rows_of(self, events):
        """Return the objects of events."""
        cdef Event event
        return [self.make(event.load()) for event in events]

    def rows_of_values(self, rows):
        """Return the objects of tuples of values, in the order of the attributes."""
        return [self.make(tuple(row)) for row in rows]


# --- Classes.

cdef tuple form_of(str what, kind, tuple names):
    """Return the form of a class, and the names of what it takes, in its own order."""
    if kind is dict or typing.is_typeddict(kind):
        return DICT, names if kind is dict else tuple([name for name in names if name in kind.__annotations__]
                                                      + [name for name in kind.__annotations__ if name not in names])
    fields = fields_of(kind)
    if fields is None:
        raise TypeError(f"{what} gives objects of a dataclass, msgspec.Struct, NamedTuple, TypedDict or dict; "
                        f"{kind.__qualname__} is none of these")
    if inspect.isabstract(kind):
        raise TypeError(f"{what} can't give {kind.__qualname__}, which is abstract")
    module = getattr(kind.__new__, "__globals__", {}).get("__name__", "")
    if issubclass(kind, tuple) and module.startswith("namedtuple_") and (
            kind.__init__ is object.__init__ and type(kind).__call__ is type.__call__):
        return TUPLE, fields
    if is_plain(kind):
        return OBJECT, fields
    try:
        parameters = inspect.signature(kind).parameters.values()
    except ValueError as error:
        raise TypeError(f"{what} can't give {kind.__qualname__}: its constructor has no signature: {error}") from None
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{what} can't give {kind.__qualname__}: its constructor takes '{parameter.name}', so that its "
                            "arguments can't be matched with attributes by name")
    return CALL, tuple([parameter.name for parameter in parameters])


cdef bint is_plain(kind) except -1:
    """Return whether a class is a dataclass whose constructor only keeps its arguments."""
    if not {"__dataclass_params__", "__init__"} <= kind.__dict__.keys() or hasattr(kind, "__post_init__"):
        return False
    if kind.__new__ is not object.__new__ or type(kind).__call__ is not type.__call__:
        return False
    for field in kind.__dataclass_fields__.values():
        if field._field_type.name != "_FIELD" and field._field_type.name != "_FIELD_CLASSVAR" or not field.init:
            return False
    if kind.__setattr__ is not object.__setattr__ and not kind.__dataclass_params__.frozen:
        return False
    # The constructor that dataclass() makes, and none of the class itself. (Python 3.10 does not tell.)
    code = getattr(kind.__init__, "__code__", None)
    return kind.__dataclass_params__.init and getattr(code, "co_qualname", "").startswith("__create_fn__.<locals>.")


cdef int refuse_misfit(str what, Layout layout, kind, tuple fields) except -1:
    """Raise TypeError unless the fields are the attributes, and annotations allow their values."""
    cdef list wrong = []
    attributes = dict(layout.attributes)
    for name, type_name in attributes.items():
        if name not in fields:
            wrong.append(f"it has no field for attribute '{name}' ({type_name})")
    for name in fields:
        if name not in attributes:
            wrong.append(f"there is no attribute for its field '{name}'")
    hints = hints_of(what, kind)
    for name in fields:
        if name in attributes and name in hints:
            python = PYTHON_TYPES[layout.types[layout.names.index(name)]]
            if python is not None and not fits(hints[name], python):
                wrong.append(f"its field '{name}' is {shown_type(hints[name])}, and attribute '{name}' "
                             f"({attributes[name]}) gives {python.__name__}")
    if wrong:
        raise TypeError(f"{what} can't give {kind.__qualname__}: {'; '.join(wrong)}. The attributes are "
                        f"{', '.join(layout.names)}; the fields are {', '.join(fields) or 'none'}")
    return 0


cdef dict hints_of(str what, kind):
    if kind is dict:
        return {}
    try:
        try:
            return typing.get_type_hints(kind)
        except NameError:       # make_dataclass() writes 'typing.Any', which few modules know
            return typing.get_type_hints(kind, localns={"typing": typing, **vars(kind)})
    except Exception as error:
        raise TypeError(f"{what} can't give {kind.__qualname__}: its annotations can't be read: {error}. Names in "
                        "annotations must be those of its module") from error


cdef bint fits(annotation, python) except -1:
    """Return whether an annotation allows the values of a Python type."""
    if annotation is typing.Any or isinstance(annotation, typing.TypeVar):
        return True
    for inner in ("__supertype__", "__value__"):             # NewType; type aliases
        if hasattr(annotation, inner):
            return fits(getattr(annotation, inner), python)
    if type(annotation).__name__ == "InitVar":
        return fits(annotation.type, python)
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin in WRAPPERS:
        return fits(arguments[0], python)
    if origin is typing.Union or origin is types.UnionType:
        return any([fits(argument, python) for argument in arguments])
    if origin is typing.Literal:
        return any([type(argument) is python for argument in arguments])
    if not isinstance(annotation, type):
        return False
    try:
        return issubclass(python, annotation) or (python is int and annotation is float)
    except TypeError:        # a protocol that can't be tested
        return False


cdef str shown_type(annotation):
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
