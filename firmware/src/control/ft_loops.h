/* Closed loops and modes for the application. In a mechanism without loops and
 * modes, these functions have no effect. */
#ifndef FT_LOOPS_H
#define FT_LOOPS_H

#include "ft_findings.h" /* FT_RARELY */
#include "ft_motion.h"   /* ft_motion */
#include "ft_step.h"     /* FT_STEP_CLOSED */

#include <stdbool.h>

#if FT_MODED

/* Step in the motion's mode. Return false if a new mode does not fit. */
static inline bool ft_loops_step(ft_step_state *s, const ft_motion *m,
                                 ft_real tau[FT_JOINTS])
{
    bool fits = true;

    if (FT_RARELY(m->mode != s->mode)) {
        ft_step_enter(s, m->mode);
        fits = !s->refused;
    }
    ft_step_moded(s, m->left, &m->next, tau);
    return fits;
}

/* Enter the first mode. */
static inline void ft_loops_first_mode(ft_step_state *s)
{
    s->mode = 0;
}

/* Return the number of the present mode. */
static inline uint32_t ft_loops_mode(const ft_step_state *s)
{
    return s->mode;
}

#else

static inline bool ft_loops_step(ft_step_state *s, const ft_motion *m,
                                 ft_real tau[FT_JOINTS])
{
    ft_step(s, &m->next, tau);
    return true;
}

static inline void ft_loops_first_mode(ft_step_state *s)
{
    (void)s;
}

static inline uint32_t ft_loops_mode(const ft_step_state *s)
{
    (void)s;
    return 0;
}

#endif

#if FT_STEP_CLOSED

/* While the joints are moved by hand, solve the first mode's loops by a small
 * step per tick. Return whether they are closed. */
static inline bool ft_loops_follow(ft_step_state *s,
                                   const ft_turn q[FT_JOINTS])
{
    ft_loops_first_mode(s);
    return ft_step_reach(s, q, 1u);
}

/* Return whether the last step met a singular or discontinuous pose. */
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
