/* The governor; see ft_governor.h. */
#include "ft_governor.h"

#include "ft_messages.h" /* FT_FOLLOW_LIMIT_ */
#include "ft_number.h"   /* ft_size, FT_INLINE */

#define HALF FT_C(0.5)
#define STEPS 2 /* iterations of the search for a blend */

/* ---- the tick ---------------------------------------------------------- */

/* Interpolate linearly between two samples. */
static FT_INLINE ft_moving between(const ft_moving *x, const ft_moving *y,
                                   ft_real share)
{
    const ft_moving m = { x->p + share * (y->p - x->p),
                          x->v + share * (y->v - x->v),
                          x->a + share * (y->a - x->a) };

    return m;
}

/* Return the farthest allowed sample between braking and the wanted sample. */
static ft_moving guarded(const ft_moving *now, const ft_follow_config *c,
                         const ft_room *room, const ft_moving *wanted)
{
    ft_moving stop = *now, best;
    ft_real share = FT_C(0.0), step = HALF;
    uint32_t i;

    ft_ramp_brake(&stop, c);
    best = stop;
    for (i = 0; i < STEPS; i++) {
        const ft_moving m = between(&stop, wanted, share + step);

        if (ft_ramp_forbids(now, c, room, &m) == 0u) {
            share += step;
            best = m;
        }
        step *= HALF;
    }
    return best;
}

/* Return the limits that the reference itself exceeds. */
static uint32_t complaint(const ft_follow_config *c, const ft_room *room,
                          const ft_moving *aim)
{
    uint32_t bits = 0;

    if (!(aim->p >= room->below && aim->p <= room->above))
        bits |= FT_FOLLOW_LIMIT_POSITION;
    if (!(ft_size(aim->v) <= c->velocity))
        bits |= FT_FOLLOW_LIMIT_VELOCITY;
    if (!(ft_size(aim->a) <= c->acceleration))
        bits |= FT_FOLLOW_LIMIT_ACCELERATION;
    return bits;
}

/* Return the range of positions that the reference may reach: the known
 * positions, and positions of a continuing motion. Once the reference has
 * exceeded a limit, use only the known positions, until the reference could
 * come to rest among them. */
static const ft_room *trusted(const ft_way *way, const ft_follow_config *c,
                              const ft_moving *aim, bool *wary)
{
    if (way->broken) {
        *wary = true;
    } else if (*wary) {
        const ft_room its = ft_ramp_braking(aim, c);

        *wary = !(its.below >= way->sure.below
                  && its.above <= way->sure.above);
    }
    return *wary ? &way->known : &way->ahead;
}

/* Intersect a range with the allowed positions and the braking distance. */
static ft_room among(const ft_room *room, const ft_room *places,
                     const ft_moving *now, const ft_follow_config *c)
{
    const ft_moving here = { FT_C(0.0), now->v, now->a };
    const ft_room braking = ft_ramp_braking(&here, c);
    const ft_room r = {
        ft_larger(room->below, ft_smaller(places->below, braking.below)),
        ft_smaller(room->above, ft_larger(places->above, braking.above)),
    };

    return r;
}

/* Advance by a tick towards the reference's next sample. */
uint32_t ft_governor_tick(ft_moving *now, const ft_follow_config *c,
                          ft_room room, const ft_moving *aim,
                          const ft_way *way, bool *wary)
{
    const ft_room *places = trusted(way, c, aim, wary);
    ft_moving next;
    ft_room narrow;
    uint32_t why, guard;

    /* rounding may have put the joint beyond a limit: it may stay or return */
    room.below = ft_smaller(room.below, FT_C(0.0));
    room.above = ft_larger(room.above, FT_C(0.0));
    narrow = among(&room, places, now, c);
    why = ft_ramp_forbids(now, c, &narrow, aim);
    if (why == 0u) {
        *now = *aim;
        return 0;
    }
    /* a joint with more acceleration could still stop at the target */
    if (why == FT_FOLLOW_LIMIT_POSITION)
        why = FT_FOLLOW_LIMIT_ACCELERATION;
    next = ft_catch_up(now, c, &narrow, aim);
    guard = ft_ramp_forbids(now, c, &narrow, &next);
    *now = guard == 0u ? next : guarded(now, c, &narrow, &next);
    return why | complaint(c, &room, aim)
           | (guard & (uint32_t)~(FT_FOLLOW_LIMIT_JERK
                                  | FT_FOLLOW_LIMIT_POSITION));
}
