/* Where the joints are and how fast they move, from encoder counts.
 *
 * Positions are whole: every count adds a fixed integer, so nothing drifts.
 * Rates come from a tracking observer that carries its error e = measured -
 * predicted position in counts, a small number at any place:
 *   e <- e + counts - w,  w <- w + b e,  e <- (1 - a) e,   w in counts a tick
 * with a = 1 - p^2, b = (1 - p)^2, p = exp(-2 pi observer_hz dt): both poles
 * lie at p, inside the unit circle at any tick. */
#ifndef FT_OBSERVER_H
#define FT_OBSERVER_H

#include "ft_model.h" /* FT_JOINTS, ft_real, ft_turn */

#include <stdint.h>

typedef struct {
    int32_t counts[FT_JOINTS]; /* of this tick */
    uint64_t fine[FT_JOINTS];  /* position, 2^-48 turn; 2^16 turns */
    ft_turn q[FT_JOINTS];
    int32_t coarse[FT_JOINTS]; /* 2^-24 turn, whole turns counted */
    ft_real rate[FT_JOINTS];   /* rad/s, m/s */
    ft_real error[FT_JOINTS];  /* counts */
    ft_real w[FT_JOINTS];      /* counts a tick */
} ft_observer;

void ft_observer_tick(ft_observer *o, const int32_t counts[FT_JOINTS]);
void ft_observer_set(ft_observer *o, const int32_t wire[FT_JOINTS]);

#endif
