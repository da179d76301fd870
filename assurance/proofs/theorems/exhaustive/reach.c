/* The distance that a segment covers, control/ft_segment.c, at every point of
 * the segment. */
#include "exhaust.h"

#include "ft_config.c"
#include "ft_path.c"
#include "ft_segment.c"

/* At every point of a segment, extended by half a tick, each single coefficient
 * contributes a distance of at most its span by ft_segment_span(). All
 * coefficients together contribute at most the sum of these spans, except for
 * five roundings. angles_to_steps allows for these roundings with 1 in 10^5. So
 * no position on a segment that ft_knots.c accepts exceeds the range of its
 * conversion.
 * Run: exhaust mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_path_reach(void)
{
    uint32_t i;

    for (i = 0; i < FT_DEGREE; i++) {
        ft_quintic p = { 0, { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f } };
        int32_t at = -FT_HALF_ONE;
        ft_real span;

        p.c[i] = 1.0f;
        span = ft_segment_span(&p);
        CLAIM(span > 0.0f);
        for (; at <= FT_PATH_SEGMENT + FT_HALF_ONE; at++) {
            const ft_weights w = ft_segment_powers(ft_path_seconds(at));

            CLAIM(fabs(ft_segment_sum(&p, &w)) <= span);
        }
    }
    END;
}
