/* Switching the outputs on and off, chip/stm32/ft_outputs.c, for any register
 * values and from any state. */
#define OWN_CLOCK
#include "proof.h"

#include "peripherals.h"

static bool good_clock, lets_on, brake_closed, loops_on, stopped;

bool ft_clock_good(void) { return good_clock; }
bool ft_chip_drivers_ready(void) { return nondet_bool(); }
float ft_bus_ratio(void) { return nondet_float(); }
void ft_currents_on(void) { loops_on = true; }
void ft_currents_watch(void) { }
void ft_current_ask(uint32_t joint, float share) { }

bool ft_pin_high(uint32_t port, uint32_t pin)
{
    CLAIM(port < AT_PORTS && pin < 16u);
    return nondet_bool();
}

static void struck(void);

/* Levels of the pins that switch drivers, bridges and brakes. */
void ft_pin_put(uint32_t port, uint32_t pin, bool high)
{
    CLAIM(port < AT_PORTS && pin < 16u);
    if (port == FT_ENABLE_PORT && pin == FT_ENABLE_PIN)
        lets_on = high;
#ifdef FT_BRAKE_PORT
    if (port == FT_BRAKE_PORT && pin == FT_BRAKE_PIN)
        brake_closed = high != (FT_BRAKE_RELEASE != 0);
#endif
    struck();
}

#include "ft_outputs.c"

/* An interrupt may read this variable between any two statements. */
_Static_assert(__builtin_types_compatible_p(__typeof__(&ft_wanted),
                                            volatile bool *),
               "an interrupt looks at it");

/* Model one interrupt that switches off the outputs after any store. The
 * interrupt of a stopped crystal may come at any time. The interrupts of an
 * open e-stop loop and of a current loop occur only while the outputs are
 * requested. */
static void struck(void)
{
    const bool crystal = nondet_bool();

    if (stopped || !nondet_bool() || !(crystal || ft_wanted))
        return;
    stopped = true;
    good_clock = good_clock && !crystal;
    ft_chip_safe();
}

/* Return whether a timer changes none of its outputs. */
static bool off(const ft_pwm_timer *t)
{
    const uint32_t low = (uint32_t)TIM_CCMR_OC_FORCED_LOW | TIM_CCMR_OC_PRELOAD;
    bool all = true;
    uint32_t i;

    if (t->protection != FT_PLAIN)
        return t->timer->BDTR == ft_break_register(t)
               && (t->timer->BDTR & TIM_BDTR_MOE) == 0u
               && (t->timer->BDTR & TIM_BDTR_OSSI) != 0u;
    for (i = 0; i < 4u; i++) {
        const uint32_t both = i < 2u ? t->timer->CCMR1 : t->timer->CCMR2;

        all = all && ((t->outputs >> i & 1u) == 0u
                      || (both >> (i % 2u * 8u) & 0xFFu) == low);
    }
    return all;
}

/* Return whether no motor is driven. */
static bool safe(void)
{
    bool all = true;
    uint32_t i;

    for (i = 0; i < FT_PWM_TIMER_COUNT; i++)
        all = all && off(&ft_pwm_table[i]);
    for (i = 0; i < FT_TABLE_SIZE; i++)
        all = all && (ft_stage_table[i].kind != FT_ANTIPHASE
                      || ft_next[i].direction == 0u);
#ifndef FT_GATE_SELECTS
    all = all && !lets_on;
#endif
#ifdef FT_BRAKE_PORT
    all = all && brake_closed;
#endif
    return all && !ft_wanted;
}

static void any_state(void)
{
    uint32_t i;

    for (i = 0; i < FT_TABLE_SIZE; i++) {
        ft_next[i].width = nondet_u32();
        ft_next[i].direction = nondet_u32();
        ft_asked[i] = nondet_float();
    }
    ft_wanted = nondet_bool();
    good_clock = nondet_bool();
    lets_on = nondet_bool();
    brake_closed = nondet_bool();
    stopped = false;
}

/* The firmware calls this function on every fault, including a crash and a
 * stopped crystal. Afterwards no timer drives an output. A break register stops
 * its timer and forces the timer's outputs low. The outputs of any other timer
 * are forced low. The drivers are off and the holding brakes are closed. The
 * outputs are switched on only on request, with a good clock and, if software
 * reads the e-stop loop, with this loop closed. If an interrupt that switches
 * off the outputs occurs after any store of the function, the outputs are safe
 * when the function ends. Assumes: interrupts occur between the statements of
 * the file in source order, because stores to registers and to ft_wanted are
 * volatile.
 * Run: unwind=9 registers interrupts=ft_outputs.c mechanisms=f405rg-4:voltage,f405rg-6:voltage,nucleo-g474re-6:current,odrive-v3.6:current,braked,can:robomaster */
void prove_outputs_off(void)
{
    any_state();
    switch (nondet_u8() % 3u) {
    case 0:
        ft_chip_safe();
        CLAIM(safe());
        break;
    case 1:
        ft_chip_outputs(false);
        CLAIM(safe());
        break;
    default:
        ft_chip_outputs(true);
        CLAIM(safe() || (good_clock && ft_wanted && !stopped));
        CLAIM(FT_STOP_BY_SOFTWARE || !good_clock || stopped || ft_wanted);
    }
    END;
}

/* The outputs are reported as on only while they are requested. All functions
 * for the outputs and the board that every tick calls are free of run-time
 * errors for any register values, and write only pins of existing ports.
 * Run: unwind=9 registers mechanisms=f405rg-4:voltage,f405rg-4:current,f405rg-6:voltage,nucleo-g474re-6:current,odrive-v3.6:voltage,odrive-v3.6:current,can:robomaster */
void prove_outputs_asked(void)
{
    const uint32_t joint = below(FT_TABLE_SIZE);

    any_state();
    switch (nondet_u8() % 3u) {
    case 0:
        ft_outputs_take_over();
        ft_outputs_begin();
        (void)ft_outputs_hand_over();
        break;
    case 1:
        CLAIM(!ft_chip_outputs_enabled() || ft_wanted);
        CLAIM(ft_outputs_wanted() == ft_wanted);
        ft_chip_brake(nondet_bool());
        (void)ft_chip_driver_fault();
        break;
    default:
        GIVEN(ft_stage_table[joint].looped);
        ft_output_write(joint, nondet_float());
    }
    END;
}

/* The start of the timers terminates, and no timer drives an output afterwards.
 * The search for the phase of the timers' updates also terminates, after at
 * most eight waits.
 * Run: unwind=9 registers mechanisms=f405rg-4:voltage,f405rg-6:voltage,nucleo-g474re-6:current,odrive-v3.6:voltage,can:robomaster */
void prove_outputs_start(void)
{
    uint32_t i;

    any_state();
    (void)ft_outputs_start();
    for (i = 0; i < FT_PWM_TIMER_COUNT; i++) {
        CLAIM(off(&ft_pwm_table[i]));
        CLAIM((ft_pwm_table[i].timer->CR1 & TIM_CR1_CEN) != 0u);
    }
    (void)ft_outputs_update_at_top();
    END;
}
