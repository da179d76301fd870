/* One segment of the path: between two knots, a quintic in each joint.
 *
 * p(t) = q0 + c1 t + c2 t^2 + c3 t^3 + c4 t^4 + c5 t^5
 * with t in s of path time since the first knot. All joints share it, so its
 * powers are formed once for all of them. */
#ifndef FT_SEGMENT_H
#define FT_SEGMENT_H

#include "ft_model.h" /* ft_real, ft_turn, FT_JOINTS */

#include <stdint.h>

#define FT_DEGREE 5

typedef struct {
    ft_turn q[FT_JOINTS];            /* position */
    ft_real rate[FT_JOINTS];         /* rad/s, m/s */
    ft_real acceleration[FT_JOINTS]; /* rad/s^2, m/s^2 */
} ft_knot;

typedef struct {
    ft_turn q0;           /* position at t = 0 */
    ft_real c[FT_DEGREE]; /* rad or m a s, s^2, ..., s^5 */
} ft_quintic;

typedef struct {
    ft_quintic joint[FT_JOINTS];
    uint8_t flags; /* FT_KNOT_START: a motion's first, FT_KNOT_END: its last */
} ft_segment;

void ft_segment_build(ft_segment *g, const ft_knot *from, const ft_knot *to);
void ft_segment_positions(const ft_segment *g, ft_real t,
                          ft_turn q[FT_JOINTS]);
void ft_segment_add_increments(const ft_segment *g, ft_real m, ft_real h,
                               ft_real u[FT_JOINTS]);
ft_real ft_segment_rate(const ft_quintic *p, ft_real t);
ft_real ft_segment_span(const ft_quintic *p);

#endif
