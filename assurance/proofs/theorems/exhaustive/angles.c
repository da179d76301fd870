/* Sines, cosines and lengths of all angles: ft_trig.h, emitted, and the
 * conversions in control/ft_position.h and ft_segment.h. */
#define _GNU_SOURCE /* sincos */
#include "exhaust.h"

#include "ft_config.c"
#include "ft_position.h"
#include "ft_trig.h"

/* Return the larger number. */
static double worse(double a, double b)
{
    return a > b ? a : b;
}

/* The emitted cosine and sine of each of the 2^32 angles differ from the exact
 * values by less than 1.5e-7. The error of the sine is below 1.8e-7.
 * Assumes: sincos of this computer in double precision is regarded as exact; it
 * is correct to 1e-15.
 * Run: exhaust seconds=900 */
void prove_angles_sines(void)
{
    const double turn = 8.0 * atan(1.0) / 4294967296.0;
    double pair = 0.0, alone = 0.0;
    uint32_t angle = 0;

    do {
        double s, c;
        const ft_pair p = ft_cos_sin(angle);

        sincos(turn * (double)(int32_t)angle, &s, &c);
        pair = worse(pair, worse(fabs(p.c - c), fabs(p.s - s)));
        alone = worse(alone, fabs(ft_sin(angle) - s));
        checks++;
    } while (++angle != 0u);
    NOTE("worst error of the pair %.3g, of the sine alone %.3g", pair, alone);
    CLAIM(pair < 1.5e-7);
    CLAIM(alone < 1.8e-7);
    END;
}

/* Every distance that a segment may cover, in rad or m, converts to units of
 * position within their range. The error is below 2^-23 of the distance plus
 * one unit.
 * Assumes: a distance of at most the joint's span, with a rounding error of one
 * in 10^5. ft_knots.c accepts no longer segment.
 * Run: exhaust seconds=900 mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_angles_to_steps(void)
{
    uint32_t j, bits;

    for (j = 0; j < FT_JOINTS; j++) {
        const uint32_t most = bits_of(ft_joint[j].span * 1.00001f);

        for (bits = 0; bits <= most; bits++) {
            const float way = of_bits(bits);
            const float scaled = way * ft_joint[j].per_unit;
            const double exact = (double)way * (double)ft_joint[j].per_unit;

            CLAIM(scaled < 2147483648.0f);
            CLAIM(fabs((double)(ft_turn)scaled - exact)
                  <= 1.0 + exact / (1 << 23));
            CLAIM((ft_turn)-scaled == -(ft_turn)scaled);
        }
    }
    END;
}

/* The duty for a voltage at its limit is (duty_max * bus) times 1 / bus, with
 * each operation rounded. For every bus voltage that raises no fault, this duty
 * is finite and at most 1 + 2^-23. Smaller voltages give smaller duties,
 * because a rounded product never falls when its factor rises.
 * Run: exhaust seconds=900 */
void prove_angles_duty(void)
{
    uint32_t bits = bits_of(FT_BUS_LOW);
    float worst = 0.0f;

    for (; bits <= bits_of(FT_BUS_HIGH); bits++) {
        const float bus = of_bits(bits), per_volt = 1.0f / bus;
        const float duty = (FT_DUTY_MAX * bus) * per_volt;

        worst = duty > worst ? duty : worst;
        CLAIM(duty <= 1.00000012f);
    }
    NOTE("largest duty %.9g", worst);
    END;
}
