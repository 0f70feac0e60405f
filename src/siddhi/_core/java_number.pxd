# Text as numbers, by Java's grammar. A reader returns 1 and writes the number, or 0 where the text holds none of it.

from libc.stdint cimport int32_t, int64_t

cdef int parse_int(str text, int32_t* out) noexcept
cdef int parse_long(str text, int64_t* out) noexcept
cdef int parse_float(str text, float* out) except -1
cdef int parse_double(str text, double* out) except -1

# The float nearest to the number that `text` spells, given the double nearest to it.
cdef float round_to_float(double value, const char* text, Py_ssize_t length) except? -1.0
