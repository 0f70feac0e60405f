"""Numbers and objects as Java writes them."""

from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from libc.math cimport fabs, isinf, isnan, signbit
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset, strlen

from siddhi._core.event cimport DOUBLE, FLOAT
from siddhi._core.java_number cimport parse_float, round_to_float

cdef extern from "Python.h":
    char* PyOS_double_to_string(double value, char format, int precision, int flags, int* type) except NULL
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow_exception) except? -1.0
    str PyUnicode_FromStringAndSize(const char* text, Py_ssize_t size)

cdef enum:
    MAX_DIGITS = 17              # of a double; a float has up to 9


def text_of(value, int code):
    """The text of an attribute's value, as ``convert(value, 'string')`` gives it; ``null`` for None.

    Args:
        value: of the attribute.
        code: the attribute's type code.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if code == DOUBLE:
        return text_of_double(value)
    if code == FLOAT:
        return text_of_float(value)
    return text_of_object(value)


# --- numbers to text

cdef int take_apart(const char* text, char* digits, int* exponent) noexcept:
    """Significant digits and exponent (of the first digit) of '123.45', '1e-05', ...; returns how many digits."""
    cdef int n = 0, i = 0, point = 0, power = 0
    cdef bint seen_point = False, negative_power
    if text[0] == c'-':
        i = 1
    while text[i] != 0 and text[i] != c'e':
        if text[i] == c'.':
            seen_point = True
        elif n > 0 or text[i] != c'0':
            if n < MAX_DIGITS:
                digits[n] = text[i]
            n += 1
            if not seen_point:
                point += 1
        elif seen_point:
            point -= 1
        i += 1
    if text[i] == c'e':
        negative_power = text[i + 1] == c'-'
        i += 2
        while text[i] != 0:
            power = 10 * power + (text[i] - c'0')
            i += 1
        if negative_power:
            power = -power
    if n > MAX_DIGITS:
        n = MAX_DIGITS
    while n > 1 and digits[n - 1] == c'0':
        n -= 1
    exponent[0] = point + power - 1
    return n


cdef str put_together(bint negative, const char* digits, int n, int exponent):
    cdef char text[48]
    cdef int at = 0, i, power
    if negative:
        text[at] = c'-'
        at += 1
    if 0 <= exponent < 7:
        for i in range(exponent + 1):
            text[at] = digits[i] if i < n else c'0'
            at += 1
        text[at] = c'.'
        at += 1
        if n <= exponent + 1:
            text[at] = c'0'
            at += 1
        for i in range(exponent + 1, n):
            text[at] = digits[i]
            at += 1
    elif -3 <= exponent < 0:
        text[at] = c'0'
        text[at + 1] = c'.'
        at += 2
        memset(text + at, c'0', -exponent - 1)
        at += -exponent - 1
        memcpy(text + at, digits, n)
        at += n
    else:
        text[at] = digits[0]
        text[at + 1] = c'.'
        at += 2
        if n == 1:
            text[at] = c'0'
            at += 1
        else:
            memcpy(text + at, digits + 1, n - 1)
            at += n - 1
        text[at] = c'E'
        at += 1
        if exponent < 0:
            text[at] = c'-'
            at += 1
            exponent = -exponent
        power = 100 if exponent >= 100 else 10 if exponent >= 10 else 1
        while power > 0:
            text[at] = <char> (c'0' + exponent // power % 10)
            at += 1
            power //= 10
    return PyUnicode_FromStringAndSize(text, at)


cdef str text_of_special(double value):
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "-0.0" if signbit(value) else "0.0"


cdef double[7] POWERS_OF_TEN
for _power in range(7):
    POWERS_OF_TEN[_power] = 10.0 ** _power


cdef int short_decimal(double value, int64_t end, bint single, char* digits, int* exponent) noexcept:
    """The digits of a number from 10^-3 up that has few of them, up to six behind the point; 0 if it has more.

    A decimal below `end` (10^15 for a double, 10^6 for a float) is the only one of its length to read as this number,
    so it is the shortest one if it reads as this number at all.
    """
    cdef double size = fabs(value)
    cdef double scaled
    cdef int64_t whole, rest
    cdef int places, n = 0, i
    if size < 1e-3:
        return 0
    for places in range(7):
        scaled = size * POWERS_OF_TEN[places] + 0.5
        if scaled >= end:
            return 0
        whole = <int64_t> scaled
        scaled = whole / POWERS_OF_TEN[places]
        if (<double> <float> scaled if single else scaled) == size:
            rest = whole
            while rest > 0:
                rest //= 10
                n += 1
            exponent[0] = n - 1 - places
            while n > 1 and whole % 10 == 0:
                whole //= 10
                n -= 1
            for i in range(n - 1, -1, -1):
                digits[i] = <char> (c'0' + whole % 10)
                whole //= 10
            return n
    return 0


cdef str text_of_double(double value):
    cdef char digits[MAX_DIGITS]
    cdef int n, exponent = 0
    cdef char* text
    if value - value != 0 or value == 0:
        return text_of_special(value)
    n = short_decimal(value, 1000000000000000, False, digits, &exponent)
    if n > 0:
        return put_together(value < 0, digits, n, exponent)
    text = PyOS_double_to_string(value, c'r', 0, 0, NULL)
    n = take_apart(text, digits, &exponent)
    PyMem_Free(text)
    if n == 1:
        # Java has at least two digits, so it takes the nearest number of two: 4.9E-324, not 5.0E-324.
        text = PyOS_double_to_string(value, c'e', 1, 0, NULL)
        n = take_apart(text, digits, &exponent)
        PyMem_Free(text)
    return put_together(value < 0, digits, n, exponent)


cdef int next_up(char* digits, int n, int* exponent) noexcept:
    """The decimal one unit in the last of n places further from zero; returns how many digits are left to write."""
    cdef int i = n - 1
    while i >= 0 and digits[i] == c'9':
        i -= 1
    if i < 0:
        digits[0] = c'1'
        exponent[0] += 1
        return 1
    digits[i] += 1
    return i + 1


cdef str text_of_float(float value):
    # The shortest correctly rounded decimal that reads back as the same float.
    cdef char digits[MAX_DIGITS]
    cdef int n = 0, exponent = 0, places, i
    cdef float back
    cdef char* text
    cdef str found
    if value - value != 0 or value == 0:
        return text_of_special(value)
    n = short_decimal(value, 1000000, True, digits, &exponent)
    if n > 0:
        return put_together(value < 0, digits, n, exponent)
    for places in range(2, 10):
        text = PyOS_double_to_string(value, c'e', places - 1, 0, NULL)
        n = take_apart(text, digits, &exponent)
        back = round_to_float(PyOS_string_to_double(text, NULL, NULL), text, strlen(text))
        PyMem_Free(text)
        if back == value:
            break
        if is_power_of_two(value):
            # Floats lie twice as close below a power of two as above it: the next decimal up may do instead.
            for i in range(n, places):
                digits[i] = c'0'
            n = next_up(digits, places, &exponent)
            found = put_together(value < 0, digits, n, exponent)
            if parse_float(found, &back) and back == value:
                return found
    return put_together(value < 0, digits, n, exponent)


cdef inline bint is_power_of_two(float value) noexcept:
    cdef uint32_t bits
    memcpy(&bits, &value, sizeof(bits))
    return (bits & 0x7fffff) == 0


# --- objects to text

cdef str text_of_object(object value):
    if isinstance(value, str):
        return value
    if isinstance(value, BaseException):
        return f"message : {message_of(value)}\n cause :{cause_of(value)}"
    return nested_text(value, ())


def message_of(error):
    """What an exception says; ``null`` if nothing."""
    return str(error) if error.args else "null"


def cause_of(error):
    """Type and message of the exception behind an exception; ``null`` if there is none."""
    cause = error.__cause__
    if cause is None and not error.__suppress_context__:
        cause = error.__context__
    return "null" if cause is None else named(cause)


def named(error):
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def nested_text(value, path):
    """Text of an element; `path` holds the containers around it, so that one that contains itself comes to an end."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return text_of_double(value)
    if isinstance(value, BaseException):
        return named(value)
    if not isinstance(value, (list, tuple, set, frozenset, dict)):
        return str(value)
    if any(value is outer for outer in path):
        return "[...]"
    path += (value,)
    if isinstance(value, dict):
        pairs = [f"{nested_text(key, path)}={nested_text(item, path)}" for key, item in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (set, frozenset)):
        value = in_order(value)
    return "[" + ", ".join([nested_text(item, path) for item in value]) + "]"


def in_order(elements):
    """Elements of a set, sorted, so that their text is the same in every run."""
    try:
        return sorted(elements)
    except TypeError:
        return sorted(elements, key=lambda item: nested_text(item, ()))
