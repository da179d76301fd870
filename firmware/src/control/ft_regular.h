/* Regular poses of closed loops, in FOLLOW: joints go on while they could brake
 * and come to rest at one, by way of one.
 *
 * A pose is the nearer to a singular one the less the least sine of a pivot of
 * the loops' equations is. The solution where the joints would come to rest is
 * kept, and three on the way there, of which a tick looks at one. If the joints
 * may not go on together, each of them in turn may alone, for a while.
 *
 * In modes loops come and go: their mechanisms are not looked after. */
#ifndef FT_REGULAR_H
#define FT_REGULAR_H

#include "ft_config.h" /* FT_FOLLOW, FT_MODED */
#include "ft_ramp.h"   /* ft_moving */
#include "ft_step.h"   /* ft_step_state, FT_STEP_CLOSED */

#include <stdbool.h>
#include <stdint.h>

#define FT_REGULAR (FT_FOLLOW && FT_STEP_CLOSED && !FT_MODED)

#if FT_REGULAR

#define FT_WAYS 3u /* places on the way, to one of which a tick looks */

/* At what a tick looks. */
typedef enum {
    FT_LOOK_FIRST, /* the loops, where the joints begin */
    FT_LOOK_AHEAD, /* where they would come to rest */
    FT_LOOK_HERE   /* where they rest, as they may not go on */
} ft_look;

typedef struct {
    ft_step_state rest, way[FT_WAYS]; /* their loops alone */
    uint32_t turn;            /* of the places on the way */
    uint32_t bad;             /* which of them are not regular */
    ft_real least;            /* the square of a sine: more is regular */
    ft_real here;             /* where the joints rested last */
    ft_look look;
    uint32_t alone;           /* the joint that may go on, if any */
    uint32_t went;            /* ticks in which it did */
} ft_regular;

/* Begin anew at the next tick. */
static inline void ft_regular_renew(ft_regular *r)
{
    r->look = FT_LOOK_FIRST;
    r->alone = FT_JOINTS;
    r->went = r->turn = 0;
}

/* Return whether a joint waits while another one goes on. */
static inline bool ft_regular_waits(const ft_regular *r, uint32_t j)
{
    return r->alone < FT_JOINTS && r->alone != j;
}

#else

typedef struct {
    bool looks; /* never */
} ft_regular;

static inline void ft_regular_renew(ft_regular *r)
{
    r->looks = false;
}

static inline bool ft_regular_waits(const ft_regular *r, uint32_t j)
{
    (void)j;
    return r->looks;
}

#endif

/* Return whether joints may move from how they do to how they are about to. s:
 * the loops now; q: where the joints are, wire; c: limits of each. */
bool ft_regular_tick(ft_regular *r, const ft_step_state *s,
                     const int64_t q[FT_JOINTS],
                     const ft_moving from[FT_JOINTS],
                     const ft_moving to[FT_JOINTS], const ft_follow_config *c);

#endif
