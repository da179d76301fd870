/* The control tick (SysTick), bring-up in order, watchdog, cycle counter,
 * reset cause. */
#include "ft_app.h"
#include "ft_board.h" /* FT_TICK_*, FT_APB*, FT_WATCHDOG_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "stm32f4_registers.h"

static uint32_t ft_cause;   /* of the last reset, FT_RESET_* */
static uint32_t ft_last_word; /* remembered before it */

/****************************************************************
 * What a reset leaves behind
 ****************************************************************/

/* Read and clear the reset flags. A power-up sets the brown-out and pin flags
 * too, and every reset sets the pin flag: the order decides. */
static uint32_t ft_read_reset_cause(void)
{
    uint32_t csr = RCC->CSR;
    RCC->CSR |= RCC_CSR_RMVF;
    if ((csr & RCC_CSR_PORRSTF) != 0)
        return FT_RESET_POWER;
    if ((csr & RCC_CSR_BORRSTF) != 0)
        return FT_RESET_BROWNOUT;
    if ((csr & (RCC_CSR_IWDGRSTF | RCC_CSR_WWDGRSTF)) != 0)
        return FT_RESET_WATCHDOG;
    if ((csr & RCC_CSR_SFTRSTF) != 0)
        return FT_RESET_SOFTWARE;
    return (csr & RCC_CSR_PINRSTF) != 0 ? FT_RESET_PIN : FT_RESET_OTHER;
}

/* Take out of the kept memory what the last run left; true: it crashed. */
static bool ft_read_kept(void)
{
    bool crashed = ft_kept.crash_check == FT_CRASH_CHECK;
    ft_kept.crash_check = 0; /* the record itself stays for a debugger */
    ft_last_word = ft_kept.word_check == ~ft_kept.word ? ft_kept.word : 0;
    ft_chip_remember(0);
    return crashed;
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

/****************************************************************
 * Bring-up
 ****************************************************************/

/* Give their clocks to the peripherals that the board uses. */
static void ft_peripherals_start(void)
{
    RCC->AHB1ENR |= FT_AHB1ENR;
    RCC->APB1ENR |= FT_APB1ENR;
    RCC->APB2ENR |= FT_APB2ENR;
    (void)RCC->APB2ENR; /* erratum: two cycles until they listen */
}

uint32_t ft_chip_start(void)
{
    uint32_t errors = FT_CHIP_GOOD;
    ft_cause = ft_read_reset_cause();
    if (ft_read_kept())
        errors |= FT_CHIP_CRASHED;
    if (!ft_clock_start())
        errors |= FT_CHIP_CLOCK;
    DEMCR |= DEMCR_TRCENA;
    DWT->CTRL |= DWT_CTRL_CYCCNTENA;
    ft_peripherals_start();
    bool timers = ft_outputs_start(); /* before its pins: they stay low */
    ft_pins_start();
    timers = ft_encoders_start() && timers;
    if (!timers && !FT_TOLERANT)
        errors |= FT_CHIP_TIMER;
    if (!ft_usart_start())
        errors |= FT_CHIP_LINK;
    ft_watchdog_start();
    return errors;
}

/* Ticks are counted from an update of the PWM timer; both run from the same
 * clock, so each tick stays some twenty cycles behind its update. */
void ft_chip_run(void)
{
    uint32_t cycles = ft_clock_good() ? FT_TICK_CYCLES : FT_TICK_CYCLES_HSI;
    SysTick->LOAD = cycles / FT_WAKES - 1u;
    (void)ft_outputs_await_boundary();
    SysTick->VAL = 0;
    SysTick->CTRL = SysTick_CTRL_CLKSOURCE | SysTick_CTRL_TICKINT |
                    SysTick_CTRL_ENABLE;
}

/****************************************************************
 * The tick
 ****************************************************************/

void ft_tick_interrupt(void);

/* So close to the next tick an update could fall between two writes. */
enum { FT_LATE_CYCLES = 128 };

#if FT_PIL

/* SysTick: a tick where one is due; one that took too long leaves neutral. */
void ft_tick_interrupt(void)
{
    uint32_t began = ft_chip_cycles();
    if (!ft_pil_due())
        return;
    ft_app_tick();
    if (ft_chip_cycles() - began < FT_TICK_CYCLES - FT_LATE_CYCLES)
        return;
    ft_pil_neutral();
    ft_app_missed();
}

#else

/* Return whether the next tick is due, or as good as. */
static bool ft_tick_is_late(void)
{
    return (SCB->ICSR & SCB_ICSR_PENDSTSET) != 0 ||
           SysTick->VAL < FT_LATE_CYCLES;
}

/* SysTick: directions first, then the application, then its duties; if it was
 * too late for them, the neutral that was preloaded first stays. */
void ft_tick_interrupt(void)
{
    ft_outputs_take_over();
    ft_app_tick();
    if (ft_tick_is_late())
        ft_app_missed();
    else
        ft_outputs_hand_over();
}

#endif

uint32_t ft_chip_cycles(void)
{
    return DWT->CYCCNT;
}

/****************************************************************
 * Watchdog
 ****************************************************************/

void ft_watchdog_start(void)
{
    IWDG->KR = IWDG_KR_START;
    IWDG->KR = IWDG_KR_UNLOCK;
    IWDG->PR = FT_WATCHDOG_PRESCALER;
    IWDG->RLR = FT_WATCHDOG_RELOAD;
    (void)ft_wait_for(&IWDG->SR, 3u, 0u);
    IWDG->KR = IWDG_KR_FEED;
}

void ft_chip_feed_watchdog(void)
{
    IWDG->KR = IWDG_KR_FEED;
}

/****************************************************************
 * The rest of ft_chip.h
 ****************************************************************/

/* Not measured on these boards yet: the nominal voltage. */
float ft_chip_bus_voltage(void)
{
    return FT_BUS_VOLTAGE;
}

float ft_chip_temperature(void)
{
    return 25.0f;
}

bool ft_chip_driver_fault(void)
{
    return false;
}

bool ft_chip_index(uint32_t joint)
{
    (void)joint;
    return false;
}
