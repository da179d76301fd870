/* The time of the chip. */
#include "parts.h"

/* Return s since power-on. */
double parts_seconds(const parts *l)
{
    int64_t gone = l->count->now - l->cycles_then;
    return l->seconds_before + (double)gone / l->hz;
}
