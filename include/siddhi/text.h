/* Equality of Python strings without calling Python: identity, then length and kind, then the characters. */
#ifndef SIDDHI_TEXT_H
#define SIDDHI_TEXT_H

#include <Python.h>
#include <string.h>

static inline int siddhi_same_text(void *a, void *b)
{
    PyObject *x = (PyObject *)a, *y = (PyObject *)b;
    Py_ssize_t n;
    if (x == y) return 1;
    n = PyUnicode_GET_LENGTH(x);
    if (n != PyUnicode_GET_LENGTH(y) || PyUnicode_KIND(x) != PyUnicode_KIND(y)) return 0;
    return memcmp(PyUnicode_DATA(x), PyUnicode_DATA(y), (size_t)n * PyUnicode_KIND(x)) == 0;
}

#endif
