/* Samples of the path; see ft_path.h. */
#include "ft_path.h"

#include "ft_number.h" /* FT_UNROLL */

/* Give the positions at a place of a segment. */
void ft_path_place(ft_turn q[FT_JOINTS], const ft_segment *g, int32_t at)
{
    const ft_weights powers = ft_segment_powers(ft_path_seconds(at));
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        q[j] = ft_segment_position(&g->joint[j], &powers, ft_joint[j].per_unit);
}

/* Sample half the displacement between two places of one segment. Also give the
 * position at a boundary between these places and at the second place. After
 * the END the polynomial is used for at most half a tick.
 *
 * The position at the second place is the first place's position plus the
 * displacement, rounded to whole steps. The check of a joint's span guarantees
 * that this number of steps fits its integer type. Each knot sets the position
 * exactly, so errors do not add up. */
void ft_path_within(ft_target *t, ft_sample *next, const ft_segment *g,
                    int32_t from, int32_t boundary, int32_t to)
{
    const ft_weights half = ft_path_half_displacement(from, to);
    const ft_weights here = ft_segment_powers(ft_path_seconds(boundary));
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        const ft_quintic *p = &g->joint[j];
        const ft_real per_unit = ft_joint[j].per_unit;
        const ft_real u = ft_segment_sum(p, &half);
        const ft_turn at = ft_segment_position(p, &here, per_unit);

        if (FT_STEP_USES_POSITIONS)
            next->q[j] = ft_position_twice(next->q[j], (ft_turn)(u * per_unit));
        t->q[j] = at;
        t->u[j] = next->u[j] = u;
    }
}

/* Sample a step that crosses from one segment into the next. Half the
 * displacement is the sum of its pieces in both segments. */
void ft_path_across(ft_target *t, ft_sample *next, const ft_segment *before,
                    const ft_segment *after, const ft_crossing *step)
{
    const ft_weights left =
        ft_path_half_displacement(step->from, FT_PATH_SEGMENT);
    const ft_weights on = ft_path_half_displacement(0, step->to);
    const ft_weights there = ft_segment_powers(ft_path_seconds(step->to));
    const bool passed = step->boundary >= FT_PATH_SEGMENT;
    const ft_weights here = ft_segment_powers(ft_path_seconds(
        passed ? step->boundary - FT_PATH_SEGMENT : step->boundary));
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        const ft_quintic *p = &before->joint[j], *n = &after->joint[j];
        const ft_real per_unit = ft_joint[j].per_unit;
        const ft_real u = ft_segment_sum(p, &left) + ft_segment_sum(n, &on);
        const ft_turn at = ft_segment_position(passed ? n : p, &here, per_unit);

        next->q[j] = ft_segment_position(n, &there, per_unit);
        t->q[j] = at;
        t->u[j] = next->u[j] = u;
    }
}

/* Compute du / 2 for a step across a knot, after a step of the same length. du
 * includes the change of the curve at the knot as far as it falls into this
 * step. bend receives the remaining change, for the next step. */
void ft_path_change_across(ft_real du[FT_JOINTS], ft_real bend[FT_JOINTS],
                           const ft_segment *before, const ft_segment *after,
                           int32_t from, int32_t to)
{
    const ft_weights over =
        ft_path_half_change(from, FT_PATH_SEGMENT + to - from);
    const ft_real last = ft_path_seconds(from - FT_PATH_SEGMENT);
    const ft_real there = ft_path_seconds(to);
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        const ft_quintic *p = &before->joint[j], *n = &after->joint[j];

        du[j] = ft_segment_sum(p, &over) + ft_segment_bend(p, n, there);
        bend[j] = -ft_segment_bend(p, n, last);
    }
}
