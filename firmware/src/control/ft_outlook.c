/* The outlook: positions that the reference may reach; see ft_outlook.h. */
#include "ft_outlook.h"

#include "ft_config.h" /* ft_follow_joint */
#include "ft_number.h" /* ft_clamp, ft_size */

#define AT_ONCE 1u            /* joints a tick */
#define WAITING 2u            /* knots ahead of the piece that are considered */
#define PLACES (FT_KEPT + WAITING)
#define STEPS 5u              /* that show a motion */
#define NEXT (FT_KEPT - 2u)   /* index of the knot at the end of the piece */
#define ON FT_C(4.0)          /* steps for which a motion is expected to
                               * continue */
#define TURN FT_C(0.125)      /* of a step's change */
#define LITTLE FT_C(0.02)     /* rounding error, over the displacement by full
                               * jerk */
#define TOO_MUCH FT_C(2.25)   /* jerk of noise, over the jerk limit */
#define MOST FT_C(1e9)        /* larger than the growth of any step */

/* ---- ranges ------------------------------------------------------------- */

/* Widen a range to a position. NaN widens nothing. */
static void also(ft_room *room, ft_real p)
{
    if (p < room->below)
        room->below = p;
    if (p > room->above)
        room->above = p;
}

static ft_room shifted(const ft_room *room, ft_real by)
{
    const ft_room r = { room->below + by, room->above + by };

    return r;
}

/* ---- knots without velocities -------------------------------------------- */

/* Widen a range to a continuing motion's positions: multiples of the slowest of
 * the last steps, and more if the steps grow. At a reversal the curve also
 * overshoots its knots slightly. */
static void go_on(ft_room *room, const ft_real *newest)
{
    const ft_real step = newest[0] - newest[-1];
    const ft_real sign = step < FT_C(0.0) ? FT_C(-1.0) : FT_C(1.0);
    ft_real after = step, slowest = sign * step, gain = MOST, loss = MOST, on;
    int32_t i;

    for (i = 1; i < (int32_t)STEPS; i++) {
        const ft_real before = newest[-i] - newest[-i - 1];
        const ft_real change = sign * (after - before);

        if (i == 1)
            slowest = ft_smaller(slowest, sign * step + change);
        slowest = ft_smaller(slowest, sign * before);
        gain = ft_smaller(gain, change);
        loss = ft_smaller(loss, -change);
        after = before;
    }
    gain = ft_larger(gain, FT_C(0.0));
    slowest = ft_larger(slowest, FT_C(0.0)) + FT_C(4.0) * gain;
    on = ON * ft_smaller(sign * step, slowest)
         + TURN * ft_larger(loss, FT_C(0.0));
    room->below -= sign < FT_C(0.0) ? on : TURN * gain;
    room->above += sign < FT_C(0.0) ? TURN * gain : on;
}

/* Return whether the n positions ahead exceed a joint's limits. Second
 * differences give the acceleration, third differences the jerk. */
static bool beyond(const ft_real x[PLACES], uint32_t n, ft_real most_a,
                   ft_real most_j)
{
    ft_real before = FT_C(0.0);
    bool broken = false;
    uint32_t i;

    for (i = NEXT - 1u; i + 1u < n; i++) {
        const ft_real change = (x[i + 1u] - x[i]) - (x[i] - x[i - 1u]);

        broken = broken || ft_size(change) > most_a
                 || (i >= NEXT && ft_size(change - before) > most_j);
        before = change;
    }
    return broken;
}

/* Give one joint's knots, oldest first. Return their number. */
static uint32_t places(const ft_reference *r, uint32_t j, ft_real x[PLACES])
{
    const ft_real unit = ft_follow_joint[j].unit;
    const uint32_t waits = r->ended ? 0u : r->head - r->used;
    const int64_t base = r->joint[j].base;
    uint32_t i, n = 0;

    for (i = 0; i < FT_KEPT; i++)
        x[n++] = ft_reference_displacement(base, r->q[i][j], unit);
    for (i = 0; i < WAITING && (int32_t)(waits - i) > 0; i++)
        x[n++] = ft_reference_displacement(
            base, r->ring[(r->used + i) & (FT_KNOTS - 1u)].q[j], unit);
    return n;
}

/* Compute one joint's outlook from its knots. */
static void look(ft_way *w, const ft_reference *r, uint32_t j)
{
    const ft_follow_config *c = &ft_follow_joint[j];
    const ft_real h = (ft_real)r->spacing * FT_C(1e-6);
    const ft_real jerks = c->jerk * (h * h * h);
    ft_real x[PLACES];
    const uint32_t n = places(r, j, x);
    uint32_t i;

    w->sure.below = w->sure.above = x[NEXT];
    for (i = NEXT + 1u; i + 1u < n; i++)
        also(&w->sure, x[i]);
    w->known = w->sure;
    also(&w->known, x[n - 1u]);
    w->broken =
        beyond(x, n, c->acceleration * (h * h), TOO_MUCH * jerks);
    w->ahead.below = w->known.below - LITTLE * jerks;
    w->ahead.above = w->known.above + LITTLE * jerks;
    go_on(&w->ahead, &x[n - 1u]);
}

/* ---- targets with velocities --------------------------------------------- */

/* Compute one joint's outlook on the way to a target with a velocity. The
 * reference may brake to rest beyond the target, or continue. */
static void look_direct(ft_way *w, const ft_reference *r, uint32_t j)
{
    const ft_follow_config *c = &ft_follow_joint[j];
    const ft_real h = (ft_real)r->spacing * FT_C(1e-6);
    const ft_real *k = r->joint[j].c;
    const ft_real a = FT_C(2.0) * k[2] + FT_C(6.0) * h * k[3];
    const ft_moving end = {
        k[0] + h * (k[1] + h * (k[2] + h * k[3])),
        k[1] + h * (FT_C(2.0) * k[2] + FT_C(3.0) * h * k[3]),
        ft_clamp(a, c->acceleration),
    };

    w->sure = ft_ramp_braking(&end, c);
    also(&w->sure, end.p - end.v * h * FT_C(0.33333333333333331));
    w->known = w->sure;
    also(&w->known, end.p + (r->same > 0u ? FT_C(0.0) : h * end.v));
    w->ahead = w->known;
    also(&w->ahead, w->known.below + ON * h * end.v);
    also(&w->ahead, w->known.above + ON * h * end.v);
    w->broken = false; /* the velocity shows the continuing motion */
}

/* ---- the tick ------------------------------------------------------------ */

/* Begin with a reference at rest. */
void ft_outlook_begin(ft_outlook *o, const ft_reference *r)
{
    static const ft_room here = { FT_C(0.0), FT_C(0.0) };
    const ft_way stands = { here, here, here, false };
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        o->base[j] = r->joint[j].base;
        o->way[j] = stands;
    }
    o->seen = o->stale = 0;
}

/* Renew the outlooks after a piece has begun or a knot has arrived. Each tick
 * renews only some joints, so that no tick takes too long. */
void ft_outlook_tick(ft_outlook *o, const ft_reference *r, bool direct)
{
    uint32_t i;

    if (direct || o->seen != r->head + r->used) {
        o->seen = r->head + r->used;
        o->stale = FT_JOINTS;
    }
    for (i = 0; (i < AT_ONCE || direct) && o->stale > 0u; i++) {
        const uint32_t j = --o->stale;

        o->base[j] = r->joint[j].base;
        if (direct)
            look_direct(&o->way[j], r, j);
        else
            look(&o->way[j], r, j);
    }
}

/* Return one joint's outlook, relative to the joint. aim: the reference. */
ft_way ft_outlook_way(const ft_outlook *o, uint32_t joint, int64_t from,
                      ft_real aim)
{
    const ft_way *w = &o->way[joint];
    const ft_real by = ft_reference_displacement(from, o->base[joint],
                                                 ft_follow_joint[joint].unit);
    ft_way way = { shifted(&w->known, by), shifted(&w->sure, by),
                   shifted(&w->ahead, by), w->broken };

    also(&way.known, aim);
    also(&way.sure, aim);
    also(&way.ahead, aim);
    return way;
}
