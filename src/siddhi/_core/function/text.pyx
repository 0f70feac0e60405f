"""The namespace ``str``, except for what uses regular expressions. A null argument is an error."""

from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR, PyUnicode_Substring
from libc.stdint cimport int32_t, int64_t

import re

from siddhi._core.expression.cast import make_convert
from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn, keep_object, new_executor, new_object_executor
from siddhi._core.expression.function import make_coalesce
from siddhi._core.record.event cimport OBJECT, STRING, EventC
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, VALUE, FrameC
from siddhi._core.record.java cimport text_of_object
from siddhi.errors import shown

PLACE = re.compile(r"\{\{([^{}]*)\}\}")


cdef inline str text_at(const ExecC* x, EventC* e, FrameC* f, int argument, str name):
    cdef void* text
    if x.args[argument].fn(x.args[argument], e, f, &text) == NULL_VALUE:
        raise ValueError(f"str:{name}() got null: expected a text")
    return <str> text


cdef inline int int_at(const ExecC* x, EventC* e, FrameC* f, int argument, str name, int32_t* out) except -1:
    if x.args[argument].fn(x.args[argument], e, f, out) == NULL_VALUE:
        raise ValueError(f"str:{name}() got null: expected an int")
    return 0


# --- text → text

cdef int lower(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    return keep_object(x, text_at(x, e, f, 0, "lower").lower(), out)


cdef int upper(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    return keep_object(x, text_at(x, e, f, 0, "upper").upper(), out)


cdef int trim(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    """Evaluate str:trim: as in Java, a blank is every character up to the space."""
    cdef str text = text_at(x, e, f, 0, "trim")
    cdef Py_ssize_t low = 0, high = PyUnicode_GET_LENGTH(text)
    while low < high and PyUnicode_READ_CHAR(text, low) <= 32:
        low += 1
    while low < high and PyUnicode_READ_CHAR(text, high - 1) <= 32:
        high -= 1
    return keep_object(x, PyUnicode_Substring(text, low, high), out)


cdef int reverse(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    return keep_object(x, text_at(x, e, f, 0, "reverse")[::-1], out)


cdef int hex_of_text(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    return keep_object(x, text_at(x, e, f, 0, "hex").encode("utf-8", "surrogatepass").hex(), out)


cdef int text_of_hex(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef str digits = text_at(x, e, f, 0, "unhex")
    try:
        text = bytes.fromhex(digits).decode("utf-8", "surrogatepass")
    except ValueError:
        raise ValueError(f"str:unhex() got {shown(digits)}: expected hexadecimal digits of a text in UTF-8") from None
    return keep_object(x, text, out)


cdef int char_at(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef int32_t index
    cdef str text = text_at(x, e, f, 0, "charAt")
    int_at(x, e, f, 1, "charAt", &index)
    if index < 0 or index >= PyUnicode_GET_LENGTH(text):
        raise IndexError(f"str:charAt() got index {index}: the text has {len(text)} characters")
    return keep_object(x, PyUnicode_Substring(text, index, index + 1), out)


cdef int repeat(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef int32_t times
    cdef str text = text_at(x, e, f, 0, "repeat")
    int_at(x, e, f, 1, "repeat", &times)
    if times < 0:
        raise ValueError(f"str:repeat() got {times} times: expected a number that is not negative")
    return keep_object(x, text * times, out)


cdef int substr(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef int32_t begin, length
    cdef str text = text_at(x, e, f, 0, "substr")
    cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text), end = n
    int_at(x, e, f, 1, "substr", &begin)
    if x.n_args == 3:
        int_at(x, e, f, 2, "substr", &length)
        end = <Py_ssize_t> begin + length
    if begin < 0 or end < begin or end > n:
        raise IndexError(f"str:substr() got positions {begin} to {end}: the text has {n} characters")
    return keep_object(x, PyUnicode_Substring(text, begin, end), out)


# --- text → int, long, bool

cdef int length(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef void* text
    if x.left.fn(x.left, e, f, &text) == NULL_VALUE:
        raise ValueError("str:length() got null: expected a text")
    out[0] = <int32_t> PyUnicode_GET_LENGTH(<object> text)
    return VALUE


cdef int char_frequency(const ExecC* x, EventC* e, FrameC* f, int64_t* out) except -1:
    cdef str text = text_at(x, e, f, 0, "charFrequency")
    cdef str character = text_at(x, e, f, 1, "charFrequency")
    if PyUnicode_GET_LENGTH(character) != 1:
        raise ValueError(f"str:charFrequency() got {shown(character)}: expected one character")
    out[0] = text.count(character)
    return VALUE


cdef int locate(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef int32_t start = 0
    cdef str part = text_at(x, e, f, 0, "locate")
    cdef str text = text_at(x, e, f, 1, "locate")
    cdef Py_ssize_t found
    if x.n_args == 3:
        int_at(x, e, f, 2, "locate", &start)
        if start < 0 or start > PyUnicode_GET_LENGTH(text):
            raise IndexError(f"str:locate() got the start {start}: the text has {len(text)} characters")
    found = text.find(part, start)
    out[0] = <int32_t> (found if found >= 0 else start - 1)
    return VALUE


cdef int compare(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef str one = text_at(x, e, f, 0, "strcmp")
    cdef str other = text_at(x, e, f, 1, "strcmp")
    cdef Py_ssize_t i, n = min(PyUnicode_GET_LENGTH(one), PyUnicode_GET_LENGTH(other))
    for i in range(n):
        if PyUnicode_READ_CHAR(one, i) != PyUnicode_READ_CHAR(other, i):
            out[0] = <int32_t> PyUnicode_READ_CHAR(one, i) - <int32_t> PyUnicode_READ_CHAR(other, i)
            return VALUE
    out[0] = <int32_t> (PyUnicode_GET_LENGTH(one) - PyUnicode_GET_LENGTH(other))
    return VALUE


cdef int contains(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef str text = text_at(x, e, f, 0, "contains")
    return text_at(x, e, f, 1, "contains") in text


cdef int equals_ignore_case(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef str one = text_at(x, e, f, 0, "equalsIgnoreCase")
    cdef str other = text_at(x, e, f, 1, "equalsIgnoreCase")
    if PyUnicode_GET_LENGTH(one) != PyUnicode_GET_LENGTH(other):
        return FALSE
    return one == other or one.lower() == other.lower() or one.upper() == other.upper()


# --- any → text

cdef int concat(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    """Join texts; the arguments are converted to text."""
    cdef void* text
    cdef int i
    cdef list parts = []
    for i in range(x.n_args):
        if x.args[i].fn(x.args[i], e, f, &text) != NULL_VALUE:
            parts.append(<object> text)
    return keep_object(x, "".join(parts), out)


cdef int fill_template(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef str template = text_at(x, e, f, 0, "fillTemplate")
    cdef void* value
    cdef int i
    places = {}
    for i in range(1, x.n_args):
        if x.args[i].fn(x.args[i], e, f, &value) == NULL_VALUE:
            raise ValueError(f"str:fillTemplate() got null as argument {i + 1}")
        places[str(i)] = <object> value
    if x.slot:
        places = places["1"]
        if not isinstance(places, dict):
            raise TypeError(f"str:fillTemplate() got {shown(places)}: expected a map")

    def value_of(match):
        name = match.group(1)
        if name not in places:
            raise ValueError(f"str:fillTemplate() has no value for {{{{{name}}}}}")
        return text_of_object(places[name])

    return keep_object(x, PLACE.sub(value_of, template), out)


cdef tuple as_texts(tuple arguments, int first):
    """Return the arguments, from one on converted to text."""
    return arguments[:first] + tuple([
        each if (<Executor> each).type == STRING else make_convert(each, STRING) for each in arguments[first:]])


def make(str name not None, tuple arguments not None, int type):
    """Return the executor of a function of the namespace.

    Args:
        name: its name without the namespace.
        arguments: executors of types that the function accepts.
        type: TypeCode of the result.

    Raises:
        LookupError: the name is unknown.
    """
    cdef eval_fn fn
    cdef Executor executor
    if name == "coalesce":
        return make_coalesce(arguments, "str:coalesce")
    cdef bint with_map = name == "fillTemplate" and (<Executor> arguments[1]).type == OBJECT
    if name == "concat":
        arguments = as_texts(arguments, 0)
    elif name == "fillTemplate" and not with_map:
        arguments = as_texts(arguments, 1)
    description = f"str:{name}({', '.join([each.description for each in arguments])})"
    if name in ("length", "charFrequency", "locate", "strcmp", "contains", "equalsIgnoreCase"):
        fn = (<eval_fn> length if name == "length" else <eval_fn> char_frequency if name == "charFrequency" else
              <eval_fn> locate if name == "locate" else <eval_fn> compare if name == "strcmp" else
              <eval_fn> contains if name == "contains" else <eval_fn> equals_ignore_case)
        return new_executor(fn, type, arguments, description)
    if name not in ("lower", "upper", "trim", "reverse", "hex", "unhex", "charAt", "repeat", "substr", "concat",
                    "fillTemplate"):
        raise LookupError(f"the core has no function 'str:{name}'")
    fn = (<eval_fn> lower if name == "lower" else <eval_fn> upper if name == "upper" else
          <eval_fn> trim if name == "trim" else
          <eval_fn> reverse if name == "reverse" else <eval_fn> hex_of_text if name == "hex" else
          <eval_fn> text_of_hex if name == "unhex" else <eval_fn> char_at if name == "charAt" else
          <eval_fn> repeat if name == "repeat" else <eval_fn> substr if name == "substr" else
          <eval_fn> concat if name == "concat" else <eval_fn> fill_template)
    executor = new_object_executor(fn, STRING, arguments, description)
    executor.c.slot = with_map
    return executor
