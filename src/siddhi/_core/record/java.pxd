# Conversion of text to numbers by Java's grammar. A parser writes the number and returns 1; it returns 0 for other text.

from libc.stdint cimport int32_t, int64_t, uint32_t

from siddhi._core.record.event cimport EventC, Layout

cdef int parse_int(str text, int32_t* out) noexcept
cdef int parse_long(str text, int64_t* out) noexcept
cdef int parse_float(str text, float* out) except -1
cdef int parse_double(str text, double* out) except -1

# Return the float nearest to the number in `text`, given the double nearest to it.
cdef float round_to_float(double value, const char* text, Py_ssize_t length) except? -1.0

# --- Numbers and objects as Java prints them. Doubles and floats have the fewest digits that identify the value, and at
# least one digit after the point; from 10^7 up and below 10^-3 the form is `d.dddEn`.
cdef str text_of_double(double value)
cdef str text_of_float(float value)
cdef str text_of_object(object value)      # nested lists, sets and maps; exceptions as `message : ...`

# --- Iteration order of a Java HashMap over text keys: by (hash & (table size - 1), order of insertion).
cdef uint32_t hash_of_key(const EventC* event, Layout layout, tuple positions) except? 0xffffffff
cdef uint32_t table_size(Py_ssize_t most) noexcept
