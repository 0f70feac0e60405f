"""The namespace ``math``. A null argument makes the result null.

Functions of doubles read their operands as doubles (make_widen) and have a form for blocks, unless they can fail.
"""

from libc.math cimport log
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

import os

from siddhi._core.expression.arithmetic import make_widen
from siddhi._core.expression.arithmetic cimport can_map
from siddhi._core.expression.executor import make_constant
from siddhi._core.expression.executor cimport (
    ExecC, Executor, eval_fn, keep_object, map_fn, new_executor, new_object_executor, select_fn,
)
from siddhi._core.expression.function cimport make_number_of_text
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, STRING, EventC
from siddhi._core.record.frame cimport MAX_BLOCK, NULL_VALUE, VALUE, FrameC
from siddhi.errors import shown

cdef extern from "Python.h":
    str PyUnicode_FromStringAndSize(const char* text, Py_ssize_t size)

cdef extern from "siddhi/arithmetic.h" nogil:
    int32_t siddhi_d2i(double a)
    int64_t siddhi_d2l(double a)

cdef extern from * nogil:
    """
    #include <math.h>
    #include <stddef.h>
    #include <stdint.h>

    typedef struct {
        double (*one)(double value);
        void (*many)(double *values, ptrdiff_t n);
    } siddhi_unary;

    /* EXPRESSION is in `a`. A loop of its own for each function lets the compiler vectorize it. */
    #define SIDDHI_UNARY(NAME, EXPRESSION)                                          \\
        static double siddhi_one_##NAME(double a) { return EXPRESSION; }            \\
        static void siddhi_many_##NAME(double *values, ptrdiff_t n)                 \\
        {                                                                           \\
            ptrdiff_t i;                                                            \\
            for (i = 0; i < n; i++) {                                               \\
                double a = values[i];                                               \\
                values[i] = EXPRESSION;                                             \\
            }                                                                       \\
        }                                                                           \\
        static const siddhi_unary siddhi_##NAME = {siddhi_one_##NAME, siddhi_many_##NAME};

    SIDDHI_UNARY(abs, fabs(a))
    SIDDHI_UNARY(acos, acos(a))
    SIDDHI_UNARY(asin, asin(a))
    SIDDHI_UNARY(atan, atan(a))
    SIDDHI_UNARY(cbrt, cbrt(a))
    SIDDHI_UNARY(ceil, ceil(a))
    SIDDHI_UNARY(cos, cos(a))
    SIDDHI_UNARY(cosh, cosh(a))
    SIDDHI_UNARY(exp, exp(a))
    SIDDHI_UNARY(floor, floor(a))
    SIDDHI_UNARY(ln, log(a))
    SIDDHI_UNARY(log10, log10(a))
    SIDDHI_UNARY(log2, log2(a))
    SIDDHI_UNARY(sin, sin(a))
    SIDDHI_UNARY(sinh, sinh(a))
    SIDDHI_UNARY(sqrt, sqrt(a))
    SIDDHI_UNARY(tan, tan(a))
    SIDDHI_UNARY(tanh, tanh(a))
    SIDDHI_UNARY(toDegrees, a * (180.0 / 3.14159265358979323846))
    SIDDHI_UNARY(toRadians, a * (3.14159265358979323846 / 180.0))

    typedef struct {
        double (*one)(double a, double b);
        void (*many)(double *a, const double *b, ptrdiff_t n);
    } siddhi_binary;

    #define SIDDHI_BINARY(NAME, EXPRESSION)                                                 \\
        static double siddhi_one_##NAME(double a, double b) { return EXPRESSION; }          \\
        static void siddhi_many_##NAME(double *values, const double *others, ptrdiff_t n)   \\
        {                                                                                   \\
            ptrdiff_t i;                                                                    \\
            for (i = 0; i < n; i++) {                                                       \\
                double a = values[i], b = others[i];                                        \\
                values[i] = EXPRESSION;                                                     \\
            }                                                                               \\
        }                                                                                   \\
        static const siddhi_binary siddhi_##NAME = {siddhi_one_##NAME, siddhi_many_##NAME};

    /* In C, 1 to the power of NaN and -1 to the power of infinity are 1; in Java they are NaN. */
    static inline double siddhi_pow(double a, double b)
    {
        return isnan(b) || (isinf(b) && fabs(a) == 1.0) ? NAN : pow(a, b);
    }

    /* NaN wins, and 0.0 is greater than -0.0. */
    static inline double siddhi_greater(double a, double b)
    {
        return isnan(a) || a > b ? a : isnan(b) || b > a ? b : signbit(a) ? b : a;
    }

    static inline double siddhi_lesser(double a, double b)
    {
        return isnan(a) || a < b ? a : isnan(b) || b < a ? b : signbit(a) ? a : b;
    }

    SIDDHI_BINARY(atan2, atan2(a, b))
    SIDDHI_BINARY(copySign, copysign(a, b))
    SIDDHI_BINARY(max, siddhi_greater(a, b))
    SIDDHI_BINARY(min, siddhi_lesser(a, b))
    SIDDHI_BINARY(power, siddhi_pow(a, b))

    /* The greatest integral number that is not above a + 1/2. a + 0.5 itself is rounded where a is 0.49999999999999994. */
    static inline double siddhi_round(double a)
    {
        double below = floor(a);
        return a - below >= 0.5 ? below + 1.0 : below;
    }

    /* The binary exponent as Java's getExponent: LEAST - 1 for zero and subnormal numbers, MOST + 1 for infinity and NaN. */
    static inline int32_t siddhi_exponent(double a, int32_t least, int32_t most)
    {
        int exponent;
        if (isnan(a) || isinf(a)) return most + 1;
        if (a == 0.0) return least - 1;
        (void)frexp(a, &exponent);
        return exponent - 1 < least ? least - 1 : exponent - 1;
    }
    """
    ctypedef struct UnaryC "siddhi_unary":
        double (*one)(double value) noexcept nogil
        void (*many)(double* values, ptrdiff_t n) noexcept nogil
    ctypedef struct BinaryC "siddhi_binary":
        double (*one)(double a, double b) noexcept nogil
        void (*many)(double* values, const double* others, ptrdiff_t n) noexcept nogil
    const UnaryC siddhi_abs, siddhi_acos, siddhi_asin, siddhi_atan, siddhi_cbrt, siddhi_ceil, siddhi_cos, siddhi_cosh
    const UnaryC siddhi_exp, siddhi_floor, siddhi_ln, siddhi_log10, siddhi_log2, siddhi_sin, siddhi_sinh, siddhi_sqrt
    const UnaryC siddhi_tan, siddhi_tanh, siddhi_toDegrees, siddhi_toRadians
    const BinaryC siddhi_atan2, siddhi_copySign, siddhi_max, siddhi_min, siddhi_power
    double siddhi_round(double a)
    int32_t siddhi_exponent(double a, int32_t least, int32_t most)
    bint isnan(double a)
    bint isinf(double a)

ctypedef fused integer:
    int32_t
    int64_t

ctypedef fused real:
    float
    double

# --- double → double

cdef int unary(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = (<const UnaryC*> x.data).one(value)
    return VALUE


cdef bint map_unary(const ExecC* x, EventC** events, Py_ssize_t n, double* out, uint8_t* valid) noexcept:
    cdef bint nulls = x.left.map(x.left, events, n, out, valid)
    (<const UnaryC*> x.data).many(out, n)
    return nulls


cdef int arc(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    """Evaluate acos or asin, which are null outside -1 to 1; NaN stays NaN."""
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE or value < -1 or value > 1:
        return NULL_VALUE
    out[0] = (<const UnaryC*> x.data).one(value)
    return VALUE


cdef bint map_arc(const ExecC* x, EventC** events, Py_ssize_t n, double* out, uint8_t* valid) noexcept:
    cdef bint nulls = x.left.map(x.left, events, n, out, valid)
    cdef Py_ssize_t i
    for i in range(n):
        if out[i] < -1 or out[i] > 1:
            valid[i] = 0
            nulls = True
    (<const UnaryC*> x.data).many(out, n)
    return nulls


cdef const UnaryC* unary_of(str name) noexcept:
    if name == "abs":
        return &siddhi_abs
    if name == "acos":
        return &siddhi_acos
    if name == "asin":
        return &siddhi_asin
    if name == "atan":
        return &siddhi_atan
    if name == "cbrt":
        return &siddhi_cbrt
    if name == "ceil":
        return &siddhi_ceil
    if name == "cos":
        return &siddhi_cos
    if name == "cosh":
        return &siddhi_cosh
    if name == "exp":
        return &siddhi_exp
    if name == "floor":
        return &siddhi_floor
    if name == "ln":
        return &siddhi_ln
    if name == "log10":
        return &siddhi_log10
    if name == "log2":
        return &siddhi_log2
    if name == "sin":
        return &siddhi_sin
    if name == "sinh":
        return &siddhi_sinh
    if name == "sqrt":
        return &siddhi_sqrt
    if name == "tan":
        return &siddhi_tan
    if name == "tanh":
        return &siddhi_tanh
    if name == "toDegrees":
        return &siddhi_toDegrees
    if name == "toRadians":
        return &siddhi_toRadians
    return NULL


cdef Executor widened(Executor operand):
    return operand if operand.type == DOUBLE else make_widen(operand, DOUBLE)


cdef Executor make_unary(str name, tuple arguments):
    cdef bint is_arc = name in ("acos", "asin")
    cdef Executor operand = widened(arguments[0])
    cdef Executor executor = new_executor(
        <eval_fn> arc if is_arc else <eval_fn> unary, DOUBLE, (operand,), f"math:{name}({operand.description})")
    executor.c.data = <void*> unary_of(name)
    if can_map(executor):
        executor.c.map = <map_fn> map_arc if is_arc else <map_fn> map_unary
    return executor


# --- two doubles → double

cdef int binary(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef double a, b
    # Both are evaluated: an aggregator in one of them must see the event.
    cdef int left = x.left.fn(x.left, e, f, &a)
    cdef int right = x.right.fn(x.right, e, f, &b)
    if left == NULL_VALUE or right == NULL_VALUE:
        return NULL_VALUE
    out[0] = (<const BinaryC*> x.data).one(a, b)
    return VALUE


cdef bint map_binary(const ExecC* x, EventC** events, Py_ssize_t n, double* out, uint8_t* valid) noexcept:
    cdef double others[MAX_BLOCK]
    cdef bint left = x.left.map(x.left, events, n, out, valid)
    cdef bint right = x.right.map(x.right, events, n, others, valid)
    (<const BinaryC*> x.data).many(out, others, n)
    return left or right


cdef int logarithm(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef double a, base
    cdef int left = x.left.fn(x.left, e, f, &a)
    cdef int right = x.right.fn(x.right, e, f, &base)
    if left == NULL_VALUE or right == NULL_VALUE:
        return NULL_VALUE
    if base == 1:
        raise ValueError("math:log() got base 1: a logarithm to base 1 does not exist")
    out[0] = log(a) / log(base)
    return VALUE


cdef Executor make_binary(str name, tuple arguments):
    cdef Executor left = widened(arguments[0]), right = widened(arguments[1])
    cdef Executor executor = new_executor(
        <eval_fn> binary, DOUBLE, (left, right), f"math:{name}({left.description}, {right.description})")
    if name == "log":
        executor.c.fn = <eval_fn> logarithm
        return executor
    executor.c.data = <void*> (&siddhi_copySign if name == "copySign" else &siddhi_max if name == "max" else
                               &siddhi_min if name == "min" else &siddhi_power if name == "power" else &siddhi_atan2)
    if can_map(executor):
        executor.c.map = <map_fn> map_binary
    return executor


# --- double → int, long, bool

cdef int sign(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = (value > 0) - (value < 0)
    return VALUE


cdef bint map_sign(const ExecC* x, EventC** events, Py_ssize_t n, int32_t* out, uint8_t* valid) noexcept:
    cdef double values[MAX_BLOCK]
    cdef bint nulls = x.left.map(x.left, events, n, values, valid)
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = (values[i] > 0) - (values[i] < 0)
    return nulls


cdef int exponent(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = siddhi_exponent(value, x.slot, 1 - x.slot)
    return VALUE


cdef bint map_exponent(const ExecC* x, EventC** events, Py_ssize_t n, int32_t* out, uint8_t* valid) noexcept:
    cdef double values[MAX_BLOCK]
    cdef bint nulls = x.left.map(x.left, events, n, values, valid)
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = siddhi_exponent(values[i], x.slot, 1 - x.slot)
    return nulls


cdef int round_to_int(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef float value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = siddhi_d2i(siddhi_round(value))
    return VALUE


cdef int round_to_long(const ExecC* x, EventC* e, FrameC* f, int64_t* out) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = siddhi_d2l(siddhi_round(value))
    return VALUE


cdef bint map_round_to_int(const ExecC* x, EventC** events, Py_ssize_t n, int32_t* out, uint8_t* valid) noexcept:
    cdef float values[MAX_BLOCK]
    cdef bint nulls = x.left.map(x.left, events, n, values, valid)
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = siddhi_d2i(siddhi_round(values[i]))
    return nulls


cdef bint map_round_to_long(const ExecC* x, EventC** events, Py_ssize_t n, int64_t* out, uint8_t* valid) noexcept:
    cdef double values[MAX_BLOCK]
    cdef bint nulls = x.left.map(x.left, events, n, values, valid)
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = siddhi_d2l(siddhi_round(values[i]))
    return nulls


cdef int is_nan(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    return isnan(value) != 0


cdef int is_infinite(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    return isinf(value) != 0


cdef inline Py_ssize_t select(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed, bint infinite) noexcept:
    cdef double values[MAX_BLOCK]
    cdef uint8_t valid[MAX_BLOCK]
    cdef Py_ssize_t i, found = 0
    for i in range(n):
        valid[i] = 1
    x.left.map(x.left, events, n, values, valid)
    for i in range(n):
        if valid[i] and (isinf(values[i]) if infinite else isnan(values[i])):
            passed[found] = events[i]
            found += 1
    return found


cdef Py_ssize_t select_nan(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed) noexcept:
    return select(x, events, n, passed, False)


cdef Py_ssize_t select_infinite(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed) noexcept:
    return select(x, events, n, passed, True)


cdef Executor make_of_double(str name, tuple arguments):
    """Return an executor of a function of one number of another type than double."""
    cdef Executor operand = arguments[0]
    cdef int source = operand.type
    cdef int type = INT
    cdef eval_fn fn
    cdef map_fn map = NULL
    cdef select_fn select = NULL
    if name == "round":
        type = INT if source == FLOAT else LONG
        fn = <eval_fn> round_to_int if source == FLOAT else <eval_fn> round_to_long
        map = <map_fn> map_round_to_int if source == FLOAT else <map_fn> map_round_to_long
    elif name == "signum":
        fn, map = <eval_fn> sign, <map_fn> map_sign
    elif name == "getExponent":
        fn, map = <eval_fn> exponent, <map_fn> map_exponent
    else:
        type = BOOL
        fn = <eval_fn> is_nan if name == "isNan" else <eval_fn> is_infinite
        select = <select_fn> select_nan if name == "isNan" else <select_fn> select_infinite
    if name != "round":
        operand = widened(operand)
    cdef Executor executor = new_executor(fn, type, (operand,), f"math:{name}({operand.description})")
    executor.c.slot = -126 if source == FLOAT else -1022      # the least exponent
    if can_map(executor):
        executor.c.map, executor.c.select = map, select
    return executor


# --- numbers as text

cdef enum:
    MOST_DIGITS = 65

cdef const char* DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


cdef str digits_of(uint64_t value, unsigned int base, bint negative):
    cdef char text[MOST_DIGITS + 1]
    cdef int at = MOST_DIGITS + 1
    while True:
        at -= 1
        text[at] = DIGITS[value % base]
        value //= base
        if value == 0:
            break
    if negative:
        at -= 1
        text[at] = c'-'
    return PyUnicode_FromStringAndSize(text + at, MOST_DIGITS + 1 - at)


cdef int text_of_integer(const ExecC* x, EventC* e, FrameC* f, void** out, integer* unused) except -1:
    cdef integer value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    if integer is int32_t:
        return keep_object(x, digits_of(<uint32_t> value, x.slot, False), out)
    else:
        return keep_object(x, digits_of(<uint64_t> value, x.slot, False), out)


cdef int text_of_int(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    return text_of_integer(x, e, f, out, <int32_t*> NULL)


cdef int text_of_long(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    return text_of_integer(x, e, f, out, <int64_t*> NULL)


cdef str hexadecimal(double value):
    """Return a double as Java's Double.toHexString: Python's form without trailing zeros and plus signs."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, power = value.hex().split("p")
    whole, _, fraction = mantissa.partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}p{power.lstrip('+')}"


cdef int hex_of_real(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    return keep_object(x, hexadecimal(value), out)


cdef Executor make_digits(str name, tuple arguments):
    cdef Executor operand = arguments[0]
    cdef eval_fn fn
    if operand.type == INT:
        fn = <eval_fn> text_of_int
    elif operand.type == LONG:
        fn = <eval_fn> text_of_long
    else:
        fn = <eval_fn> hex_of_real
        operand = widened(operand)
    cdef Executor executor = new_object_executor(fn, STRING, (operand,), f"math:{name}({operand.description})")
    executor.c.slot = 2 if name == "bin" else 8 if name == "oct" else 16
    return executor


cdef int digit_of(uint32_t character) noexcept:
    if c'0' <= character <= c'9':
        return character - c'0'
    if c'a' <= (character | 0x20) <= c'z':
        return (character | 0x20) - c'a' + 10
    return 99


cdef int convert_base(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef void* text
    cdef int32_t source, target
    cdef int first = x.args[0].fn(x.args[0], e, f, &text)
    cdef int second = x.args[1].fn(x.args[1], e, f, &source)
    cdef int third = x.args[2].fn(x.args[2], e, f, &target)
    if first == NULL_VALUE or second == NULL_VALUE or third == NULL_VALUE:
        return NULL_VALUE
    for base in (source, target):
        if not 2 <= base <= 36:
            raise ValueError(f"math:conv() got base {base}: expected 2 to 36")
    cdef str digits = <str> text
    cdef Py_ssize_t i = 1 if digits[:1] in ("-", "+") else 0, n = len(digits)
    cdef bint negative = digits[:1] == "-", fits = n > i
    cdef uint64_t value = 0, most = (<uint64_t> 1 << 63) - (0 if negative else 1)
    cdef int digit
    while fits and i < n:
        digit = digit_of(<Py_UCS4> digits[i])
        fits = digit < source and value <= (most - digit) // source
        value = value * source + digit
        i += 1
    if not fits:
        raise ValueError(f"math:conv() got {shown(digits)}, which is not an integer of 64 bits in base {source}")
    return keep_object(x, digits_of(value, target, negative and value != 0), out)


# --- order books

cdef int imbalance(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef double bid, ask
    cdef int status = x.left.fn(x.left, e, f, &bid)
    if x.right.fn(x.right, e, f, &ask) == NULL_VALUE or status == NULL_VALUE or bid + ask == 0.0:
        return NULL_VALUE
    out[0] = (bid - ask) / (bid + ask)
    return VALUE


def make_imbalance(str name not None, tuple arguments not None, int type):
    """Return the executor of ``ta:imbalance``."""
    operands = (widened(arguments[0]), widened(arguments[1]))
    return new_executor(<eval_fn> imbalance, DOUBLE, operands, f"ta:{name}()")


# --- text as numbers

cdef Executor make_parse(str name, tuple arguments):
    cdef Executor operand = arguments[0]
    cdef int type = {"parseInt": INT, "parseLong": LONG, "parseFloat": FLOAT, "parseDouble": DOUBLE}[name]
    return make_number_of_text(operand, type, f"math:{name}()", f"math:{name}({operand.description})")


# --- random numbers: java.util.Random. The state is in the executor, so each call in an app has a sequence of its own.

cdef enum:
    RANDOM_SHIFT = 48

cdef uint64_t RANDOM_MASK = (<uint64_t> 1 << RANDOM_SHIFT) - 1
cdef uint64_t RANDOM_FACTOR = 0x5DEECE66D
cdef uint64_t SEEDED = <uint64_t> 1 << 63


cdef int random_number(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef uint64_t* state = &(<ExecC*> x).value.bits
    cdef uint64_t bits = state[0] & RANDOM_MASK
    cdef int64_t seed = 0
    if not state[0] & SEEDED:
        if x.n_args == 0 or x.left.fn(x.left, e, f, &seed) == NULL_VALUE:
            seed = int.from_bytes(os.urandom(7), "little")
        bits = (<uint64_t> seed ^ RANDOM_FACTOR) & RANDOM_MASK
    bits = (bits * RANDOM_FACTOR + 0xB) & RANDOM_MASK
    cdef uint64_t high = bits >> 22
    bits = (bits * RANDOM_FACTOR + 0xB) & RANDOM_MASK
    state[0] = bits | SEEDED
    out[0] = <double> ((high << 27) + (bits >> 21)) / <double> (<uint64_t> 1 << 53)
    return VALUE


cdef Executor make_random(tuple arguments):
    operands = [make_widen(each, LONG) if (<Executor> each).type == INT else each for each in arguments]
    return new_executor(<eval_fn> random_number, DOUBLE, tuple(operands), "math:rand()")


# --- functions by name

UNARY = frozenset(
    "abs acos asin atan cbrt ceil cos cosh exp floor ln log10 log2 sin sinh sqrt tan tanh toDegrees toRadians".split())
BINARY = frozenset("atan copySign log max min power".split())
OF_DOUBLE = frozenset("getExponent isInfinite isNan round signum".split())
TEXTS = frozenset("bin hex oct".split())


def make(str name not None, tuple arguments not None, int type):
    """Return the executor of a function of the namespace.

    Args:
        name: its name without the namespace.
        arguments: executors of types that the function accepts.
        type: TypeCode of the result.

    Raises:
        LookupError: the name is unknown.
    """
    if len(arguments) == 1 and name in UNARY:
        return make_unary(name, arguments)
    if name in BINARY:
        return make_binary(name, arguments)
    if name in OF_DOUBLE:
        return make_of_double(name, arguments)
    if name in TEXTS:
        return make_digits(name, arguments)
    if name == "conv":
        return new_object_executor(<eval_fn> convert_base, STRING, arguments, "math:conv()")
    if name.startswith("parse"):
        return make_parse(name, arguments)
    if name == "e":
        return make_constant(2.718281828459045, DOUBLE)
    if name == "pi":
        return make_constant(3.141592653589793, DOUBLE)
    if name == "rand":
        return make_random(arguments)
    raise LookupError(f"the core has no function 'math:{name}'")
