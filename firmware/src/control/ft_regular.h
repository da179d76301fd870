/* Regular poses of closed loops in FOLLOW. The joints may move only if they
 * could brake to rest at a regular pose, through regular poses only.
 *
 * The measure of a pose is the smallest sine among the pivots of the loops'
 * equations; it is 0 at a singular pose. The module keeps the loops' solution
 * at the pose where the joints would come to rest, and at three poses on the
 * way there. Each tick checks one of the poses on the way. If the joints may
 * not move together, each joint in turn may move alone for a while.
 *
 * Mechanisms with modes are not checked, since their loops open and close. */
#ifndef FT_REGULAR_H
#define FT_REGULAR_H

#include "ft_config.h" /* FT_FOLLOW, FT_MODED */
#include "ft_ramp.h"   /* ft_moving */
#include "ft_step.h"   /* ft_step_state, FT_STEP_CLOSED */

#include <stdbool.h>
#include <stdint.h>

#define FT_REGULAR (FT_FOLLOW && FT_STEP_CLOSED && !FT_MODED)

#if FT_REGULAR

#define FT_WAYS 3u /* poses on the way; each tick checks one */

/* The next check of a tick. */
typedef enum {
    FT_LOOK_FIRST, /* where the joints begin */
    FT_LOOK_AHEAD, /* positions at which braking joints would rest */
    FT_LOOK_HERE   /* positions of the joints after they have braked */
} ft_look;

typedef struct {
    ft_step_state rest, way[FT_WAYS]; /* solutions of the loops at rest and on
                                       * the way */
    uint32_t turn;            /* pose on the way that was checked last */
    uint32_t bad;             /* bits of the poses on the way that are not
                               * regular */
    ft_real least;            /* square of a sine; above it a pose is regular */
    ft_real here;             /* the square at the last pose of rest */
    ft_look look;
    uint32_t alone;           /* the joint that may move alone, if any */
    uint32_t went;            /* ticks for which it has moved alone */
} ft_regular;

/* Start again at the next tick. */
static inline void ft_regular_renew(ft_regular *r)
{
    r->look = FT_LOOK_FIRST;
    r->alone = FT_JOINTS;
    r->went = r->turn = 0;
}

/* Return whether a joint waits while another joint moves alone. */
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

/* Return whether the joints may move from one sample to the next. s: the loops
 * now. q: the joints' wire positions. c: limits of each joint. */
bool ft_regular_tick(ft_regular *r, const ft_step_state *s,
                     const int64_t q[FT_JOINTS],
                     const ft_moving from[FT_JOINTS],
                     const ft_moving to[FT_JOINTS], const ft_follow_config *c);

#endif
