# Texts as records keep them: exact str.

from cpython.unicode cimport PyUnicode_CheckExact

cdef extern from "Python.h":
    object PyUnicode_FromObject(object text)

cdef inline object exact_text(object text):
    """Return a text as an exact str; that of a subclass, such as an enum's, is copied. TypeError: it is no text."""
    return text if PyUnicode_CheckExact(text) else PyUnicode_FromObject(text)
