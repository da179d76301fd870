/* Computes ramps of velocity with bounded jerk, and checks that a joint can
 * still come to rest inside its limits; see ft_governor.h. */
#ifndef FT_RAMP_H
#define FT_RAMP_H

#include "ft_config.h" /* ft_follow_config */
#include "ft_model.h"  /* ft_real */
#include "ft_number.h" /* ft_size, FT_INLINE */

#include <stdbool.h>
#include <stdint.h>

#define FT_RAMP_DT (FT_C(1.0) / (ft_real)FT_TICK_HZ)

/* A joint's sample. p is relative to the previous position. */
typedef struct {
    ft_real p, v, a;
} ft_moving;

/* The distances from a joint to its limits. */
typedef struct {
    ft_real below, above;
} ft_room;

/* A ramp to another velocity, with zero acceleration at its end: constant jerk,
 * constant acceleration, opposite jerk. */
typedef struct {
    ft_real sign;              /* of the change */
    ft_real rise, level, fall; /* duration of each part, s */
    ft_real way;               /* rad or m it takes */
} ft_ramp;

/* Bounds of a ramp, up and down, while the reference accelerates. */
typedef struct {
    ft_real up, down, jerk, per_jerk;
} ft_bounds;

void ft_ramp_form(ft_ramp *r, ft_real v, ft_real a, ft_real w,
                  const ft_bounds *b);
ft_real ft_ramp_along(ft_moving *m, const ft_ramp *r, ft_real w, ft_real jerk,
                      ft_real t);
ft_real ft_ramp_braking_way(ft_real w, const ft_bounds *b);
ft_real ft_ramp_stop(ft_ramp *stop, const ft_moving *m,
                     const ft_follow_config *c);
ft_room ft_ramp_braking(const ft_moving *m, const ft_follow_config *c);
uint32_t ft_ramp_forbids(const ft_moving *now, const ft_follow_config *c,
                         const ft_room *room, const ft_moving *to);
void ft_ramp_brake(ft_moving *now, const ft_follow_config *c);

static FT_INLINE ft_real ft_larger(ft_real x, ft_real y)
{
    return x > y ? x : y;
}

static FT_INLINE ft_real ft_smaller(ft_real x, ft_real y)
{
    return x < y ? x : y;
}

/* Return the velocity after the acceleration is removed at full jerk. */
static FT_INLINE ft_real ft_ramp_coasting(ft_real v, ft_real a,
                                          ft_real per_jerk)
{
    return v + FT_C(0.5) * a * ft_size(a) * per_jerk;
}

#endif
