/* One segment of the path: a quintic in each joint between two knots.
 *
 *   p(t) = q0 + c1 t + c2 t^2 + c3 t^3 + c4 t^4 + c5 t^5.
 *
 * Here t is the path time since the first knot, s. All joints share t, so the
 * powers of t are formed once. */
#ifndef FT_SEGMENT_H
#define FT_SEGMENT_H

#include "ft_model.h" /* ft_real, ft_turn, FT_JOINTS */

#include "ft_number.h"   /* FT_INLINE */
#include "ft_position.h" /* ft_position_add */

#include <stdint.h>

#define FT_DEGREE 5

typedef struct {
    ft_turn q[FT_JOINTS];            /* position */
    ft_real velocity[FT_JOINTS];         /* rad/s or m/s */
    ft_real acceleration[FT_JOINTS]; /* rad/s^2 or m/s^2 */
} ft_knot;

typedef struct {
    ft_turn q0;           /* position at t = 0 */
    ft_real c[FT_DEGREE]; /* coefficients, rad or m per s, s^2, ..., s^5 */
} ft_quintic;

typedef struct {
    ft_quintic joint[FT_JOINTS];
    uint8_t flags; /* FT_KNOT_START first, FT_KNOT_END last */
    uint8_t mode;  /* the mechanism's */
} ft_segment;

void ft_segment_build(ft_segment *g, const ft_knot *from, const ft_knot *to);
ft_real ft_segment_velocity(const ft_quintic *p, ft_real t);
ft_real ft_segment_span(const ft_quintic *p);
ft_real ft_segment_bend(const ft_quintic *p, const ft_quintic *next, ft_real t);

/* Weights of a polynomial's coefficients. All joints use the same weights. */
typedef struct {
    ft_real w[FT_DEGREE];
} ft_weights;

/* Return the powers of t, the weights of the displacement from q0 at t. */
static FT_INLINE ft_weights ft_segment_powers(ft_real t)
{
    const ft_real t2 = t * t;
    const ft_weights p = { { t, t2, t2 * t, t2 * t2, t2 * t2 * t } };

    return p;
}

/* Return the weights of (p(m + h) - p(m - h)) / 2. In derivatives at m, the
 * result is h p' + h^3 p'''/6 + h^5 p^(5)/120. The weights are exact for a
 * quintic, and no two positions are subtracted. */
static FT_INLINE ft_weights ft_segment_increment(ft_real m, ft_real h)
{
    const ft_real h2 = h * h, m2 = m * m;
    const ft_real sum = m2 + h2, both = m2 + m2, second = (h + h) * m;
    const ft_weights p = { {
        h,
        second,                                /* 2 h m */
        h * (both + sum),                      /* h (3 m^2 + h^2) */
        (second + second) * sum,               /* 4 h m (m^2 + h^2) */
        h * (sum * sum + (both + both) * (sum + h2)),
    } };                           /* h (5 m^4 + 10 m^2 h^2 + h^4) */

    return p;
}

/* Return the weights of (p(m + h) - 2 p(m) + p(m - h)) / 4. The weights are
 * exact, and no two increments are subtracted. */
static inline ft_weights ft_segment_change(ft_real m, ft_real h)
{
    const ft_real h2 = FT_C(0.5) * (h * h), m2 = m * m;
    const ft_weights p = { {
        FT_C(0.0),
        h2,
        h2 * (FT_C(3.0) * m),
        h2 * (FT_C(6.0) * m2 + FT_C(2.0) * h2),
        h2 * (m * (FT_C(10.0) * m2 + FT_C(10.0) * h2)),
    } };

    return p;
}

/* Return the weighted sum, smallest terms first, rounded in one sum only. */
static FT_INLINE ft_real ft_segment_sum(const ft_quintic *p,
                                        const ft_weights *by)
{
    const ft_real *c = p->c, *w = by->w;

    return (((w[4] * c[4] + w[3] * c[3]) + w[2] * c[2]) + w[1] * c[1])
           + w[0] * c[0];
}

/* Return the position for these powers of t. */
static FT_INLINE ft_turn ft_segment_position(const ft_quintic *p,
                                             const ft_weights *powers,
                                             ft_real per_unit)
{
    ft_real displacement = ft_segment_sum(p, powers);

    return ft_position_add(p->q0, (ft_turn)(displacement * per_unit));
}

#endif
