"""Text as numbers, by Java's grammar: parseInt, parseLong, Float.parseFloat, Double.parseDouble."""

from cpython.object cimport PyObject
from libc.math cimport INFINITY, NAN, isinf, nextafterf
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int32_t, int64_t, uint32_t

from decimal import Decimal
from fractions import Fraction

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow_exception) except? -1.0
    bint PyUnicode_IS_ASCII(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    uint32_t PyUnicode_READ_CHAR(object text, Py_ssize_t index)
    int Py_UNICODE_TODECIMAL(uint32_t character)
    str PyUnicode_FromStringAndSize(const char* text, Py_ssize_t size)

cdef double TWO_TO_128 = 2.0 ** 128


# --- integers

cdef inline int parse_integer(str text, int64_t low, int64_t high, int64_t* out) noexcept:
    """An optional sign and decimal digits (of any script), nothing else."""
    cdef Py_ssize_t i = 0, n = PyUnicode_GET_LENGTH(text)
    cdef int64_t value = 0, limit = -high
    cdef bint negative = False
    cdef int digit
    cdef uint32_t character
    if n == 0:
        return 0
    character = PyUnicode_READ_CHAR(text, 0)
    if character == c'-' or character == c'+':
        negative = character == c'-'
        i = 1
        if negative:
            limit = low
        if n == 1:
            return 0
    while i < n:
        character = PyUnicode_READ_CHAR(text, i)
        # Java reads UTF-16 units: a digit beyond the basic plane is no digit to it.
        digit = Py_UNICODE_TODECIMAL(character) if character <= 0xffff else -1
        if digit < 0 or value < limit // 10:
            return 0
        value *= 10
        if value < limit + digit:
            return 0
        value -= digit
        i += 1
    out[0] = value if negative else -value
    return 1


cdef int parse_int(str text, int32_t* out) noexcept:
    cdef int64_t value
    if not parse_integer(text, INT32_MIN, INT32_MAX, &value):
        return 0
    out[0] = <int32_t> value
    return 1


cdef int parse_long(str text, int64_t* out) noexcept:
    return parse_integer(text, INT64_MIN, INT64_MAX, out)


# --- floating point

cdef enum Form:
    NO_NUMBER
    DECIMAL
    HEXADECIMAL
    NOT_A_NUMBER
    INFINITE

cdef struct Spelling:            # a floating-point text, blanks stripped
    const char* start
    const char* end              # behind the number, in front of a suffix
    bint negative


cdef inline bint is_digit(char c) noexcept:
    return c'0' <= c <= c'9'


cdef inline bint is_hex_digit(char c) noexcept:
    return is_digit(c) or c'a' <= (c | 0x20) <= c'f'


cdef const char* skip_digits(const char* at, const char* end) noexcept:
    while at < end and is_digit(at[0]):
        at += 1
    return at


cdef const char* skip_hex_digits(const char* at, const char* end) noexcept:
    while at < end and is_hex_digit(at[0]):
        at += 1
    return at


cdef bint is_word(const char* at, const char* end, const char* word, Py_ssize_t n) noexcept:
    cdef Py_ssize_t i
    if end - at != n:
        return False
    for i in range(n):
        if at[i] != word[i]:
            return False
    return True


cdef const char* skip_exponent(const char* at, const char* end) noexcept:
    """Behind sign and digits of an exponent; NULL if there are none."""
    cdef const char* digits
    if at < end and (at[0] == c'+' or at[0] == c'-'):
        at += 1
    digits = at
    at = skip_digits(at, end)
    return at if at > digits else NULL


cdef Form spell(str text, Spelling* spelling) noexcept:
    """The grammar of Double.valueOf: blanks, sign, NaN, Infinity, decimal or hexadecimal, suffix f, F, d or D."""
    cdef const char* at
    cdef const char* end
    cdef const char* digits
    cdef Py_ssize_t n
    cdef Form form = DECIMAL
    if not PyUnicode_IS_ASCII(text):
        return NO_NUMBER
    at = <const char*> PyUnicode_DATA(text)
    end = at + PyUnicode_GET_LENGTH(text)
    while at < end and at[0] <= c' ':
        at += 1
    while at < end and (end - 1)[0] <= c' ':
        end -= 1
    spelling.start = at
    spelling.negative = at < end and at[0] == c'-'
    if at < end and (at[0] == c'-' or at[0] == c'+'):
        at += 1
    if is_word(at, end, b"NaN", 3):
        return NOT_A_NUMBER
    if is_word(at, end, b"Infinity", 8):
        return INFINITE
    if end - at > 2 and at[0] == c'0' and (at[1] | 0x20) == c'x':
        form = HEXADECIMAL
        at += 2
        digits = at
        at = skip_hex_digits(at, end)
        n = at - digits
        if at < end and at[0] == c'.':
            at += 1
            digits = at
            at = skip_hex_digits(at, end)
            n += at - digits
        if n == 0 or at == end or (at[0] | 0x20) != c'p':
            return NO_NUMBER
        at = skip_exponent(at + 1, end)
    else:
        digits = at
        at = skip_digits(at, end)
        n = at - digits
        if at < end and at[0] == c'.':
            at += 1
            digits = at
            at = skip_digits(at, end)
            n += at - digits
        if n == 0:
            return NO_NUMBER
        if at < end and (at[0] | 0x20) == c'e':
            at = skip_exponent(at + 1, end)
    if at is NULL:
        return NO_NUMBER
    spelling.end = at
    if at < end and ((at[0] | 0x20) == c'f' or (at[0] | 0x20) == c'd'):
        at += 1
    return form if at == end else NO_NUMBER


cdef double[23] POWERS_OF_TEN     # those that a double holds exactly
for _power in range(23):
    POWERS_OF_TEN[_power] = float(f"1e{_power}")


cdef bint read_short_decimal(const Spelling* spelling, double* out) noexcept:
    """Up to 15 digits and a power of ten that is exact: one multiplication or division rounds it rightly."""
    cdef const char* at = spelling.start
    cdef int64_t mantissa = 0
    cdef int digits = 0, exponent = 0, power = 0
    cdef bint behind_point = False, negative_power
    cdef double value
    if not is_digit(at[0]) and at[0] != c'.':
        at += 1
    while at < spelling.end and (at[0] | 0x20) != c'e':
        if at[0] == c'.':
            behind_point = True
        else:
            mantissa = 10 * mantissa + (at[0] - c'0')
            digits += mantissa != 0
            exponent -= behind_point
        at += 1
        if digits > 15:
            return False
    if at < spelling.end:
        at += 1
        negative_power = at[0] == c'-'
        if not is_digit(at[0]):
            at += 1
        while at < spelling.end:
            power = 10 * power + (at[0] - c'0')
            if power > 1000:
                return False
            at += 1
        exponent += -power if negative_power else power
    if exponent < -22 or exponent > 22:
        return False
    value = <double> mantissa
    value = value / POWERS_OF_TEN[-exponent] if exponent < 0 else value * POWERS_OF_TEN[exponent]
    out[0] = -value if spelling.negative else value
    return True


cdef int read_number(str text, Spelling* spelling, double* out) except -1:
    """The nearest double; 0 if the text holds no number."""
    cdef char* end = NULL
    cdef Form form = spell(text, spelling)
    if form == NO_NUMBER:
        return 0
    if form == NOT_A_NUMBER:
        out[0] = NAN
    elif form == INFINITE:
        out[0] = -INFINITY if spelling.negative else INFINITY
    elif form == DECIMAL:
        if not read_short_decimal(spelling, out):
            out[0] = PyOS_string_to_double(spelling.start, &end, NULL)
    else:
        try:
            out[0] = float.fromhex(PyUnicode_FromStringAndSize(spelling.start, spelling.end - spelling.start))
        except OverflowError:
            out[0] = -INFINITY if spelling.negative else INFINITY
    return 1


cdef int parse_double(str text, double* out) except -1:
    cdef Spelling spelling
    return read_number(text, &spelling, out)


cdef int parse_float(str text, float* out) except -1:
    cdef Spelling spelling
    cdef double value
    if not read_number(text, &spelling, &value):
        return 0
    if value - value != 0:
        out[0] = <float> value
    else:
        out[0] = round_to_float(value, spelling.start, spelling.end - spelling.start)
    return 1


cdef float round_to_float(double value, const char* text, Py_ssize_t length) except? -1.0:
    """The float nearest to the number that `text` spells and `value` is nearest to among doubles.

    Rounding twice goes wrong only where the double lies exactly between two floats and the number does not.
    """
    cdef float near = <float> value
    cdef float other
    cdef double a = near, b
    if a == value:
        return near
    other = nextafterf(near, -INFINITY if a > value else INFINITY)
    b = other
    # Beyond the greatest float the next step of the same width would be 2^128.
    if isinf(a):
        a = TWO_TO_128 if a > 0 else -TWO_TO_128
    elif isinf(b):
        b = TWO_TO_128 if b > 0 else -TWO_TO_128
    if (a + b) / 2 != value:
        return near
    exact = exact_number(PyUnicode_FromStringAndSize(text, length))
    if exact == Fraction(value):
        return near
    return max(near, other) if exact > Fraction(value) else min(near, other)


def exact_number(text):
    """The number that a decimal or hexadecimal text spells, as a Fraction."""
    if "x" not in text.lower():
        return Fraction(Decimal(text))
    mantissa, power = text.lower().split("p")
    whole, _, fraction = mantissa.partition(".")
    return Fraction(int(whole + fraction, 16)) * Fraction(2) ** (int(power) - 4 * len(fraction))
