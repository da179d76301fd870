/* Ramps of velocity; see ft_ramp.h. */
#include "ft_ramp.h"

#include "ft_messages.h" /* FT_FOLLOW_LIMIT_ */

#define DT FT_RAMP_DT
#define HALF FT_C(0.5)
#define THIRD FT_C(0.33333333333333331)
#define SIXTH FT_C(0.16666666666666666)

static FT_INLINE ft_real root(ft_real x)
{
    return FT_ROOT(x > FT_C(0.0) ? x : FT_C(0.0));
}

/* Form the ramp to a velocity w. */
void ft_ramp_form(ft_ramp *r, ft_real v, ft_real a, ft_real w,
                  const ft_bounds *b)
{
    const bool up = w >= ft_ramp_coasting(v, a, b->per_jerk);
    const ft_real s = up ? FT_C(1.0) : FT_C(-1.0);
    const ft_real from = s * a, v0 = s * v;
    const ft_real most = ft_larger(up ? b->up : b->down, from);
    const ft_real square = b->jerk * (s * w - v0) + HALF * from * from;
    ft_real peak = most, v1, v2;

    r->sign = s;
    r->level = FT_C(0.0);
    if (square >= most * most)
        r->level = (square - most * most) * b->per_jerk / most;
    else
        peak = root(square);
    r->rise = ft_larger((peak - from) * b->per_jerk, FT_C(0.0));
    r->fall = peak * b->per_jerk;
    v1 = v0 + r->rise * (from + HALF * b->jerk * r->rise);
    v2 = v1 + peak * r->level;
    r->way = s * (r->rise * (v0 + r->rise * (HALF * from
                                             + SIXTH * b->jerk * r->rise))
                  + r->level * (v1 + HALF * peak * r->level)
                  + r->fall * (v2 + THIRD * peak * r->fall));
}

/* Return the braking distance from the velocity w, not accelerated. */
ft_real ft_ramp_braking_way(ft_real w, const ft_bounds *b)
{
    const ft_real square = ft_size(w) * b->jerk, most = b->down * b->down;

    if (square <= most)
        return w * root(square) * b->per_jerk;
    return HALF * w * (square + most) * b->per_jerk / b->down;
}

/* Move with a constant jerk for a time. */
static FT_INLINE void go(ft_moving *m, ft_real jerk, ft_real t)
{
    m->p += t * (m->v + t * (HALF * m->a + SIXTH * jerk * t));
    m->v += t * (m->a + HALF * jerk * t);
    m->a += jerk * t;
}

/* Move along a ramp to w for a time. Return the time that is left. */
ft_real ft_ramp_along(ft_moving *m, const ft_ramp *r, ft_real w, ft_real jerk,
                     ft_real t)
{
    const ft_real rise = ft_smaller(t, r->rise);
    ft_real level, fall;

    go(m, r->sign * jerk, rise);
    t -= rise;
    if (!(t > FT_C(0.0)))
        return FT_C(0.0);
    level = ft_smaller(t, r->level);
    go(m, FT_C(0.0), level);
    t -= level;
    if (!(t > FT_C(0.0)))
        return FT_C(0.0);
    fall = ft_smaller(t, r->fall);
    go(m, -r->sign * jerk, fall);
    t -= fall;
    if (!(t > FT_C(0.0)))
        return FT_C(0.0);
    m->v = w; /* exactly w, without rounding errors */
    m->a = FT_C(0.0);
    return t;
}

/* ---- allowed samples ---------------------------------------------------- */

static FT_INLINE ft_bounds bounds_of(const ft_follow_config *c)
{
    const ft_bounds b = { c->acceleration, c->acceleration, c->jerk,
                          c->per_jerk };

    return b;
}

static FT_INLINE bool within(ft_real p, const ft_room *room)
{
    return p >= room->below && p <= room->above;
}

/* Return the position at which a braking joint reverses. A joint reverses if
 * its acceleration carries the joint through rest. The joint then comes to rest
 * from the other side. */
static ft_real turning_point(const ft_moving *m, const ft_follow_config *c)
{
    const ft_real a = ft_size(m->a);
    const ft_real left = a * a - FT_C(2.0) * c->jerk * ft_size(m->v);
    ft_moving at = *m;

    go(&at, m->v > FT_C(0.0) ? c->jerk : -c->jerk,
       (a - root(left)) * c->per_jerk);
    return at.p;
}

/* Return quickly whether a braking joint surely stays between both limits, as
 * nearly always. It is never faster than now or at its acceleration's end.
 * Braking removes the acceleration, raises and lowers the opposite one, and
 * loses the velocity. */
static FT_INLINE bool far_inside(const ft_moving *m, const ft_follow_config *c,
                                 ft_real then, const ft_room *room)
{
    const ft_real fastest = ft_larger(ft_size(m->v), ft_size(then));
    const ft_real reach =
        fastest * (ft_size(m->a) * c->per_jerk + fastest * c->per_acceleration
                   + c->build_up);

    return m->p - reach >= room->below && m->p + reach <= room->above;
}

/* Return the limit that this joint exceeds even if it brakes, or 0. */
static uint32_t broken(const ft_moving *m, const ft_follow_config *c,
                       const ft_room *room)
{
    const ft_bounds b = bounds_of(c);
    const ft_real then = ft_ramp_coasting(m->v, m->a, c->per_jerk);
    ft_ramp stop;

    if (!(ft_size(m->a) <= c->acceleration))
        return FT_FOLLOW_LIMIT_ACCELERATION;
    if (!(ft_size(m->v) <= c->velocity) || !(ft_size(then) <= c->velocity))
        return FT_FOLLOW_LIMIT_VELOCITY;
    if (far_inside(m, c, then, room))
        return 0;
    ft_ramp_form(&stop, m->v, m->a, FT_C(0.0), &b);
    if (!within(m->p, room) || !within(m->p + stop.way, room))
        return FT_FOLLOW_LIMIT_POSITION;
    if (m->v * then < FT_C(0.0) && !within(turning_point(m, c), room))
        return FT_FOLLOW_LIMIT_POSITION;
    return 0;
}

/* Return whether the joint can reach a sample in one tick with bounded jerk.
 * The tolerances allow for a jerk that varies, and for rounding. */
static FT_INLINE bool near(const ft_moving *now, const ft_follow_config *c,
                           const ft_moving *to)
{
    const ft_real v = now->v + HALF * DT * (now->a + to->a);
    const ft_real p =
        DT * (now->v + DT * (THIRD * now->a + SIXTH * to->a));

    return ft_size(to->a - now->a) <= c->near_a
           && ft_size(to->v - v) <= c->near_v
           && ft_size(to->p - p) <= c->near_p;
}

/* Form the ramp to rest. Return its time, s. */
ft_real ft_ramp_stop(ft_ramp *stop, const ft_moving *m,
                     const ft_follow_config *c)
{
    const ft_bounds b = bounds_of(c);

    ft_ramp_form(stop, m->v, m->a, FT_C(0.0), &b);
    return stop->rise + stop->level + stop->fall;
}

/* Return the range of positions that a braking joint passes. */
ft_room ft_ramp_braking(const ft_moving *m, const ft_follow_config *c)
{
    const ft_bounds b = bounds_of(c);
    const ft_real then = ft_ramp_coasting(m->v, m->a, c->per_jerk);
    ft_real end, turn = m->p;
    ft_room room;
    ft_ramp stop;

    ft_ramp_form(&stop, m->v, m->a, FT_C(0.0), &b);
    end = m->p + stop.way;
    if (m->v * then < FT_C(0.0))
        turn = turning_point(m, c);
    room.below = ft_smaller(end, ft_smaller(turn, m->p));
    room.above = ft_larger(end, ft_larger(turn, m->p));
    return room;
}

/* Return the limit that the joint would exceed with a sample, or 0. */
uint32_t ft_ramp_forbids(const ft_moving *now, const ft_follow_config *c,
                         const ft_room *room, const ft_moving *to)
{
    return near(now, c, to) ? broken(to, c, room) : FT_FOLLOW_LIMIT_JERK;
}

/* Brake for a tick as fast as the limits allow. */
void ft_ramp_brake(ft_moving *now, const ft_follow_config *c)
{
    const ft_bounds b = bounds_of(c);
    ft_ramp stop;

    ft_ramp_form(&stop, now->v, now->a, FT_C(0.0), &b);
    now->p = FT_C(0.0);
    (void)ft_ramp_along(now, &stop, FT_C(0.0), c->jerk, DT);
}
