# The five operations of SiddhiQL on numbers of one type, with Java's results. Each returns VALUE or NULL_VALUE.

from libc.stdint cimport int32_t, int64_t

from siddhi._core.record.frame cimport NULL_VALUE, VALUE

cdef extern from "siddhi/arithmetic.h" nogil:
    int32_t siddhi_add_i(int32_t a, int32_t b)
    int32_t siddhi_sub_i(int32_t a, int32_t b)
    int32_t siddhi_mul_i(int32_t a, int32_t b)
    int32_t siddhi_div_i(int32_t a, int32_t b)
    int32_t siddhi_mod_i(int32_t a, int32_t b)
    int64_t siddhi_add_l(int64_t a, int64_t b)
    int64_t siddhi_sub_l(int64_t a, int64_t b)
    int64_t siddhi_mul_l(int64_t a, int64_t b)
    int64_t siddhi_div_l(int64_t a, int64_t b)
    int64_t siddhi_mod_l(int64_t a, int64_t b)
    float siddhi_mod_f(float a, float b)
    double siddhi_mod_d(double a, double b)

ctypedef fused num:
    int32_t
    int64_t
    float
    double

cdef inline int add(num a, num b, num* out) noexcept:
    if num is int32_t:
        out[0] = siddhi_add_i(a, b)
    elif num is int64_t:
        out[0] = siddhi_add_l(a, b)
    else:
        out[0] = a + b
    return VALUE

cdef inline int subtract(num a, num b, num* out) noexcept:
    if num is int32_t:
        out[0] = siddhi_sub_i(a, b)
    elif num is int64_t:
        out[0] = siddhi_sub_l(a, b)
    else:
        out[0] = a - b
    return VALUE

cdef inline int multiply(num a, num b, num* out) noexcept:
    if num is int32_t:
        out[0] = siddhi_mul_i(a, b)
    elif num is int64_t:
        out[0] = siddhi_mul_l(a, b)
    else:
        out[0] = a * b
    return VALUE

cdef inline int divide(num a, num b, num* out) noexcept:
    if b == 0:
        return NULL_VALUE
    if num is int32_t:
        out[0] = siddhi_div_i(a, b)
    elif num is int64_t:
        out[0] = siddhi_div_l(a, b)
    else:
        out[0] = a / b
    return VALUE

cdef inline int remainder(num a, num b, num* out) noexcept:
    if b == 0:
        return NULL_VALUE
    if num is int32_t:
        out[0] = siddhi_mod_i(a, b)
    elif num is int64_t:
        out[0] = siddhi_mod_l(a, b)
    elif num is float:
        out[0] = siddhi_mod_f(a, b)
    else:
        out[0] = siddhi_mod_d(a, b)
    return VALUE
