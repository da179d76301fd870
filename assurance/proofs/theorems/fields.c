/* The rest of rounding that is carried from tick to tick, ft_field.h of
 * bus/. */
#include "proof.h"

#include "ft_config.c"
#include "ft_field.h"

/* The rest that is carried on when a torque is encoded is never more than one
 * step of the field. The theorem holds for any torque, NaN included, and any
 * earlier rest. The sent number encodes torque plus rest. fields_numbers shows
 * the right number.
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
