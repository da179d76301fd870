/* The governor, control/ft_governor.c: whatever the reference says.
 *
 * What may be, ft_ramp.c, allows or forbids a sample here as it likes; a tick
 * of braking ends in any sample, and catching up, ft_chase.c, in any, a number
 * or not. So the theorem is one of structure: the limits are kept by what is
 * allowed (ramp_numbers) and by braking, and by nothing else. Braking keeps them
 * from what is allowed on, in real numbers: codegen/THEORY.md, section 11, says
 * why. In float32 that is tried, not proved. */
#include "proof.h"

#include "ft_config.c"
#include "ft_governor.c"

ft_moving nondet_moving(void);
ft_room nondet_room(void);
ft_follow_config nondet_limits(void);

static ft_moving before;   /* the tick */
static ft_moving allowed;  /* the last sample that was */
static ft_moving braking;  /* the sample of a tick of braking */
static bool any_allowed, brakes;
static uint32_t looks;     /* how often samples were looked at */

/* Return whether two samples are the same, bit by bit. */
static bool same(const ft_moving *x, const ft_moving *y)
{
    return x->p == y->p && x->v == y->v && x->a == y->a;
}

ft_moving ft_chase(const ft_moving *now, const ft_follow_config *c,
                   const ft_room *room, const ft_moving *aim)
{
    (void)now;
    (void)c;
    (void)room;
    (void)aim;
    return nondet_moving();
}

/* Allow or forbid, but never what is no number: see ramp_numbers. */
uint32_t ft_ramp_forbids(const ft_moving *now, const ft_follow_config *c,
                         const ft_room *room, const ft_moving *to)
{
    const bool number = to->p == to->p && to->v == to->v && to->a == to->a;

    (void)c;
    CLAIM(same(now, &before));
    CLAIM(room->below <= FT_C(0.0) && room->above >= FT_C(0.0));
    looks++;
    if (!number || nondet_bool())
        return FT_FOLLOW_LIMIT_JERK;
    allowed = *to;
    any_allowed = true;
    return 0;
}

void ft_ramp_brake(ft_moving *now, const ft_follow_config *c)
{
    (void)c;
    CLAIM(same(now, &before));
    braking = nondet_moving();
    GIVEN(same(&braking, &braking));
    brakes = true;
    *now = braking;
}

/* Whatever the reference says, numbers or not, whatever the limits and the room
 * are, and whatever catching up computes: the sample that a tick ends in is one
 * that ft_ramp_forbids() allowed in this tick, or that of a tick of braking;
 * and it is a number. No more than six samples are looked at.
 * Assumes: a tick of braking ends in numbers, as it does from limits that are
 * some.
 * Run: unwind=6 mechanisms=three_link */
void prove_governor_allowed(void)
{
    const ft_follow_config c = nondet_limits();
    const ft_moving aim = nondet_moving();
    ft_moving now = nondet_moving();

    GIVEN(same(&now, &now));
    before = now;
    any_allowed = brakes = false;
    looks = 0;
    (void)ft_governor_tick(&now, &c, nondet_room(), &aim);
    CLAIM((any_allowed && same(&now, &allowed))
          || (brakes && same(&now, &braking)));
    CLAIM(looks <= 2u + STEPS);
    END;
}
