/* Positions and velocities of the joints from encoder counts.
 *
 * Positions are integers: every count adds a fixed integer, so positions do not
 * drift. A velocity is stored as its half increment u, the displacement in half
 * a tick. Targets use the same form. A tracking observer keeps its error e,
 * measured - predicted position, which is small at any position:
 *
 * e <- e + counts - (u + (u + d)), u <- (u + d) + b/2 e, e <- p^2 e
 *
 * with b = (1 - p)^2, p = exp(-2 pi observer_hz dt). Both poles are p, inside
 * the unit circle. d is the change of the target's u. The term d removes the
 * lag that an acceleration would cause. Without d, Kv would act on this lag. */
#ifndef FT_OBSERVER_H
#define FT_OBSERVER_H

#include "ft_findings.h" /* ft_findings */
#include "ft_model.h"    /* FT_JOINTS, ft_real, ft_turn */

#include <stdint.h>

typedef struct {
    uint64_t fine[FT_JOINTS];  /* FT_FINE digits finer than a wire position */
    ft_turn q[FT_JOINTS];
    int32_t coarse[FT_JOINTS]; /* 2^-24 turn, including whole turns */
    ft_real u[FT_JOINTS];      /* displacement in half a tick, rad or m */
    ft_real error[FT_JOINTS];  /* e, rad or m */
} ft_observer;

void ft_observer_tick(ft_observer *o, const int32_t counts[FT_JOINTS],
                      const ft_real from[FT_JOINTS],
                      const ft_real to[FT_JOINTS], ft_findings *found);
void ft_observer_set(ft_observer *o, const int64_t wire[FT_JOINTS]);
void ft_observer_place(ft_observer *o, uint32_t joint, int64_t wire);
int64_t ft_observer_wire(const ft_observer *o, uint32_t joint);
int64_t ft_observer_turned(const ft_observer *o, uint32_t joint, ft_turn q);

#endif
