/* Friction that falls with the velocity and rises with the load,
 * control/ft_law.c, at every velocity. */
#include "exhaust.h"

#include "ft_config.c"
#include "ft_law.c"

#define LOAD -1e6f          /* load above the torque of any arm, N m */
#define ROUNDED 1.0000005f  /* relative rounding of three factors */

/* Check one velocity of one joint, in both directions. Return the remaining
 * fraction of the velocity-dependent friction. The returned fraction is at most
 * `before`. */
static float at(uint32_t j, float both, float before)
{
    const ft_stribeck_config *r = &ft_stribeck_joint[j];
    const float left = share(r, both);
    const float light = rubs(j, both, 0.0f), heavy = rubs(j, both, LOAD);

    CLAIM(left >= 0.0f && left <= before);
    CLAIM(share(r, -both) == left);
    CLAIM(light >= 0.0f && light <= r->stribeck * ROUNDED);
    CLAIM(heavy >= light);
    CLAIM(heavy <= (r->stribeck + r->load * -LOAD) * ROUNDED);
    CLAIM(rubs(j, -both, 0.0f) == -light && rubs(j, -both, LOAD) == -heavy);
    return left;
}

/* At every finite float velocity, in both directions, friction opposes the
 * motion and is zero at rest. Friction is at most the file's stribeck plus the
 * file's load times the links' torque. The velocity-dependent part has its full
 * value at rest, and never rises with the speed. At any velocity friction is no
 * smaller at the largest torque than at zero torque.
 * Assumes: links' torques below 1e6 N m (torques_finite); a velocity of NaN
 * gives no friction (law_wild).
 * Run: exhaust mechanisms=rubbing seconds=3000 */
void prove_friction_bounded(void)
{
    uint32_t j, bits;

    for (j = 0; j < FT_JOINTS; j++) {
        float before = 1.0f;

        CLAIM(share(&ft_stribeck_joint[j], 0.0f) == 1.0f);
        CLAIM(rubs(j, 0.0f, LOAD) == 0.0f);
        for (bits = 0; bits < 0x7f800000u; bits++)
            before = at(j, of_bits(bits), before);
    }
    END;
}
