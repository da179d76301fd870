/* How far a segment reaches, control/ft_segment.c, at every place that is asked
 * of it. */
#include "exhaust.h"

#include "ft_config.c"
#include "ft_path.c"
#include "ft_segment.c"

/* At every place of a segment and half a tick beside it each coefficient alone
 * leads no farther than ft_segment_span() says of it. All of them together lead
 * no farther than the sum of these, but for five roundings, which are within
 * the 1 in 10^5 that angles_to_steps allows for. So no position of a segment
 * that ft_knots.c takes leaves the range of its conversion.
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
