/* Conversion of quantities to numbers in the fields of drives' frames,
 * bus/ft_field.h. */
#include "exhaust.h"

#include "ft_config.c"
#include "ft_field.h"

static double worst; /* maximum error, in steps */

/* Return the index of a float in the ordered sequence of all floats. */
static int64_t order_of(float x)
{
    const uint32_t bits = bits_of(x);

    return bits >> 31 != 0u ? -(int64_t)(bits & 0x7FFFFFFFu) : (int64_t)bits;
}

static float at_order(int64_t order)
{
    return order < 0 ? of_bits((uint32_t)-order | 0x80000000u)
                     : of_bits((uint32_t)order);
}

/* Return the index of the first float whose number is at least this number. */
static int64_t first_of(const ft_field_range *r, uint32_t number)
{
    int64_t below = order_of(r->low), above = order_of(r->high);

    while (below < above) {
        const int64_t middle = below + (above - below) / 2;

        if (ft_field_encode(r, at_order(middle)) >= number)
            above = middle;
        else
            below = middle + 1;
    }
    return above;
}

/* Check that a float that becomes a number is near the number's value. */
static void near(const ft_field_range *r, uint32_t number, int64_t order)
{
    const double step = ((double)r->high - (double)r->low) / (double)r->top;
    const double meant = (double)r->low + step * (double)number;
    const double error = fabs((double)at_order(order) - meant) / step;

    CLAIM(ft_field_encode(r, at_order(order)) == number);
    CLAIM(error < 0.51);
    worst = error > worst ? error : worst;
}

/* Check the first and the last float that are converted to each number. */
static void every_number(const ft_field_range *r)
{
    uint32_t n;

    for (n = 0; n <= r->top; n++) {
        near(r, n, first_of(r, n));
        near(r, n, n < r->top ? first_of(r, n + 1u) - 1 : order_of(r->high));
        CLAIM(ft_field_encode(r, ft_field_decode(r, n)) == n);
    }
}

/* Check values outside the range, and NaN. */
static void beyond(const ft_field_range *r)
{
    const float past = at_order(order_of(r->high) + 1);
    const float before = at_order(order_of(r->low) - 1);

    CLAIM(ft_field_encode(r, past) == r->top);
    CLAIM(ft_field_encode(r, HUGE_VALF) == r->top);
    CLAIM(ft_field_encode(r, before) == 0u);
    CLAIM(ft_field_encode(r, -HUGE_VALF) == 0u);
    CLAIM(ft_field_encode(r, of_bits(0x7FC00000u)) == ft_field_encode(r, 0.0f));
    CLAIM(ft_field_encode(r, of_bits(0xFFC00000u)) == ft_field_encode(r, 0.0f));
}

static void look_at(ft_field_range r)
{
    every_number(&r);
    beyond(&r);
}

/* Every float, including NaN and values outside the range, is converted to a
 * number that the field can hold, without wrapping. Within the range the result
 * is the nearest number, less than 0.51 of a step away. Outside the range the
 * result is the smallest or the largest number. NaN is converted to the number
 * of zero. Decoding and then encoding a number of a field gives the same
 * number. The theorem holds for every field of every drive. For each number the
 * proof checks the first and the last float that are converted to it. All other
 * floats are between these two.
 * Assumes: a rounded sum or product never falls when its operand rises.
 * Run: exhaust mechanisms=drives,openarm_like */
void prove_fields_numbers(void)
{
    uint32_t i;

    for (i = 0; i < FT_BUS_DRIVES; i++) {
        const ft_drive_config *c = &ft_drive[i];
#ifdef FT_FAMILY_ROBSTRIDE
        const uint32_t top = c->family == FT_FAMILY_ROBSTRIDE ? FT_FIELD_16
                                                              : FT_FIELD_12;
#else
        const uint32_t top = FT_FIELD_12;
#endif

        look_at(ft_field_about(c->position, FT_FIELD_16));
        look_at(ft_field_about(c->velocity, top));
        look_at(ft_field_upto(c->kp, top));
        look_at(ft_field_upto(c->kd, top));
        look_at(ft_field_about(c->torque, top));
    }
    NOTE("worst error %.4f of a step", worst);
    END;
}
