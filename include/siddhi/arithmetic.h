/* Arithmetic as the Java virtual machine defines it: two's complement wrap-around, truncating division whose remainder
 * takes the dividend's sign, saturating conversion from floating point. No function has undefined behaviour, except
 * that the divisor of division and remainder must not be zero (callers return null then).
 */
#ifndef SIDDHI_ARITHMETIC_H
#define SIDDHI_ARITHMETIC_H

#include <limits.h>
#include <math.h>
#include <stdint.h>

static inline int32_t siddhi_add_i(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
static inline int32_t siddhi_sub_i(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
static inline int32_t siddhi_mul_i(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }
/* INT_MIN / -1 overflows; -1 is handled as negation, which wraps. */
static inline int32_t siddhi_div_i(int32_t a, int32_t b) { return b == -1 ? siddhi_sub_i(0, a) : a / b; }
static inline int32_t siddhi_mod_i(int32_t a, int32_t b) { return b == -1 ? 0 : a % b; }

static inline int64_t siddhi_add_l(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t siddhi_sub_l(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t siddhi_mul_l(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static inline int64_t siddhi_div_l(int64_t a, int64_t b) { return b == -1 ? siddhi_sub_l(0, a) : a / b; }
static inline int64_t siddhi_mod_l(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

static inline float siddhi_mod_f(float a, float b) { return fmodf(a, b); }
static inline double siddhi_mod_d(double a, double b) { return fmod(a, b); }

static inline int32_t siddhi_narrow(int64_t a) { return (int32_t)(uint32_t)(uint64_t)a; }

static inline int32_t siddhi_d2i(double a)
{
    if (isnan(a)) return 0;
    if (a >= 2147483647.0) return INT32_MAX;
    if (a <= -2147483648.0) return INT32_MIN;
    return (int32_t)a;
}

static inline int64_t siddhi_d2l(double a)
{
    if (isnan(a)) return 0;
    if (a >= 9223372036854775807.0) return INT64_MAX;
    if (a <= -9223372036854775808.0) return INT64_MIN;
    return (int64_t)a;
}

#endif
