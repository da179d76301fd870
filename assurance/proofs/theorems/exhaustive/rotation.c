/* The plane rotations that solve closed loops: ft_loop.c, emitted. */
#include "exhaust.h"

#include "ft_loop.c"

#define LEAST 1.1754944e-38f /* 2^-126: a smaller squared length is denormal */
#define MOST 2e12f

static double worst;

/* Return 1 / sqrt(t) of a squared length t, as ft_rotation computes this
 * number. For this, the function searches two numbers whose rounded squares
 * have the sum t. */
static double formed(float t)
{
    const float a = t < LEAST ? -1e-15f : (float)(0.9 * sqrt(t) - 1e-15);
    const float x = a + 1e-15f, square = x * x;
    const float b = (float)sqrt((double)t - square);
    int32_t ulps;

    for (ulps = 0; ulps < 16; ulps++) {
        const int32_t off = (ulps & 1) != 0 ? -(ulps + 1) / 2 : ulps / 2;
        const float c = of_bits(bits_of(b) + (uint32_t)off);

        if (square + c * c == t)
            return (double)ft_rotation(a, c).s / c;
    }
    CLAIM(!"a sum of squares");
    return 0.0;
}

/* ft_rotation(a, b) computes a cosine and a sine. If a and b are at most 10^6
 * in size, cosine and sine are at most 1 + 2e-6. For every squared length t up
 * to 2e12, the computed 1 / sqrt(t) exceeds its exact value by at most 1.8e-6
 * of this value. Neither a nor b exceeds sqrt(t), except for rounding of the
 * sum of squares.
 * Run: exhaust mechanisms=five_bar */
void prove_rotation_bounds(void)
{
    const double rounding = 1.0 + 1.0 / (1 << 22), tiny = 2.9e-45; /* 2^-148 */
    uint32_t bits;

    for (bits = 1; bits <= bits_of(MOST); bits++) {
        const double t = of_bits(bits);
        const double c = sqrt(t * rounding + tiny) * formed((float)t);

        worst = c - 1.0 > worst ? c - 1.0 : worst;
        checks++;
    }
    NOTE("largest cosine or sine 1 + %.3g", worst);
    CLAIM(worst < 1.8e-6);
    END;
}
