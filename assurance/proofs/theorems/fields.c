/* One number that is carried from a tick to the next: ft_field.h of bus/. */
#include "proof.h"

#include "ft_config.c"
#include "ft_field.h"

/* The rest that is carried on when a torque is encoded is never more than one
 * step of its field, whatever the torque is, a number or not, and whatever was
 * carried before. The number sent stands for the sum of torque and rest:
 * fields_numbers shows which number that is.
 * Run: floats mechanisms=drives */
void prove_fields_carry(void)
{
    const uint32_t i = nondet_u32();
    ft_field_range r;
    float carried = nondet_float();

    GIVEN(i < FT_BUS_DRIVES);
    r = ft_field_about(ft_drive[i].torque,
                       nondet_bool() ? FT_FIELD_12 : FT_FIELD_16);
    (void)ft_field_carry(&r, nondet_float(), &carried);
    CLAIM(__builtin_fabsf(carried) <= (r.high - r.low) / (float)r.top);
    END;
}
