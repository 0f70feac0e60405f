"""Functions that choose among their arguments: coalesce, default, ifThenElse, maximum, minimum.

The value goes through untouched: the chosen argument writes to `out` itself. Arguments are all evaluated, as an
aggregator behind one of them must see the event; only ifThenElse evaluates the chosen branch alone.
"""

from libc.stdint cimport int32_t, int64_t

from siddhi._core.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, CellC, EventC
from siddhi._core.executor cimport (
    COMPUTED, FALSE, NULL_VALUE, TRUE, VALUE, ExecC, Executor, FrameC, eval_fn, evaluate_condition, new_executor,
)

ctypedef fused num:
    int32_t
    int64_t
    float
    double


# --- coalesce, default

cdef int first_of_two(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    # The second is a variable or a constant: nobody misses its evaluation.
    cdef int status = x.left.fn(x.left, e, f, out)
    return status if status != NULL_VALUE else x.right.fn(x.right, e, f, out)


cdef int first_of_many(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef CellC unread
    cdef int i, status = NULL_VALUE
    for i in range(x.n_args):
        if status == NULL_VALUE:
            status = x.args[i].fn(x.args[i], e, f, out)
        else:
            x.args[i].fn(x.args[i], e, f, &unread)
    return status


cdef int first_condition(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef int status = first_of_many(x, e, f, out)
    return status if status != NULL_VALUE else FALSE


def make_coalesce(tuple arguments not None, str name="coalesce"):
    """The first argument that is not null, or null (false for a bool)."""
    cdef Executor first = arguments[0]
    cdef Executor last = arguments[len(arguments) - 1]
    cdef eval_fn fn = <eval_fn> first_of_many
    if first.type == BOOL:
        fn = <eval_fn> first_condition
    elif len(arguments) == 2 and last.kind != COMPUTED:
        fn = <eval_fn> first_of_two
    return new_executor(fn, first.type, arguments, f"{name}({', '.join([each.description for each in arguments])})")


# --- ifThenElse

cdef int chosen_branch(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef const ExecC* branch = x.args[1] if evaluate_condition(x.left, e, f) == TRUE else x.args[2]
    return branch.fn(branch, e, f, out)


cdef int chosen_condition(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    return evaluate_condition(x.args[1] if evaluate_condition(x.left, e, f) == TRUE else x.args[2], e, f)


def make_if_then_else(Executor condition not None, Executor then not None, Executor otherwise not None):
    """One of two values; a null condition chooses the second, and a bool is never null."""
    return new_executor(
        <eval_fn> chosen_condition if then.type == BOOL else <eval_fn> chosen_branch, then.type,
        (condition, then, otherwise),
        f"ifThenElse({condition.description}, {then.description}, {otherwise.description})")


# --- maximum, minimum. A NaN counts only among NaNs, so that the order of arguments does not matter.

cdef inline bint is_nan(num value) noexcept:
    if num is float or num is double:
        return value != value
    else:
        return False


cdef int greatest(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num value, best = 0
    cdef bint found = False
    cdef int i
    for i in range(x.n_args):
        if x.args[i].fn(x.args[i], e, f, &value) == VALUE and (not found or is_nan(best) or value > best):
            best = value
            found = True
    out[0] = best
    return VALUE if found else NULL_VALUE


cdef int least(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num value, best = 0
    cdef bint found = False
    cdef int i
    for i in range(x.n_args):
        if x.args[i].fn(x.args[i], e, f, &value) == VALUE and (not found or is_nan(best) or value < best):
            best = value
            found = True
    out[0] = best
    return VALUE if found else NULL_VALUE


cdef eval_fn EXTREMES[2][4]
EXTREMES[0][0] = <eval_fn> greatest[int32_t]
EXTREMES[0][1] = <eval_fn> greatest[int64_t]
EXTREMES[0][2] = <eval_fn> greatest[float]
EXTREMES[0][3] = <eval_fn> greatest[double]
EXTREMES[1][0] = <eval_fn> least[int32_t]
EXTREMES[1][1] = <eval_fn> least[int64_t]
EXTREMES[1][2] = <eval_fn> least[float]
EXTREMES[1][3] = <eval_fn> least[double]

COLUMNS = {INT: 0, LONG: 1, FLOAT: 2, DOUBLE: 3}


def make_extreme(str name not None, tuple arguments not None):
    """``maximum`` or ``minimum`` of the arguments that are not null, in their own type; null where all are."""
    cdef Executor first = arguments[0]
    cdef int column = COLUMNS[first.type]
    return new_executor(EXTREMES[name == "minimum"][column], first.type, arguments,
                        f"{name}({', '.join([each.description for each in arguments])})")
