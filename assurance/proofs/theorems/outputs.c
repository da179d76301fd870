/* Output of duties to the timers, chip/stm32/ft_outputs.c, on every board that
 * drives motors. */
#include "proof.h"

#include "ft_outputs.c"

static float ratio; /* bus voltage divided by the nominal bus voltage */

float ft_bus_ratio(void) { return ratio; }

/* Return the compare value for a whole period of the timer that has this
 * compare register. For a timer that only counts up, the value is one more than
 * its period register. */
static uint32_t whole(volatile uint32_t *compare)
{
    const uint32_t at = (uint32_t)compare;
    uint32_t i;

    for (i = 0; i < FT_PWM_TIMER_COUNT; i++) {
        const uint32_t timer = (uint32_t)ft_pwm_table[i].timer;

        if (at >= timer && at < timer + sizeof(TIM_TypeDef))
            return ft_pwm_table[i].top
                   + (ft_pwm_table[i].alignment == (uint16_t)FT_EDGE ? 1u : 0u);
    }
    return 0u;
}

/* For any duty, NaN included, a bridge gets a compare value between 0 and the
 * timer's period. The value differs from neutral by at most the board's limit,
 * and is neutral for NaN. The word that sets the direction changes only the pin
 * of this bridge. The set point of a current loop is at most 1 of its range, at
 * any bus voltage.
 * Run: unwind=8 floats mechanisms=f405rg-4:voltage,f405rg-4:current,f405rg-6:voltage,nucleo-g474re-6:voltage,nucleo-g474re-6:current,odrive-v3.6:voltage,odrive-v3.6:current */
void prove_outputs_duties(void)
{
    float duty[FT_TABLE_SIZE];
    uint32_t i;

    ratio = nondet_float();
    ft_wanted = nondet_bool();
    for (i = 0; i < FT_TABLE_SIZE; i++)
        duty[i] = nondet_float();
    ft_chip_duties(duty);
    for (i = 0; i < FT_TABLE_SIZE; i++) {
        const ft_output_stage *d = &ft_stage_table[i];
        const float most = d->span * FT_DUTY_BOUND + 0.5f;

        if (d->looped) {
            CLAIM(__builtin_fabsf(ft_asked[i]) <= 1.0f);
            CLAIM(duty[i] == duty[i] || ft_asked[i] == 0.0f);
        } else if (d->kind != FT_NO_STAGE) {
            CLAIM(ft_next[i].width <= whole(d->compare));
            CLAIM((float)ft_next[i].width <= (float)d->neutral + most);
            CLAIM((float)ft_next[i].width >= (float)d->neutral - most);
            CLAIM(duty[i] == duty[i] || ft_next[i].width == d->neutral);
            CLAIM(ft_next[i].direction == 0u
                  || ft_next[i].direction == 1u << d->pin
                  || ft_next[i].direction == 1u << (d->pin + 16u));
        }
    }
    END;
}
