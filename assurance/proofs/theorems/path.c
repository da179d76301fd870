/* Samples of the path, control/ft_path.c, and their quintics, ft_segment.c. The
 * theorem motion_tick proves the range of positions in a segment that these
 * theorems assume. */
#include "proof.h"

#include "ft_config.c"
#include "ft_path.c"
#include "ft_segment.c"

static ft_segment before, after;
static ft_target target;
static ft_sample next;

static int32_t place(int32_t from, int32_t to)
{
    const int32_t at = nondet_i32();

    GIVEN(at >= from && at <= to);
    return at;
}

/* For any segments and any position in them, NaN included, three computations
 * have no run-time error other than of conversions: a sample, a sample across a
 * knot, and the change at a knot. The theorems path_reach and angles_to_steps
 * concern the conversions, for segments that ft_knots.c accepts.
 * Run: unwind=10 slice mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_path_samples(void)
{
    const int32_t half = FT_HALF_ONE, end = FT_PATH_SEGMENT;
    ft_real du[FT_JOINTS], bend[FT_JOINTS];
    ft_crossing step;

    ANYTHING(before);
    ANYTHING(after);
    step.segment = nondet_u32();
    step.from = place(-half, end);
    step.boundary = place(step.from, end + FT_PATH_TICK);
    step.to = place(1, FT_PATH_TICK);
    ANYTHING(next);
    switch (nondet_u8() % 4u) {
    case 0:
        ft_path_within(&target, &next, &before, place(-half, end + half),
                       place(-half, end), place(-half, end + half));
        break;
    case 1:
        ft_path_across(&target, &next, &before, &after, &step);
        break;
    case 2:
        ft_path_place(target.q, &before, place(-half, end + half));
        break;
    default:
        ft_path_change_across(du, bend, &before, &after, step.from, step.to);
    }
    END;
}

/* For any two knots the computation of a segment, of its velocity at any point,
 * and of its span has no run-time error. The segment begins at its first knot,
 * with the velocity of this knot.
 * Run: unwind=10 slice mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_path_segment(void)
{
    const uint32_t j = below(FT_JOINTS);
    ft_knot from, to;

    ANYTHING(from);
    ANYTHING(to);
    ft_segment_build(&before, &from, &to);
    (void)ft_segment_velocity(&before.joint[j], nondet_float());
    (void)ft_segment_span(&before.joint[j]);
    CLAIM(before.joint[j].q0 == from.q[j]);
    CLAIM(before.joint[j].c[0] == from.velocity[j]
          || from.velocity[j] != from.velocity[j]);
    END;
}
