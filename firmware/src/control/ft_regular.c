/* Keeps closed loops at regular poses; see ft_regular.h. */
#include "ft_regular.h"

#include "ft_number.h"   /* ft_clamp */
#include "ft_position.h" /* ft_position_add, ft_position_of_wire */

#define ENOUGH FT_C(0.09) /* squares of sines above this are always regular */
#define SHARE FT_C(0.25)  /* limit relative to the square at the start */
#define LOWEST FT_C(0.9)  /* solver's limit relative to the smallest allowed
                           * square */
#define ROUNDED FT_C(1e-6)
#define WHILE (FT_TICK_HZ / 16u) /* ticks for which a joint moves alone */
#define HALF FT_C(0.5)
#define TURN FT_C(2.147e9) /* wire steps, just less than half a turn */

/* Return a joint's position plus a displacement, rad or m. */
static ft_turn beyond(int64_t q, ft_real way, const ft_follow_config *c)
{
    const int32_t steps = (int32_t)ft_clamp(way * c->per_unit, TURN);

    return ft_position_add(ft_position_of_wire(q), ft_position_of_wire(steps));
}

/* Return the square of a sine below which the solver stops. */
static ft_real lowest(const ft_regular *r)
{
    return LOWEST * r->least;
}

/* Return the square of a sine below which the joints may not move. */
static ft_real bound(const ft_regular *r)
{
    return ft_smaller(r->least, r->here - ROUNDED);
}

/* Measure how regular the pose of rest is. From this pose the joints may move
 * only to poses that are no closer to a singular pose. */
static void look_here(ft_regular *r, const int64_t q[FT_JOINTS])
{
    ft_turn here[FT_JOINTS];
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        here[j] = ft_position_of_wire(q[j]);
    r->here = ft_larger(ft_step_regular(&r->rest, here, lowest(r)), lowest(r));
    for (j = 0; j < FT_WAYS; j++)
        r->way[j] = r->rest;
    r->bad = 0;
}

/* Begin at a pose where the loops are closed. */
static void begin(ft_regular *r, const ft_step_state *s,
                  const int64_t q[FT_JOINTS])
{
    r->rest = *s;
    r->least = FT_C(0.0);
    look_here(r, q);
    r->here = r->least = ft_smaller(SHARE * r->here, ENOUGH);
}

/* Check the next pose that the joints would pass while they brake. */
static void look_on_the_way(ft_regular *r, const int64_t q[FT_JOINTS],
                            const ft_moving joint[FT_JOINTS],
                            const ft_ramp stop[FT_JOINTS], ft_real longest,
                            const ft_follow_config *c)
{
    const uint32_t way = r->turn + 1u < FT_WAYS ? r->turn + 1u : 0u;
    const ft_real after = longest * (HALF / (ft_real)(1u << way));
    ft_turn there[FT_JOINTS];
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        ft_moving m = joint[j];

        (void)ft_ramp_along(&m, &stop[j], FT_C(0.0), c[j].jerk, after);
        there[j] = beyond(q[j], m.p, &c[j]);
    }
    r->turn = way;
    r->bad &= ~(1u << way);
    if (!(ft_step_regular(&r->way[way], there, lowest(r)) >= bound(r)))
        r->bad |= 1u << way;
}

/* Return whether the joints can brake to rest through regular poses. */
static bool holds(ft_regular *r, const int64_t q[FT_JOINTS],
                  const ft_moving joint[FT_JOINTS], const ft_follow_config *c)
{
    ft_real longest = FT_C(0.0), square;
    ft_ramp stop[FT_JOINTS];
    ft_turn rest[FT_JOINTS];
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        longest = ft_larger(longest, ft_ramp_stop(&stop[j], &joint[j], &c[j]));
        rest[j] = beyond(q[j], joint[j].p + stop[j].way, &c[j]);
    }
    look_on_the_way(r, q, joint, stop, longest, c);
    square = ft_step_regular(&r->rest, rest, lowest(r));
    if (r->bad != 0u || !(square >= bound(r)))
        return false;
    r->here = ft_larger(r->here, square);
    return true;
}

/* Return whether all joints rest. */
static bool rest(const ft_moving joint[FT_JOINTS])
{
    bool all = true;
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        all = all && joint[j].v == FT_C(0.0) && joint[j].a == FT_C(0.0);
    return all;
}

/* Brake, and let the next joint try alone. */
static void refuse(ft_regular *r)
{
    r->went = 0;
    r->alone = r->alone < FT_JOINTS ? r->alone + 1u : 0u;
    r->look = FT_LOOK_HERE;
}

/* Let the joints move. */
static void allow(ft_regular *r)
{
    r->alone = ++r->went < WHILE ? r->alone : FT_JOINTS;
    r->look = FT_LOOK_AHEAD;
}

/* Return whether the joints may move from one sample to the next. */
bool ft_regular_tick(ft_regular *r, const ft_step_state *s,
                     const int64_t q[FT_JOINTS],
                     const ft_moving from[FT_JOINTS],
                     const ft_moving to[FT_JOINTS], const ft_follow_config *c)
{
    if (r->look == FT_LOOK_FIRST) { /* after one tick from rest the joints have
                                     * hardly moved */
        begin(r, s, q);
        r->look = FT_LOOK_AHEAD;
        return true;
    }
    if (r->look == FT_LOOK_HERE) {
        if (rest(from)) {
            look_here(r, q);
            r->look = FT_LOOK_AHEAD;
        }
        return false;
    }
    if (holds(r, q, to, c)) {
        allow(r);
        return true;
    }
    refuse(r);
    return false;
}
