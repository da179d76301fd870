/* The pace of path time; see ft_pace.h. */
#include "ft_pace.h"

/* Return the decrease of pace while the slope rises from -r to zero. */
static int32_t triangle(int32_t r)
{
    return r * (r + 1) / 2;
}

/* Return the steepest slope that can return to zero within the pace. */
static int32_t steepest(int32_t slope, int32_t left)
{
    int32_t s = slope - 1;

    while (s < 0 && triangle(-s) > left)
        s++;
    return s;
}

/* Return the pace of the next tick on the way to a standstill. */
ft_pace ft_pace_brake(ft_pace p)
{
    p.slope = steepest(p.slope, p.half);
    p.half += p.slope;
    return p;
}

/* Return the next pace on the way to 1, which mirrors braking. */
ft_pace ft_pace_rise(ft_pace p)
{
    p.slope = -steepest(-p.slope, FT_HALF_ONE - p.half);
    p.half += p.slope;
    return p;
}

/* Return an upper bound of the path that is played while braking from p. */
uint32_t ft_pace_stop_length(ft_pace p)
{
    uint32_t rising = p.slope > 0 ? (uint32_t)p.slope : 0u;
    uint32_t peak = (uint32_t)p.half + rising * rising / 2u;

    return 2u * peak * ((uint32_t)FT_RAMP + rising);
}
