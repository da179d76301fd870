/* The rounding remainder of a torque that is carried from tick to tick,
 * ft_field.h of bus/. */
#include "proof.h"

#include "ft_config.c"
#include "ft_field.h"

/* When a torque is encoded, the remainder that is carried to the next tick is
 * at most one step of the field. The theorem holds for any torque, NaN
 * included, and any previous remainder. The sent number encodes the torque plus
 * the previous remainder. The theorem fields_numbers proves that this number is
 * correct.
 * Run: floats mechanisms=drives */
void prove_fields_carry(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    ft_field_range r;
    float carried = nondet_float();

    r = ft_field_about(ft_drive[i].torque,
                       nondet_bool() ? FT_FIELD_12 : FT_FIELD_16);
    (void)ft_field_carry(&r, nondet_float(), &carried);
    CLAIM(__builtin_fabsf(carried) <= (r.high - r.low) / (float)r.top);
    END;
}
