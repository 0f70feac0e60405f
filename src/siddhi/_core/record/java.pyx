"""Java's rules for text and numbers: parseInt to parseDouble, toString of numbers and objects, the order of a HashMap."""

from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR
from libc.math cimport INFINITY, NAN, fabs, isinf, isnan, nextafterf, signbit
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset, strlen

from decimal import Decimal
from fractions import Fraction

from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, STRING, CellC, EventC, Layout
from siddhi._core.record.exact cimport exact_text
from siddhi._core.record.null cimport is_null
from siddhi._arrays import python_value
from siddhi.errors import shown

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow_exception) except? -1.0
    bint PyUnicode_IS_ASCII(object text)
    void* PyUnicode_DATA(object text)
    int Py_UNICODE_TODECIMAL(uint32_t character)
    str PyUnicode_FromStringAndSize(const char* text, Py_ssize_t size)

cdef double TWO_TO_128 = 2.0 ** 128


# --- integers

cdef inline int parse_integer(str text, int64_t low, int64_t high, int64_t* out) noexcept:
    """Parse an optional sign and decimal digits of any script; nothing else may follow."""
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
        # Java reads UTF-16 units, so it does not accept digits beyond the basic plane.
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

cdef enum NumberForm:
    NO_NUMBER
    DECIMAL
    HEXADECIMAL
    NOT_A_NUMBER
    INFINITE

cdef struct Spelling:            # a floating-point text, blanks stripped
    const char* start
    const char* end              # after the number, before a suffix
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
    """Return the position after the sign and digits of an exponent; NULL if there are none."""
    cdef const char* digits
    if at < end and (at[0] == c'+' or at[0] == c'-'):
        at += 1
    digits = at
    at = skip_digits(at, end)
    return at if at > digits else NULL


cdef NumberForm spell(str text, Spelling* spelling) noexcept:
    """Match the grammar of Double.valueOf: blanks, sign, NaN, Infinity, decimal or hexadecimal, suffix f, F, d or D."""
    cdef const char* at
    cdef const char* end
    cdef const char* digits
    cdef Py_ssize_t n
    cdef NumberForm form = DECIMAL
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
    """Convert up to 15 digits and an exact power of ten: one multiplication or division rounds correctly."""
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
    """Write the nearest double; return 0 if the text is not a number."""
    cdef char* end = NULL
    cdef NumberForm form = spell(text, spelling)
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
    """Return the float nearest to the number in `text`; `value` is the double nearest to it.

    Rounding twice is wrong only if the double lies exactly between two floats and the number does not.
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
    """Return the number of a decimal or hexadecimal text as a Fraction."""
    if "x" not in text.lower():
        return Fraction(Decimal(text))
    mantissa, power = text.lower().split("p")
    whole, _, fraction = mantissa.partition(".")
    return Fraction(int(whole + fraction, 16)) * Fraction(2) ** (int(power) - 4 * len(fraction))


def value_of(text not None, int code):
    """Return the value of an attribute that a text stands for, by Java's grammar of numbers.

    Any text is a string, an object or a bool: ``true`` in any case is true, every other text is false.

    Args:
        text: the text; blanks around it are allowed for floating-point numbers only.
        code: the attribute's type code.

    Raises:
        ValueError: the text is not a number of the type, or out of its range.
    """
    return value_from(exact_text(text), code)


cdef object value_from(str text, int code):
    cdef int32_t integer
    cdef int64_t long_integer
    cdef float single
    cdef double real
    if code == INT:
        if parse_int(text, &integer):
            return integer
    elif code == LONG:
        if parse_long(text, &long_integer):
            return long_integer
    elif code == FLOAT:
        if parse_float(text, &single):
            return single
    elif code == DOUBLE:
        if parse_double(text, &real):
            return real
    elif code == BOOL:
        return text.lower() == "true"
    else:
        return text
    names = {INT: "an int", LONG: "a long", FLOAT: "a float", DOUBLE: "a double"}
    raise ValueError(f"{shown(text)} is not {names[code]}")


cdef class RecordReader:
    """Converts records, which are lists of texts, to rows of a stream, by Java's grammar of numbers.

    Args:
        columns: the index of each attribute's text in a record; -1: the attribute is null.
        codes: the attributes' type codes.
        null: the text that stands for null; None: there is none.
        lenient: whether a missing or unconvertible text is null instead of an error.
    """

    cdef list _columns, _codes
    cdef str _null
    cdef bint _lenient

    def __init__(self, list columns not None, list codes not None, str null=None, bint lenient=False):
        self._columns = columns
        self._codes = codes
        self._null = null
        self._lenient = lenient

    def rows(self, list records not None):
        """Return the rows of records.

        Raises:
            IndexError: a record is too short.
            ValueError: a text is not a number of its attribute's type, or out of its range.
        """
        return [self._row(record) for record in records]

    cdef tuple _row(self, list record):
        cdef Py_ssize_t i, column, n = len(self._columns)
        cdef object value
        cdef tuple row = PyTuple_New(n)
        for i in range(n):
            column = self._columns[i]
            value = None if column < 0 else self._value(record, column, self._codes[i])
            Py_INCREF(value)
            PyTuple_SET_ITEM(row, i, value)
        return row

    cdef object _value(self, list record, Py_ssize_t column, int code):
        if column >= len(record):  # indexes are not checked by the compiler's settings
            if self._lenient:
                return None
            raise IndexError("the record is too short")
        cdef str text = record[column]
        if self._null is not None and text == self._null:
            return None
        try:
            return value_from(text, code)
        except ValueError:
            if self._lenient:
                return None
            raise


# --- Numbers and objects as Java prints them.

cdef extern from "Python.h":
    char* PyOS_double_to_string(double value, char format, int precision, int flags, int* type) except NULL

cdef enum:
    MAX_DIGITS = 17              # of a double; a float has up to 9


def text_of(value, int code):
    """Return the text of an attribute's value, as ``convert(value, 'string')`` does; ``null`` for None.

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

cdef int split_digits(const char* text, char* digits, int* exponent) noexcept:
    """Write the significant digits and the exponent of the first one, of '123.45' or '1e-05'; return their number."""
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


cdef str join_digits(bint negative, const char* digits, int n, int exponent):
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


cdef int short_decimal(double value, int64_t end, bint single, char* digits, int* exponent) noexcept:
    """Write the digits of a number of at least 10^-3 that has up to six after the point; return 0 if it has more.

    At most one decimal of a given length below `end` (10^15 for a double, 10^6 for a float) reads as this number. So the
    first one found is the shortest one.
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
        return join_digits(value < 0, digits, n, exponent)
    text = PyOS_double_to_string(value, c'r', 0, 0, NULL)
    n = split_digits(text, digits, &exponent)
    PyMem_Free(text)
    if n == 1:
        # Java prints at least two digits and chooses the nearest number with two: 4.9E-324, not 5.0E-324.
        text = PyOS_double_to_string(value, c'e', 1, 0, NULL)
        n = split_digits(text, digits, &exponent)
        PyMem_Free(text)
    return join_digits(value < 0, digits, n, exponent)


cdef int next_up(char* digits, int n, int* exponent) noexcept:
    """Add one unit in the last of n digits, away from zero; return how many digits are left to write."""
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
        return join_digits(value < 0, digits, n, exponent)
    for places in range(2, 10):
        text = PyOS_double_to_string(value, c'e', places - 1, 0, NULL)
        n = split_digits(text, digits, &exponent)
        back = round_to_float(PyOS_string_to_double(text, NULL, NULL), text, strlen(text))
        PyMem_Free(text)
        if back == value:
            break
        if is_power_of_two(value):
            # Below a power of two, floats lie twice as close as above it: the next decimal up may identify it, too.
            for i in range(n, places):
                digits[i] = c'0'
            n = next_up(digits, places, &exponent)
            found = join_digits(value < 0, digits, n, exponent)
            if parse_float(found, &back) and back == value:
                return found
    return join_digits(value < 0, digits, n, exponent)


cdef inline bint is_power_of_two(float value) noexcept:
    cdef uint32_t bits
    memcpy(&bits, &value, sizeof(bits))
    return (bits & 0x7fffff) == 0


# --- objects to text

cdef str text_of_object(object value):
    if isinstance(value, str):
        return exact_text(value)
    if isinstance(value, BaseException):
        return f"message : {message_of(value)}\n cause :{cause_of(value)}"
    return nested_text(value, ())


def message_of(error):
    """Return the message of an exception; ``null`` if it has none."""
    return str(error) if error.args else "null"


def cause_of(error):
    """Return type and message of the cause of an exception; ``null`` if it has none."""
    cause = error.__cause__
    if cause is None and not error.__suppress_context__:
        cause = error.__context__
    return "null" if cause is None else named(cause)


def named(error):
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def nested_text(value, path):
    """Return the text of an element. `path` holds the containers around it, to detect one that contains itself."""
    if is_null(value):
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return text_of_double(value)
    if isinstance(value, str):
        return exact_text(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, BaseException):
        return named(value)
    elements = value
    if not isinstance(value, (list, tuple, set, frozenset, dict)):
        elements = python_value(value)
        if elements is value:
            return str(value)
        if not isinstance(elements, list):
            return nested_text(elements, path)
    if any(value is outer for outer in path):
        return "[...]"
    path += (value,)
    value = elements
    if isinstance(value, dict):
        pairs = [f"{nested_text(key, path)}={nested_text(item, path)}" for key, item in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (set, frozenset)):
        value = in_order(value)
    return "[" + ", ".join([nested_text(item, path) for item in value]) + "]"


def in_order(elements):
    """Return the elements of a set sorted, so that their text is the same in every run."""
    try:
        return sorted(elements)
    except TypeError:
        return sorted(elements, key=lambda item: nested_text(item, ()))


# --- The iteration order of a Java HashMap with text keys, for results that depend on it.
#
# Buckets are iterated by index, the keys of a bucket in order of insertion. The table doubles when it is three quarters
# full and never shrinks. Java turns buckets of eight and more keys into trees; this code does not.

cdef str text_of_cell(const EventC* event, Layout layout, int position):
    cdef const CellC* value = <const CellC*> &event.body[layout.words + position]
    cdef int code = layout.codes[position]
    if event.body[position >> 6] & ((<uint64_t> 1) << (position & 63)):
        return "null"
    if code == STRING:
        return <str> value.o
    if code == INT:
        return str(value.i)
    if code == LONG:
        return str(value.l)
    if code == FLOAT:
        return text_of_float(value.f)
    if code == DOUBLE:
        return text_of_double(value.d)
    if code == BOOL:
        return "true" if value.i else "false"
    return text_of_object(<object> value.o)


cdef uint32_t hash_of_key(const EventC* event, Layout layout, tuple positions) except? 0xffffffff:
    """Return the spread hash of the concatenated texts of some cells."""
    cdef uint32_t hash = 0, unit
    cdef Py_ssize_t i
    cdef str text
    for position in positions:
        text = text_of_cell(event, layout, position)
        for i in range(PyUnicode_GET_LENGTH(text)):
            unit = PyUnicode_READ_CHAR(text, i)
            if unit > 0xffff:
                hash = 31 * hash + (0xd7c0 + (unit >> 10))
                unit = 0xdc00 + (unit & 0x3ff)
            hash = 31 * hash + unit
    return hash ^ (hash >> 16)


cdef uint32_t table_size(Py_ssize_t most) noexcept:
    """Return the number of buckets of a table that has contained up to `most` keys."""
    cdef uint32_t size = 16
    while most > <Py_ssize_t> (size - size // 4):
        size *= 2
    return size
