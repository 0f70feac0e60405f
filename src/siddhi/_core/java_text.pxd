# Numbers as Java writes and reads them. Doubles and floats: the shortest digits that identify the value, at least one
# digit after the point, `d.dddEn` from 10^7 up and below 10^-3.

from libc.stdint cimport int32_t, int64_t

cdef str text_of_double(double value)
cdef str text_of_float(float value)
cdef str text_of_object(object value)      # nested lists, sets and maps; exceptions as `message : ...`

# Readers: 1 and the number, or 0 where the text does not hold one (out untouched).
cdef int parse_int(str text, int32_t* out) noexcept
cdef int parse_long(str text, int64_t* out) noexcept
cdef int parse_float(str text, float* out) except -1
cdef int parse_double(str text, double* out) except -1
