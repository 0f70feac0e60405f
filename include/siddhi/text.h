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
    n *= PyUnicode_KIND(x);
    if (n == 0) return 1;
    {
        /* Keys mostly differ in their last character (S1, S2; flight numbers): compare it before calling memcmp. */
        const char *a_text = (const char *)PyUnicode_DATA(x), *b_text = (const char *)PyUnicode_DATA(y);
        return a_text[n - 1] == b_text[n - 1] && memcmp(a_text, b_text, (size_t)n) == 0;
    }
}

#endif
