/* The pace of path time: the path that one tick plays, 1 in motion, 0 at rest.
 *
 * Path time is counted in whole units, so it does not drift. Half a tick at
 * pace 1 has FT_HALF_ONE units. The slope of the pace changes by at most one
 * unit per tick. As FT_HALF_ONE = FT_RAMP^2, a full stop takes exactly 2
 * FT_RAMP ticks and ends at pace 0 with slope 0. */
#ifndef FT_PACE_H
#define FT_PACE_H

#include "ft_config.h" /* FT_RAMP */

#include <stdint.h>

#define FT_HALF_ONE ((int32_t)FT_RAMP * FT_RAMP)

typedef struct {
    int32_t half;  /* path units in half a tick, 0..FT_HALF_ONE */
    int32_t slope; /* change of half in the last tick */
} ft_pace;

ft_pace ft_pace_brake(ft_pace p);
ft_pace ft_pace_rise(ft_pace p);
uint32_t ft_pace_stop_length(ft_pace p);

/* Return the pace of the next tick on the way to 1. */
static inline ft_pace ft_pace_run(ft_pace p)
{
    const ft_pace one = { FT_HALF_ONE, 0 };

    return p.half == FT_HALF_ONE ? one : ft_pace_rise(p);
}

#endif
