/* Catches up with a reference; see ft_governor.h. */
#include "ft_governor.h"

#include "ft_number.h" /* ft_clamp */

#include <stdbool.h>

#define DT FT_RAMP_DT
#define HALF FT_C(0.5)
#define STEPS 3 /* iterations of the search for a peak */

/* A joint's motion relative to its reference. If the displacement is negative,
 * the motion is mirrored, so that the joint moves up. */
typedef struct {
    ft_real v, a;    /* of the joint */
    ft_real goal;    /* where the reference is */
    ft_real fastest; /* velocity upwards */
    ft_bounds bounds;
} approach;

/* Return the overshoot beyond the reference if a joint accelerates to the peak
 * velocity w and then brakes. */
static ft_real beyond(const approach *c, ft_real w)
{
    ft_ramp r;

    ft_ramp_form(&r, c->v, c->a, w, &c->bounds);
    return r.way + ft_ramp_braking_way(w, &c->bounds) - c->goal;
}

/* A bracket of the peak velocity: a value that is too low and a value that is
 * too high, each with the joint's overshoot beyond the reference. */
typedef struct {
    ft_real low, below, high, above;
    bool found; /* low is good enough */
} ft_bracket;

/* Test the peak velocity whose ramp begins with a tick of full jerk. A higher
 * peak leads to the same motion in this tick. */
static void cut(ft_bracket *k, const approach *c, ft_real bound,
                bool upwards)
{
    const ft_real step = (upwards ? c->bounds.jerk : -c->bounds.jerk) * DT;
    const ft_real then = upwards ? ft_smaller(c->a + step, bound)
                                 : ft_larger(c->a + step, -bound);
    const ft_real w = ft_ramp_coasting(c->v + HALF * DT * (c->a + then), then,
                               c->bounds.per_jerk);
    ft_real far;

    if (k->found || !(w > k->low && w < k->high))
        return;
    far = beyond(c, w);
    if (upwards == (far <= FT_C(0.0))) {
        k->low = w;
        k->found = true;
    } else if (upwards) {
        k->high = w;
        k->above = far;
    } else {
        k->low = w;
        k->below = far;
    }
}

/* Narrow the bracket by secants with the Illinois rule. The overshoot at an end
 * that does not move is halved. */
static void narrow(ft_bracket *k, const approach *c)
{
    uint32_t i;
    int32_t side = 0;

    for (i = 0; i < STEPS; i++) {
        const ft_real span = k->above - k->below;
        const ft_real x =
            span > FT_C(1e-12) ? k->low - k->below * (k->high - k->low) / span
                               : HALF * (k->low + k->high);
        const ft_real w = ft_smaller(ft_larger(x, k->low), k->high);
        const ft_real far = beyond(c, w);

        if (far > FT_C(0.0)) {
            k->high = w;
            k->above = far;
            k->below *= side > 0 ? HALF : FT_C(1.0);
            side = 1;
        } else {
            k->low = w;
            k->below = far;
            k->above *= side < 0 ? HALF : FT_C(1.0);
            side = -1;
        }
    }
}

/* Return the peak velocity from which the joint comes to rest at the reference.
 * stop: the joint's overshoot if the joint brakes immediately. */
static ft_real peak(const approach *c, ft_real stop)
{
    ft_bracket k = { FT_C(0.0), stop, c->fastest, FT_C(0.0), false };

    k.above = beyond(c, k.high);
    if (!(k.above > FT_C(0.0)))
        return k.high;
    cut(&k, c, c->bounds.up, true);
    cut(&k, c, c->bounds.down, false);
    if (!k.found)
        narrow(&k, c);
    return k.low;
}

/* Move for a tick: accelerate to the peak velocity w, coast at w, and brake. */
static ft_moving hunt(const approach *c, ft_real w)
{
    ft_moving m = { FT_C(0.0), c->v, c->a };
    ft_real left, far, on;
    ft_ramp r;

    ft_ramp_form(&r, c->v, c->a, w, &c->bounds);
    left = ft_ramp_along(&m, &r, w, c->bounds.jerk, DT);
    if (!(left > FT_C(0.0)))
        return m;
    far = c->goal - r.way - ft_ramp_braking_way(w, &c->bounds);
    on = w > FT_C(0.0) ? ft_smaller(left, ft_larger(far, FT_C(0.0)) / w)
                       : FT_C(0.0);
    m.p += w * on;
    ft_ramp_form(&r, w, FT_C(0.0), FT_C(0.0), &c->bounds);
    left = ft_ramp_along(&m, &r, FT_C(0.0), c->bounds.jerk, left - on);
    if (left > FT_C(0.0))
        m.p = c->goal;
    return m;
}

/* Mirror an approach. */
static void mirror(approach *c, ft_real slowest)
{
    const ft_real up = c->bounds.up;

    c->v = -c->v;
    c->a = -c->a;
    c->goal = -c->goal;
    c->fastest = slowest;
    c->bounds.up = c->bounds.down;
    c->bounds.down = up;
}

/* Return the next sample on the time-optimal way to the reference. The
 * reference is assumed to keep its acceleration, at most 0.9 of the joint's
 * limit. */
ft_moving ft_catch_up(const ft_moving *now, const ft_follow_config *c,
                      const ft_room *room, const ft_moving *aim)
{
    const ft_real a = ft_clamp(aim->a, FT_C(0.9) * c->acceleration);
    const ft_real v = ft_clamp(aim->v - a * DT, c->velocity);
    const ft_real goal = aim->p - DT * (aim->v - HALF * a * DT);
    approach k = { now->v - v, now->a - a,
                   ft_smaller(ft_larger(goal, room->below), room->above),
                   c->velocity - v,
                   { c->acceleration - a, c->acceleration + a, c->jerk,
                     c->per_jerk } };
    ft_real sign = FT_C(1.0), stop;
    ft_moving m;
    ft_ramp r;

    ft_ramp_form(&r, k.v, k.a, FT_C(0.0), &k.bounds);
    stop = r.way - k.goal;
    if (!(stop <= FT_C(0.0))) {
        mirror(&k, c->velocity + v);
        sign = FT_C(-1.0);
        stop = -stop;
    }
    k.fastest = ft_larger(k.fastest, FT_C(1e-6));
    m = hunt(&k, peak(&k, stop));
    m.p = sign * m.p + DT * (v + HALF * a * DT);
    m.v = sign * m.v + v + a * DT;
    m.a = sign * m.a + a;
    return m;
}
