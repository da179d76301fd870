/* The control tick (SysTick), start, watchdog, cycle counter, reset cause. */
#include "ft_app.h"
#include "ft_board.h" /* FT_TICK_*, FT_APB*, FT_WATCHDOG_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

enum { FT_PIL_LATE_CYCLES = 128, FT_TRIAL_US = 10, FT_TRIAL_CYCLES = 60 };

static uint32_t ft_cause;   /* cause of the last reset, FT_RESET_* */
static uint32_t ft_last_word; /* the word kept before the last reset */

/* ---- Record that survives a reset ---------------------------------------- */

/* Read the memory kept from the last run. Return its crash record. */
static uint32_t ft_read_kept(void)
{
    uint32_t check = ft_kept.crash_check;
    ft_kept.crash_check = 0; /* the crash record stays, for the report */
    ft_last_word = ft_kept.word_check == ~ft_kept.word ? ft_kept.word : 0;
    ft_chip_remember(0);
    if (check == FT_CLOCK_CHECK)
        return FT_CHIP_CLOCK;
    if (check == FT_SUPPLY_CHECK)
        return FT_CHIP_SUPPLY;
    return check == FT_CRASH_CHECK ? FT_CHIP_CRASHED : FT_CHIP_GOOD;
}

uint32_t ft_chip_reset_cause(void)
{
    return ft_cause;
}

void ft_chip_remember(uint32_t word)
{
    ft_kept.word = word;
    ft_kept.word_check = ~word;
}

uint32_t ft_chip_remembered(void)
{
    return ft_last_word;
}

/* ---- Bring-up ----------------------------------------------------------- */

static uint32_t ft_tick_cycles(void)
{
    return (ft_clock_good() ? FT_TICK_CYCLES : FT_TICK_CYCLES_HSI) / FT_WAKES;
}

/* Enable the clocks of the board's peripherals. */
static void ft_peripherals_start(void)
{
#define FT_CLOCK(bus, bits) RCC->bus |= (bits);
    FT_CLOCKS
#undef FT_CLOCK
    (void)RCC->APB2ENR; /* erratum: peripherals need two cycles */
}

/* Stop the watchdog together with the processor, but only if timers and drives
 * stop too. If timers or drives do not stop, the watchdog's reset ends the
 * halt. */
static void ft_watchdog_in_halt(void)
{
    if (FT_TOLERANT)
        return;
    if (FT_HALT_STOPS)
        DBGMCU_WATCHDOG |= DBGMCU_WATCHDOG_STOP;
    else
        DBGMCU_WATCHDOG &= ~DBGMCU_WATCHDOG_STOP;
}

/* Let a debugger connect while the processor sleeps. If a debugger halts the
 * processor, the PWM timers also stop and switch their outputs off. */
static void ft_debug_start(void)
{
    if (FT_TOLERANT)
        return;
    DBGMCU->CR |= DBGMCU_CR_DBG_SLEEP;
    DBGMCU->APB2FZ |= FT_FREEZES;
    ft_watchdog_in_halt();
}

/* Start SysTick with its interrupt at the PWM update. Its second period is the
 * first full one, so LOAD changes only after the first has begun. No interrupt
 * may occur between the update and the start. */
static void ft_ticks_start(uint32_t first, uint32_t control)
{
    SysTick->LOAD = first;
    __asm__ volatile("cpsid i" ::: "memory");
    if ((control & SysTick_CTRL_TICKINT) != 0)
        (void)ft_outputs_await_boundary();
    SysTick->VAL = 0;
    SysTick->CTRL = control;
    for (uint32_t turns = FT_TICK_CYCLES; turns != 0; turns--) {
        if (SysTick->VAL != 0)
            break;
    }
    SysTick->LOAD = ft_tick_cycles() - 1u; /* from the second one on */
    __asm__ volatile("cpsie i" ::: "memory");
}

/* Return whether SysTick counts like the cycle counter, in a trial. */
static bool ft_ticks_are_right(void)
{
    uint32_t first = ft_tick_cycles() - 1u - FT_TICK_AHEAD;
    ft_ticks_start(first, SysTick_CTRL_CLKSOURCE | SysTick_CTRL_ENABLE);
    uint32_t since = ft_chip_cycles(), from = SysTick->VAL;
    ft_wait_us(FT_TRIAL_US);
    uint32_t gone = ft_chip_cycles() - since, left = SysTick->VAL;
    SysTick->CTRL = 0;
    uint32_t counted = from - left;
    return first - from < FT_TRIAL_CYCLES &&
           counted - gone + FT_TRIAL_CYCLES < 2u * FT_TRIAL_CYCLES;
}

uint32_t ft_chip_start(void)
{
    ft_debug_start();
    ft_cause = ft_reset_cause();
    ft_history_start();
    uint32_t errors = ft_read_kept();
    DEMCR |= DEMCR_TRCENA;
    DWT->CTRL |= DWT_CTRL_CYCCNTENA;
    errors |= ft_clock_start();
    ft_peripherals_start();
    bool timers = ft_outputs_start(); /* before the pins are set up, so that
                                       * they stay low */
    ft_pins_start();
    if (!ft_gate_drivers_start())
        errors |= FT_CHIP_DRIVER;
    timers = ft_encoders_start() && timers;
    if (!timers && !FT_TOLERANT)
        errors |= FT_CHIP_TIMER;
    if (!ft_port_chip_start())
        errors |= FT_CHIP_PORT;
#ifdef FT_BUS_COUNT
    if (!ft_chip_buses_start())
        errors |= FT_CHIP_PORT;
#endif
#ifdef FT_WIRE_COUNT
    if (!ft_chip_wires_start())
        errors |= FT_CHIP_PORT;
#endif
    if (!ft_sense_start() || !ft_currents_start())
        errors |= FT_CHIP_SENSE;
    if (!FT_TOLERANT && !ft_outputs_update_at_top())
        errors |= FT_CHIP_UPDATE;
    if (!FT_TOLERANT && !ft_ticks_are_right())
        errors |= FT_CHIP_TICK;
    ft_watchdog_start();
    return errors;
}

/* Start the ticks, about twenty cycles after an update of the last PWM timer,
 * or FT_TICK_AHEAD before without a repetition counter. SysTick and timers
 * share a clock, so this phase is constant, and the first period is shorter. */
void ft_chip_run(void)
{
    ft_ticks_start(ft_tick_cycles() - 1u - FT_TICK_AHEAD,
                   SysTick_CTRL_CLKSOURCE | SysTick_CTRL_TICKINT |
                       SysTick_CTRL_ENABLE);
    ft_currents_run();
}

/* ---- The tick ----------------------------------------------------------- */

#if FT_PIL

/* Run a due tick in SysTick. Replace the duties of a late tick by neutral. */
void ft_tick_interrupt(void)
{
    uint32_t began = ft_chip_cycles();
    if (!ft_pil_due())
        return;
    ft_app_tick();
    if (ft_chip_cycles() - began < FT_TICK_CYCLES - FT_PIL_LATE_CYCLES)
        return;
    ft_pil_neutral();
    ft_app_missed();
}

#else

/* Run the application, then hand over its duties, unless they are late. */
static inline void ft_tick(void)
{
    ft_outputs_begin();
    ft_app_tick();
    if (!ft_outputs_hand_over())
        ft_app_missed();
}

#if FT_TICK_PRELOAD

/* Handle SysTick: set the directions of the new duties first. */
void ft_tick_interrupt(void)
{
    ft_outputs_take_over();
    ft_tick();
}

#else

/* Handle SysTick: output the last tick's duties, even if the present tick still
 * runs. Then pend the next tick. */
void ft_boundary_interrupt(void)
{
    ft_outputs_take_over();
    SCB->ICSR = SCB_ICSR_PENDSVSET;
}

/* Handle PendSV, which has a lower priority than SysTick. */
void ft_tick_interrupt(void)
{
    ft_tick();
}

#endif
#endif

/* Enable an interrupt. The chip has the upper four bits of a priority. */
void ft_interrupt_enable(uint32_t number, uint32_t priority)
{
    NVIC_IPR[number] = (uint8_t)(priority << 4);
    NVIC_ISER[number / 32u] = 1u << (number % 32u);
}

uint32_t ft_chip_cycles(void)
{
    return DWT->CYCCNT;
}

/* ---- Watchdog ----------------------------------------------------------- */

void ft_watchdog_start(void)
{
    IWDG->KR = IWDG_KR_START;
    IWDG->KR = IWDG_KR_UNLOCK;
    IWDG->PR = FT_WATCHDOG_PRESCALER;
    IWDG->RLR = FT_WATCHDOG_RELOAD;
    (void)ft_wait_for(&IWDG->SR, 3u, 0u);
    IWDG->KR = IWDG_KR_FEED;
}

/* Update the watchdog's stop bit in every call, since a debugger that connects
 * to a running chip sets this bit. */
void ft_chip_feed_watchdog(void)
{
    if (!FT_HALT_STOPS)
        ft_watchdog_in_halt();
    IWDG->KR = IWDG_KR_FEED;
}
