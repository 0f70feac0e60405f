"""Comparisons of a plain attribute with a constant, over blocks of events.

The loops have no branch that depends on the answer: where half the events pass, guessing would cost more than
comparing.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

from siddhi._core.event cimport DOUBLE, FLOAT, INT, LONG, STRING, EventC
from siddhi._core.executor cimport ExecC

cdef extern from "siddhi/text.h":
    bint siddhi_same_text(void* a, void* b) noexcept

ctypedef fused num:
    int32_t
    int64_t
    float
    double


cdef inline bint present(const EventC* e, int word, uint64_t bit) noexcept:
    return (e.body[word] & bit) == 0


cdef Py_ssize_t select_less(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, num* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef num bound = (<const num*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const num*> &e.body[cell])[0] < bound)
    return m


cdef Py_ssize_t select_less_equal(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, num* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef num bound = (<const num*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const num*> &e.body[cell])[0] <= bound)
    return m


cdef Py_ssize_t select_greater(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, num* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef num bound = (<const num*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const num*> &e.body[cell])[0] > bound)
    return m


cdef Py_ssize_t select_greater_equal(
    const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, num* unused
) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef num bound = (<const num*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const num*> &e.body[cell])[0] >= bound)
    return m


cdef Py_ssize_t select_equal(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, num* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef num bound = (<const num*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const num*> &e.body[cell])[0] == bound)
    return m


cdef Py_ssize_t select_not_equal(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, num* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef num bound = (<const num*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += (not present(e, word, bit)) | <int> ((<const num*> &e.body[cell])[0] != bound)
    return m


cdef Py_ssize_t select_same_text(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += present(e, word, bit) and siddhi_same_text(<void*> e.body[cell], x.value.o)
    return m


cdef select_fn SELECTORS[6][4]


cdef int fill(num* unused, int column) noexcept:
    SELECTORS[0][column] = <select_fn> <void*> select_less[num]
    SELECTORS[1][column] = <select_fn> <void*> select_less_equal[num]
    SELECTORS[2][column] = <select_fn> <void*> select_greater[num]
    SELECTORS[3][column] = <select_fn> <void*> select_greater_equal[num]
    SELECTORS[4][column] = <select_fn> <void*> select_equal[num]
    SELECTORS[5][column] = <select_fn> <void*> select_not_equal[num]
    return 0


fill[int32_t](NULL, 0)
fill[int64_t](NULL, 1)
fill[float](NULL, 2)
fill[double](NULL, 3)


cdef select_fn choose_select(int operator, int type) noexcept:
    """The form for blocks of `attribute operator constant`, or NULL. Operators: < <= > >= == != by number."""
    if type == INT:
        return SELECTORS[operator][0]
    if type == LONG:
        return SELECTORS[operator][1]
    if type == FLOAT:
        return SELECTORS[operator][2]
    if type == DOUBLE:
        return SELECTORS[operator][3]
    if type == STRING and operator == 4:
        return select_same_text
    return NULL
