/* Closed loops, for the application: nothing to do where there are none. */
#ifndef FT_LOOPS_H
#define FT_LOOPS_H

#include "ft_step.h" /* FT_STEP_CLOSED */

#include <stdbool.h>

#if FT_STEP_CLOSED

/* Follow joints that are moved by hand: one small step a tick. Return whether
 * the loops are closed where the joints are. */
static inline bool ft_loops_follow(ft_step_state *s,
                                   const ft_turn q[FT_JOINTS])
{
    return ft_step_reach(s, q, 1u);
}

/* Return whether the last step came to a singular pose, or to one that does
 * not follow from the pose before. */
static inline bool ft_loops_lost(const ft_step_state *s)
{
    return s->fault;
}

#else

static inline bool ft_loops_follow(ft_step_state *s,
                                   const ft_turn q[FT_JOINTS])
{
    (void)s;
    (void)q;
    return true;
}

static inline bool ft_loops_lost(const ft_step_state *s)
{
    (void)s;
    return false;
}

#endif

#endif
