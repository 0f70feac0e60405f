/* The value a user sees for a single-precision number: the double with the fewest decimal digits that still names this
 * float (0.1f is 0.1, not 0.10000000149011612), as Java prints it. Converting it back to single gives the same float.
 */
#ifndef SIDDHI_SINGLE_H
#define SIDDHI_SINGLE_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline double siddhi_shortest_double(float value)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    double size = fabs((double)value);
    char text[32];
    int digits, places;
    if (value - value != 0) return value; /* infinities and NaN */
    if (size < 16777216.0 && size == (double)(int32_t)size) return value;
    if (size >= 1e-3) {
        /* No two decimals of up to six digits name the same float, so the first that names this one is the shortest. */
        for (places = 1; places <= 6; places++) {
            double scaled = floor(size * powers[places] + 0.5);
            if (scaled >= 1e6) break;
            if ((float)(scaled / powers[places]) == (float)size) return copysign(scaled / powers[places], value);
        }
    }
    for (digits = size < FLT_MIN ? 2 : 6; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) return strtod(text, NULL);
    }
    snprintf(text, sizeof text, "%.9g", (double)value);
    return strtod(text, NULL);
}

#endif
