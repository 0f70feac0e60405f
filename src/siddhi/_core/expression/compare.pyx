"""Comparisons of a plain attribute with a constant, over blocks of events.

The loops have no branch that depends on the result: if half the events pass, mispredicted branches would cost more than
the comparisons.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

from siddhi._core.expression.executor cimport CONSTANT, VARIABLE, ExecC, Executor, eval_fn, new_executor
from siddhi._core.expression.parameter cimport PARAMETER, ParameterExecutor
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, STRING, CellC, EventC
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, TRUE, FrameC

cdef extern from "siddhi/text.h":
    bint siddhi_same_text(void* a, void* b) noexcept

ctypedef fused number_t:
    int32_t
    int64_t
    float
    double


cdef inline bint present(const EventC* e, int word, uint64_t bit) noexcept:
    return (e.body[word] & bit) == 0


cdef Py_ssize_t select_less(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, number_t* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef number_t bound = (<const number_t*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const number_t*> &e.body[cell])[0] < bound)
    return m


cdef Py_ssize_t select_less_equal(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, number_t* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef number_t bound = (<const number_t*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const number_t*> &e.body[cell])[0] <= bound)
    return m


cdef Py_ssize_t select_greater(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, number_t* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef number_t bound = (<const number_t*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const number_t*> &e.body[cell])[0] > bound)
    return m


cdef Py_ssize_t select_greater_equal(
    const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, number_t* unused
) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef number_t bound = (<const number_t*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const number_t*> &e.body[cell])[0] >= bound)
    return m


cdef Py_ssize_t select_equal(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, number_t* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef number_t bound = (<const number_t*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += <int> present(e, word, bit) & <int> ((<const number_t*> &e.body[cell])[0] == bound)
    return m


cdef Py_ssize_t select_not_equal(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, number_t* unused) noexcept:
    cdef Py_ssize_t i, m = 0
    cdef EventC* e
    cdef int cell = x.cell, word = x.word
    cdef uint64_t bit = x.bit
    cdef number_t bound = (<const number_t*> &x.value)[0]
    for i in range(n):
        e = events[i]
        passed[m] = e
        m += (not present(e, word, bit)) | <int> ((<const number_t*> &e.body[cell])[0] != bound)
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


cdef int fill_selectors(number_t* unused, int column) noexcept:
    SELECTORS[0][column] = <select_fn> <void*> select_less[number_t]
    SELECTORS[1][column] = <select_fn> <void*> select_less_equal[number_t]
    SELECTORS[2][column] = <select_fn> <void*> select_greater[number_t]
    SELECTORS[3][column] = <select_fn> <void*> select_greater_equal[number_t]
    SELECTORS[4][column] = <select_fn> <void*> select_equal[number_t]
    SELECTORS[5][column] = <select_fn> <void*> select_not_equal[number_t]
    return 0


fill_selectors[int32_t](NULL, 0)
fill_selectors[int64_t](NULL, 1)
fill_selectors[float](NULL, 2)
fill_selectors[double](NULL, 3)


cdef select_fn choose_select(int operator, int type) noexcept:
    """Return the block function of `attribute operator constant`, or NULL. Operators: < <= > >= == != by index."""
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


# --- Comparison executors: numbers in the width of their operands, strings and bools by value.
#
# A comparison is never null: with a null operand ``!=`` is true and everything else false.

cdef extern from "siddhi/text.h":
    bint siddhi_same_text(void* a, void* b) noexcept

ctypedef fused num:
    int32_t
    int64_t
    float
    double


# --- numbers. `unused` carries the operand type into the specialization; a condition writes no value.

cdef inline int both(const ExecC* x, EventC* e, FrameC* f, num* a, num* b) except -1:
    cdef int left = x.left.fn(x.left, e, f, a)
    cdef int right = x.right.fn(x.right, e, f, b)
    return NULL_VALUE if left == NULL_VALUE or right == NULL_VALUE else TRUE


cdef inline bint null_1(const ExecC* x, EventC* e) noexcept:
    return (e.body[x.word] & x.bit) != 0


cdef inline bint null_2(const ExecC* x, EventC* e) noexcept:
    return (e.body[x.word] & x.bit) != 0 or (e.body[x.word2] & x.bit2) != 0


cdef int less_computed(const ExecC* x, EventC* e, FrameC* f, num* unused) except -1:
    cdef num a, b
    return both(x, e, f, &a, &b) == TRUE and a < b


cdef int less_var_const(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_1(x, e) and (<const num*> &e.body[x.cell])[0] < (<const num*> &x.value)[0]


cdef int less_var_var(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_2(x, e) and (<const num*> &e.body[x.cell])[0] < (<const num*> &e.body[x.cell2])[0]


cdef int less_equal_computed(const ExecC* x, EventC* e, FrameC* f, num* unused) except -1:
    cdef num a, b
    return both(x, e, f, &a, &b) == TRUE and a <= b


cdef int less_equal_var_const(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_1(x, e) and (<const num*> &e.body[x.cell])[0] <= (<const num*> &x.value)[0]


cdef int less_equal_var_var(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_2(x, e) and (<const num*> &e.body[x.cell])[0] <= (<const num*> &e.body[x.cell2])[0]


cdef int greater_computed(const ExecC* x, EventC* e, FrameC* f, num* unused) except -1:
    cdef num a, b
    return both(x, e, f, &a, &b) == TRUE and a > b


cdef int greater_var_const(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_1(x, e) and (<const num*> &e.body[x.cell])[0] > (<const num*> &x.value)[0]


cdef int greater_var_var(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_2(x, e) and (<const num*> &e.body[x.cell])[0] > (<const num*> &e.body[x.cell2])[0]


cdef int greater_equal_computed(const ExecC* x, EventC* e, FrameC* f, num* unused) except -1:
    cdef num a, b
    return both(x, e, f, &a, &b) == TRUE and a >= b


cdef int greater_equal_var_const(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_1(x, e) and (<const num*> &e.body[x.cell])[0] >= (<const num*> &x.value)[0]


cdef int greater_equal_var_var(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_2(x, e) and (<const num*> &e.body[x.cell])[0] >= (<const num*> &e.body[x.cell2])[0]


cdef int equal_computed(const ExecC* x, EventC* e, FrameC* f, num* unused) except -1:
    cdef num a, b
    return both(x, e, f, &a, &b) == TRUE and a == b


cdef int equal_var_const(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_1(x, e) and (<const num*> &e.body[x.cell])[0] == (<const num*> &x.value)[0]


cdef int equal_var_var(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return not null_2(x, e) and (<const num*> &e.body[x.cell])[0] == (<const num*> &e.body[x.cell2])[0]


cdef int not_equal_computed(const ExecC* x, EventC* e, FrameC* f, num* unused) except -1:
    cdef num a, b
    return both(x, e, f, &a, &b) == NULL_VALUE or a != b


cdef int not_equal_var_const(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return null_1(x, e) or (<const num*> &e.body[x.cell])[0] != (<const num*> &x.value)[0]


cdef int not_equal_var_var(const ExecC* x, EventC* e, FrameC* f, num* unused) noexcept:
    return null_2(x, e) or (<const num*> &e.body[x.cell])[0] != (<const num*> &e.body[x.cell2])[0]


# --- strings

cdef int text_equal(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef CellC a, b
    cdef int left = x.left.fn(x.left, e, f, &a)
    cdef int right = x.right.fn(x.right, e, f, &b)
    return left != NULL_VALUE and right != NULL_VALUE and siddhi_same_text(a.o, b.o)


cdef int text_equal_var_const(const ExecC* x, EventC* e, FrameC* f, void* unused) noexcept:
    return not null_1(x, e) and siddhi_same_text(<void*> e.body[x.cell], x.value.o)


cdef int text_equal_var_var(const ExecC* x, EventC* e, FrameC* f, void* unused) noexcept:
    return not null_2(x, e) and siddhi_same_text(<void*> e.body[x.cell], <void*> e.body[x.cell2])


cdef int text_not_equal(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    return not text_equal(x, e, f, unused)


cdef int text_not_equal_var_const(const ExecC* x, EventC* e, FrameC* f, void* unused) noexcept:
    return not text_equal_var_const(x, e, f, unused)


cdef int text_not_equal_var_var(const ExecC* x, EventC* e, FrameC* f, void* unused) noexcept:
    return not text_equal_var_var(x, e, f, unused)


# --- bools

cdef int bool_equal(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef int left = x.left.fn(x.left, e, f, NULL)
    cdef int right = x.right.fn(x.right, e, f, NULL)
    return left != NULL_VALUE and left == right


cdef int bool_not_equal(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    return not bool_equal(x, e, f, unused)


# --- selection of the function, once when the app is built

cdef eval_fn FUNCTIONS[6][3][4]


cdef int fill(num* unused, int column) noexcept:
    FUNCTIONS[0][0][column] = <eval_fn> less_computed[num]
    FUNCTIONS[0][1][column] = <eval_fn> less_var_const[num]
    FUNCTIONS[0][2][column] = <eval_fn> less_var_var[num]
    FUNCTIONS[1][0][column] = <eval_fn> less_equal_computed[num]
    FUNCTIONS[1][1][column] = <eval_fn> less_equal_var_const[num]
    FUNCTIONS[1][2][column] = <eval_fn> less_equal_var_var[num]
    FUNCTIONS[2][0][column] = <eval_fn> greater_computed[num]
    FUNCTIONS[2][1][column] = <eval_fn> greater_var_const[num]
    FUNCTIONS[2][2][column] = <eval_fn> greater_var_var[num]
    FUNCTIONS[3][0][column] = <eval_fn> greater_equal_computed[num]
    FUNCTIONS[3][1][column] = <eval_fn> greater_equal_var_const[num]
    FUNCTIONS[3][2][column] = <eval_fn> greater_equal_var_var[num]
    FUNCTIONS[4][0][column] = <eval_fn> equal_computed[num]
    FUNCTIONS[4][1][column] = <eval_fn> equal_var_const[num]
    FUNCTIONS[4][2][column] = <eval_fn> equal_var_var[num]
    FUNCTIONS[5][0][column] = <eval_fn> not_equal_computed[num]
    FUNCTIONS[5][1][column] = <eval_fn> not_equal_var_const[num]
    FUNCTIONS[5][2][column] = <eval_fn> not_equal_var_var[num]
    return 0


fill[int32_t](NULL, 0)
fill[int64_t](NULL, 1)
fill[float](NULL, 2)
fill[double](NULL, 3)

cdef eval_fn TEXT_FUNCTIONS[2][3]
TEXT_FUNCTIONS[0][0] = <eval_fn> text_equal
TEXT_FUNCTIONS[0][1] = <eval_fn> text_equal_var_const
TEXT_FUNCTIONS[0][2] = <eval_fn> text_equal_var_var
TEXT_FUNCTIONS[1][0] = <eval_fn> text_not_equal
TEXT_FUNCTIONS[1][1] = <eval_fn> text_not_equal_var_const
TEXT_FUNCTIONS[1][2] = <eval_fn> text_not_equal_var_var

OPERATORS = {
    "<": (0, "less"), "<=": (1, "less or equal"), ">": (2, "greater"), ">=": (3, "greater or equal"),
    "==": (4, "equal"), "!=": (5, "not equal"),
}
MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
COLUMNS = {INT: 0, LONG: 1, FLOAT: 2, DOUBLE: 3}
NAMES = {INT: "int", LONG: "long", FLOAT: "float", DOUBLE: "double", STRING: "string", BOOL: "bool"}
KINDS = ("", "var, const", "var, var")


cdef int always(const ExecC* x, EventC* e, FrameC* f, void* unused) noexcept:
    return TRUE


cdef int never(const ExecC* x, EventC* e, FrameC* f, void* unused) noexcept:
    return FALSE


def make_comparison(str symbol not None, Executor left not None, Executor right not None):
    """Return an executor of ``left symbol right``; both have one type: numeric, or string or bool (== and != only)."""
    cdef eval_fn fn
    cdef int type = left.type
    cdef int kind = 0
    if (left.kind == CONSTANT or left.kind == PARAMETER) and right.kind == VARIABLE:
        left, right, symbol = right, left, MIRROR[symbol]
    number, name = OPERATORS[symbol]
    if left.kind == VARIABLE and (right.kind == CONSTANT or right.kind == PARAMETER):
        kind = 1
    elif left.kind == VARIABLE and right.kind == VARIABLE:
        kind = 2
    if type == STRING:
        fn = TEXT_FUNCTIONS[<int> number - 4][kind]
    elif type == BOOL:
        kind = 0
        fn = <eval_fn> bool_equal if symbol == "==" else <eval_fn> bool_not_equal
    else:
        fn = FUNCTIONS[<int> number][kind][<int> COLUMNS[type]]
    operands = KINDS[kind] if kind else f"{left.description}, {right.description}"
    cdef Executor executor = new_executor(fn, BOOL, (left, right), f"{name} {NAMES[type]}({operands})")
    executor.c.cell, executor.c.word, executor.c.bit = left.c.cell, left.c.word, left.c.bit
    executor.c.cell2, executor.c.word2, executor.c.bit2 = right.c.cell, right.c.word, right.c.bit
    executor.c.value = right.c.value
    if kind == 1 and right.kind == PARAMETER:
        # No block function: its callers may keep a pointer to it, which a null would make wrong.
        (<ParameterExecutor> right).add_copy(executor, <eval_fn> always if symbol == "!=" else <eval_fn> never)
    elif kind == 1:
        executor.c.select = choose_select(number, type)
    return executor
