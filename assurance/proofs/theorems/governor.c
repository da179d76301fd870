/* The governor, control/ft_governor.c, for any reference.
 *
 * The stub for ft_ramp.c allows or forbids any sample, and returns any braking
 * motion. A tick of braking may end in any sample. The stub for ft_catch_up.c
 * returns any sample, NaN included. So the theorem concerns only the structure:
 * each tick ends in an allowed sample or in a tick of braking. The theorem
 * ramp_numbers bounds allowed samples. In real arithmetic braking stays within
 * the limits (codegen/THEORY.md, section 11). In float32 this property is
 * tested, but not proved. */
#include "proof.h"

#include "ft_config.c"
#include "ft_governor.c"

ft_moving nondet_moving(void);
ft_room nondet_room(void);
ft_follow_config nondet_limits(void);

static ft_moving before;   /* the state before the tick */
static ft_moving allowed;  /* the last allowed sample */
static ft_moving braking;  /* the sample after a tick of braking */
static bool any_allowed, brakes;
static uint32_t looks;     /* number of checked samples */
static ft_way way;         /* the known part of the reference */
static bool wary;          /* the reference has exceeded a limit */
static ft_room own;        /* the range of the joint's braking motion */

/* Return whether two samples are equal, bit by bit. */
static bool same(const ft_moving *x, const ft_moving *y)
{
    return x->p == y->p && x->v == y->v && x->a == y->a;
}

ft_moving ft_catch_up(const ft_moving *now, const ft_follow_config *c,
                   const ft_room *room, const ft_moving *aim)
{
    return nondet_moving();
}

/* Return any braking motion from the joint's position: see ramp_numbers. */
ft_room ft_ramp_braking(const ft_moving *m, const ft_follow_config *c)
{
    ft_room room = nondet_room();

    GIVEN(!(m->p == m->p) || (room.below <= m->p && room.above >= m->p));
    if (m->p == FT_C(0.0) && m->v == before.v && m->a == before.a)
        own = room;
    return room;
}

/* Return whether a range ends at known positions, or at the braking motion. */
static bool among_these(const ft_room *room)
{
    const ft_room *places = wary ? &way.known : &way.ahead;

    return room->below >= ft_smaller(places->below, own.below)
           && room->above <= ft_larger(places->above, own.above);
}

/* Allow or forbid a sample, but never allow NaN: see ramp_numbers. A sample
 * that is allowed in a wider range is not regarded as allowed. */
uint32_t ft_ramp_forbids(const ft_moving *now, const ft_follow_config *c,
                         const ft_room *room, const ft_moving *to)
{
    const bool number = to->p == to->p && to->v == to->v && to->a == to->a;

    CLAIM(same(now, &before));
    CLAIM(room->below <= FT_C(0.0) && room->above >= FT_C(0.0));
    looks++;
    if (!number || nondet_bool())
        return FT_FOLLOW_LIMIT_JERK;
    if (among_these(room)) {
        allowed = *to;
        any_allowed = true;
    }
    return 0;
}

void ft_ramp_brake(ft_moving *now, const ft_follow_config *c)
{
    CLAIM(same(now, &before));
    braking = nondet_moving();
    GIVEN(same(&braking, &braking));
    brakes = true;
    *now = braking;
}

/* Each tick ends in a sample that ft_ramp_forbids() has allowed in this tick,
 * or in the sample of a tick of braking. The theorem holds for any reference,
 * limits, position range and result of catching up, NaN included. An allowed
 * sample was checked against a position range. This range ends at positions
 * that are known in advance, or at the joint's braking motion. If the reference
 * has exceeded a limit, only its knots are regarded as known in advance. At
 * most four samples are checked.
 * Assumes: a tick of braking ends in finite numbers, which is true for valid
 * limits. The known positions are finite, in ascending order.
 * Run: unwind=6 mechanisms=three_link */
void prove_governor_allowed(void)
{
    const ft_follow_config c = nondet_limits();
    const ft_moving aim = nondet_moving();
    ft_moving now = nondet_moving();

    ANYTHING(way);
    wary = nondet_bool();
    GIVEN(same(&now, &now));
    GIVEN(way.known.below <= way.known.above);
    GIVEN(way.ahead.below <= way.ahead.above);
    before = now;
    any_allowed = brakes = false;
    looks = 0;
    own.below = own.above = FT_C(0.0);
    (void)ft_governor_tick(&now, &c, nondet_room(), &aim, &way, &wary);
    CLAIM((any_allowed && same(&now, &allowed))
          || (brakes && same(&now, &braking)));
    CLAIM(wary || !way.broken);
    CLAIM(looks <= 2u + STEPS);
    END;
}
