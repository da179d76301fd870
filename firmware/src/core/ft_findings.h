/* Findings of a tick about the joints. Each stage checks the numbers that it
 * computes. ft_conditions.c turns findings into faults. */
#ifndef FT_FINDINGS_H
#define FT_FINDINGS_H

#include "ft_compiler.h" /* FT_IF, FT_RARELY */
#include "ft_config.h"   /* FT_DRIVES */

#include <stdbool.h>
#include <stdint.h>

#define FT_NO_JOINT 255u
#define FT_GOOD 256u /* no joint, all is well */

/* The first joint with each finding, or FT_GOOD. */
typedef struct {
    bool any;
    uint32_t jump;   /* more counts in a tick than the joint can move */
    uint32_t fast;   /* faster than overspeed */
    uint32_t wild;   /* a torque or voltage that is not finite */
    uint32_t beyond; /* farther beyond a limit than its margin */
    uint32_t astray; /* too far from its target for too long */
    uint32_t stuck;  /* no count for too long at the limit of its torque */
    uint32_t lost;   /* its zero was not found in time */
    uint32_t parted; /* closed loops: singular pose, or the solver has failed */
    uint32_t misfit; /* the new mode does not fit the motion */
    FT_IF(FT_DRIVES,
    uint32_t cut;    /* its drive's bus is off */
    uint32_t silent; /* its drive does not answer */
    uint32_t ailing; /* its drive has an error or is not enabled */)
} ft_findings;

#define FT_FOUND_NOTHING \
    { false, FT_GOOD, FT_GOOD, FT_GOOD, FT_GOOD, FT_GOOD, FT_GOOD, FT_GOOD, \
      FT_GOOD, FT_GOOD, FT_IF(FT_DRIVES, FT_GOOD, FT_GOOD, FT_GOOD) }

/* The number of ticks in a row in which a condition held. */
typedef struct {
    uint32_t last; /* the last tick in which the condition held */
    uint32_t ticks;
} ft_streak;

/* Count this tick once. Return the number of ticks in a row. */
static inline uint32_t ft_streak_count(ft_streak *s, uint32_t tick)
{
    if (s->ticks == 0u || tick - s->last > 1u)
        s->ticks = 1u;
    else
        s->ticks += tick - s->last;
    s->last = tick;
    return s->ticks;
}

/* Note a finding of a joint. Loops go from the last joint to the first, so the
 * first joint with a finding is reported. */
static inline void ft_found(ft_findings *f, uint32_t *what, uint32_t joint)
{
    f->any = true;
    *what = joint;
}

#endif
