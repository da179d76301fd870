/* Quintics between knots; see ft_segment.h. */
#include "ft_segment.h"

#include "ft_config.h"   /* ft_joint */
#include "ft_position.h" /* ft_position_add */

#define T (FT_C(1.0) / (ft_real)FT_KNOT_HZ) /* time between knots, s */

/* Fit one joint's quintic to displacement, velocity and acceleration at both
 * ends. The displacement is a difference of integers. The knots contain the
 * velocities v0 and v1. The extrapolation from the first knot is subtracted
 * first, so that the higher coefficients are computed from small numbers. */
static void fit(ft_quintic *p, ft_real displacement, ft_real v0, ft_real v1,
                ft_real a0, ft_real a1)
{
    const ft_real hz = (ft_real)FT_KNOT_HZ, hz2 = hz * hz;
    ft_real position = displacement - T * (v0 + T * FT_C(0.5) * a0);
    ft_real velocity = T * ((v1 - v0) - T * a0);
    ft_real half = FT_C(0.5) * (T * T) * (a1 - a0);

    p->c[0] = v0;
    p->c[1] = FT_C(0.5) * a0;
    p->c[2] = (FT_C(10.0) * position - FT_C(4.0) * velocity + half)
              * (hz2 * hz);
    p->c[3] = (FT_C(-15.0) * position + FT_C(7.0) * velocity - FT_C(2.0) * half)
              * (hz2 * hz2);
    p->c[4] = (FT_C(6.0) * position - FT_C(3.0) * velocity + half)
              * (hz2 * hz2 * hz);
}

/* Build the segment between two knots. */
void ft_segment_build(ft_segment *g, const ft_knot *from, const ft_knot *to)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        ft_turn displacement = ft_position_difference(to->q[j], from->q[j]);

        g->joint[j].q0 = from->q[j];
        fit(&g->joint[j], (ft_real)displacement * ft_joint[j].unit,
            from->velocity[j], to->velocity[j], from->acceleration[j],
            to->acceleration[j]);
    }
}

/* Return dp/dt of one joint at t, rad/s or m/s. */
ft_real ft_segment_velocity(const ft_quintic *p, ft_real t)
{
    const ft_real *c = p->c;

    return c[0] + t * (FT_C(2.0) * c[1] + t * (FT_C(3.0) * c[2]
           + t * (FT_C(4.0) * c[3] + t * FT_C(5.0) * c[4])));
}

/* Return a bound of the displacement from q0, with half a tick beyond the ends,
 * on which the conversion to position steps relies. */
ft_real ft_segment_span(const ft_quintic *p)
{
    const ft_real t = T + FT_C(0.5) / (ft_real)FT_TICK_HZ;
    ft_real span = FT_C(0.0);
    uint32_t i;

    for (i = FT_DEGREE; i-- > 0;)
        span = t * (span + (p->c[i] < FT_C(0.0) ? -p->c[i] : p->c[i]));
    return span;
}

/* Evaluate two segments at time t since their knot: (next - p) / 4. At the knot
 * they agree up to the second derivative. */
ft_real ft_segment_bend(const ft_quintic *p, const ft_quintic *next, ft_real t)
{
    const ft_real *c = p->c, *d = next->c;
    const ft_real third =
        d[2] - (c[2] + T * (FT_C(4.0) * c[3] + T * (FT_C(10.0) * c[4])));
    const ft_real fourth = d[3] - (c[3] + T * (FT_C(5.0) * c[4]));
    const ft_real beyond = third + t * (fourth + t * (d[4] - c[4]));

    return FT_C(0.25) * (t * t * t) * beyond;
}
