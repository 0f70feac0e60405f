/* The value a user sees for a single-precision number: the double with the fewest decimal digits that still names this
 * float (0.1f is 0.1, not 0.10000000149011612), as Java prints it. Converting it back to single gives the same float.
 */
#ifndef SIDDHI_SINGLE_H
#define SIDDHI_SINGLE_H

#include <stdio.h>
#include <stdlib.h>

static inline double siddhi_shortest_double(float value)
{
    char text[32];
    int digits;
    if (value - value != 0) return value; /* infinities and NaN */
    if (value > -16777216.0f && value < 16777216.0f && value == (float)(int)value) return value;
    for (digits = 6; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) return strtod(text, NULL);
    }
    snprintf(text, sizeof text, "%.9g", (double)value);
    return strtod(text, NULL);
}

#endif
