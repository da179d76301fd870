/* Current loops, chip/stm32/ft_current.c, on every board that has current
 * loops.
 *
 * Converter counts and the values of the loops are any numbers, NaN included.
 * The theorems assume nothing about the previous period. */
#include "proof.h"

#include "ft_current.c"

/* ---- neighbours --------------------------------------------------------- */

static uint32_t dropped, written[FT_LOOPS];
static float duty[FT_LOOPS];
static bool enabled, wanted;

void ft_chip_safe(void)
{
    dropped++;
}

bool ft_chip_outputs_enabled(void)
{
    return enabled;
}

bool ft_outputs_wanted(void)
{
    return wanted;
}
bool ft_outputs_awake(void) { return nondet_bool(); }

/* Return the loop that drives a joint. */
static uint32_t loop_of(uint32_t joint)
{
    uint32_t i;

    for (i = 0; i < FT_LOOPS; i++)
        if (ft_loop_table[i].joint == joint)
            return i;
    CLAIM(false);
    return 0;
}

void ft_output_write(uint32_t joint, float x)
{
    const uint32_t i = loop_of(joint);

    written[i]++;
    duty[i] = x;
}

float ft_bus_ratio(void)
{
    return nondet_float();
}

void ft_sampling_take(uint32_t counts[], uint32_t count)
{
    uint32_t i;

    CLAIM(count == FT_LOOPS);
    for (i = 0; i < count; i++)
        counts[i] = nondet_u32();
}

static void any_state(void)
{
    ANYTHING(ft_loops);
    ANYTHING(ft_loops_state);
    enabled = nondet_bool();
    wanted = nondet_bool();
}

/* Return whether the reported joint has a loop. */
static bool told_right(void)
{
    uint32_t joint, i;
    bool known = false;

    (void)ft_chip_current_fault(&joint);
    for (i = 0; i < FT_LOOPS; i++)
        known = known || ft_loop_table[i].joint == joint;
    return known;
}

/* In every period each joint gets one duty, for any counts, any set points and
 * any state of the loops, NaN included. The duty is at most the loop's limit,
 * or is the loop's test pulse. While the outputs are off the duty is zero.
 * Run: unwind=8 floats mechanisms=f405rg-4:current,nucleo-g474re-6:current,odrive-v3.6:current */
void prove_current_duty(void)
{
    const uint32_t i = below(FT_LOOPS);

    any_state();
    ft_current_interrupt();
    CLAIM(written[i] == 1u);
    CLAIM(__builtin_fabsf(duty[i]) <= ft_loop_table[i].bound
          || (enabled && duty[i] == ft_loop_table[i].pulse));
    CLAIM(enabled || duty[i] == 0.0f);
    END;
}

/* If two currents exceed their trip level within a short time, the outputs are
 * switched off in the same period. The first cause is stored until the outputs
 * are enabled again. The stored cause names a joint that has a loop.
 * Run: unwind=8 mechanisms=f405rg-4:current */
void prove_current_trips(void)
{
    const uint32_t i = below(FT_LOOPS), raw = nondet_u32();
    const ft_loop_config *c = &ft_loop_table[i];
    uint32_t cause, joint;
    float amperes;

    any_state();
    GIVEN(raw <= 4095u);
    cause = ft_loops_state.cause;
    GIVEN(cause == FT_CURRENT_GOOD || told_right());
    amperes = ((float)raw - ft_loops[i].zero) * c->amperes;
    GIVEN(ft_loops[i].far > 0u && ft_loops[i].far <= FT_FAR);
    GIVEN(__builtin_fabsf(amperes) > FT_CURRENT_TRIP * c->full);
    ft_loop_serve(c, &ft_loops[i], raw);
    CLAIM(dropped > 0u && told_right());
    CLAIM(ft_chip_current_fault(&joint) != FT_CURRENT_GOOD);
    CLAIM(cause == FT_CURRENT_GOOD || ft_loops_state.cause == cause);
    END;
}

/* While a cause is stored, it switches the outputs off in every period, even if
 * they were switched on again. A converter that has stopped is detected at the
 * next boundary between two ticks.
 * Run: unwind=8 mechanisms=f405rg-4:current */
void prove_current_stays_off(void)
{
    any_state();
    if (nondet_bool()) {
        GIVEN(ft_loops_state.cause != FT_CURRENT_GOOD);
        ft_current_interrupt();
        CLAIM(dropped > 0u);
    } else {
        ft_currents_watch();
        wanted = true;
        dropped = 0;
        ft_currents_watch();
        CLAIM(dropped > 0u && ft_loops_state.cause != FT_CURRENT_GOOD);
    }
    END;
}

/* The query functions of the loops are free of run-time errors, for any counts.
 * When the outputs are enabled, the stored cause and the integrals are cleared.
 * Run: unwind=8 mechanisms=f405rg-4:current,nucleo-g474re-6:current,odrive-v3.6:current */
void prove_current_rest(void)
{
    const uint32_t i = below(FT_LOOPS);
    int32_t counts[8]; /* more than the joints of any board */
    uint32_t joint;

    any_state();
    ANYTHING(counts);
    ft_current_ask(nondet_u32(), nondet_float());
    ft_currents_moved(counts);
    (void)ft_chip_current_zero(&joint);
    CLAIM(loop_of(joint) < FT_LOOPS);
    ft_currents_on();
    CLAIM(ft_loops_state.cause == FT_CURRENT_GOOD && ft_loops[i].far == 0u
          && ft_loops[i].integral == 0.0f);
    END;
}
