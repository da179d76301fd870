/* Regular poses of closed loops in FOLLOW. Joints may move only if they could
 * brake and come to rest at a regular pose, through regular poses.
 *
 * The distance of a pose from singular poses is the least sine of the pivots of
 * the loops' equations. The module keeps the solution at the pose of rest, and
 * three solutions on the way. A tick checks one of the three. If the joints may
 * not go on together, each joint in turn may go on alone for a while.
 *
 * Mechanisms with modes are not checked, as their loops open and close. */
#ifndef FT_REGULAR_H
#define FT_REGULAR_H

#include "ft_config.h" /* FT_FOLLOW, FT_MODED */
#include "ft_ramp.h"   /* ft_moving */
#include "ft_step.h"   /* ft_step_state, FT_STEP_CLOSED */

#include <stdbool.h>
#include <stdint.h>

#define FT_REGULAR (FT_FOLLOW && FT_STEP_CLOSED && !FT_MODED)

#if FT_REGULAR

#define FT_WAYS 3u /* places on the way; a tick checks one */

/* The next check of a tick. */
typedef enum {
    FT_LOOK_FIRST, /* where the joints begin */
    FT_LOOK_AHEAD, /* places where they would rest */
    FT_LOOK_HERE   /* the same for braked joints */
} ft_look;

typedef struct {
    ft_step_state rest, way[FT_WAYS]; /* the loops alone for these joints */
    uint32_t turn;            /* of the places on the way */
    uint32_t bad;             /* which of these places are not regular */
    ft_real least;            /* square of a sine; above it a pose is regular */
    ft_real here;             /* this square at the last rest */
    ft_look look;
    uint32_t alone;           /* the joint that may go on alone, if any */
    uint32_t went;            /* ticks for which it went on alone */
} ft_regular;

/* Start again at the next tick. */
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

/* Return whether joints may go on from one sample to the next. s: the loops
 * now. q: the joints' wire positions. c: limits of each joint. */
bool ft_regular_tick(ft_regular *r, const ft_step_state *s,
                     const int64_t q[FT_JOINTS],
                     const ft_moving from[FT_JOINTS],
                     const ft_moving to[FT_JOINTS], const ft_follow_config *c);

#endif
