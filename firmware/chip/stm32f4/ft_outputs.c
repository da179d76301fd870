/* Outputs: PWM magnitude and direction pin a joint, enable pin, break input.
 *
 * One timer (TIM1 or TIM8) serves every joint, centre-aligned, compare values
 * preloaded, repetition counter set so that its update comes once a control
 * tick, at the counter's top. In PWM mode 1 the top is the middle of the time
 * in which outputs are low.
 *
 *   tick k         writes neutral to the preload registers when it starts and
 *                  its own duty when it is done in time;
 *   update at k+1  takes over what is preloaded: a tick that is late leaves
 *                  neutral behind without any code running.
 *
 * Direction pins have no preload. The direction of tick k is kept and put on
 * the pins by the first instructions of tick k+1, some 100 cycles after the
 * update, while the PWM is low: the old sign never meets the new magnitude
 * below a duty of about 1 - 100 cycles / half a PWM period (97 % at 20 kHz),
 * and above it for half a microsecond at a change of sign.
 *
 * The break input is active low on a normally closed loop: an open loop or a
 * broken wire makes the hardware clear MOE, and AOE = 0 keeps it clear. With
 * OSSI the timer then drives the pins low instead of letting them float. */
#include "ft_board.h" /* FT_PWM_*, FT_DRIVES, FT_ENABLE_*, FT_BREAK_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "stm32f4_registers.h"

#if FT_DRIVE_COUNT > 0

typedef struct {
    uint8_t channel;   /* index into CCR[], or FT_NO_DRIVE */
    uint8_t port, pin; /* of the direction output */
} ft_drive;
enum { FT_NO_DRIVE = 4 }; /* a joint without a motor */

#define FT_DRIVE(channel, port, pin) { channel, port, pin },
static const ft_drive ft_drive_table[] = { FT_DRIVES };
#undef FT_DRIVE
enum { FT_TABLE_SIZE = sizeof ft_drive_table / sizeof ft_drive_table[0] };

static uint32_t ft_width[FT_TABLE_SIZE];          /* compare value */
static uint32_t ft_direction[FT_TABLE_SIZE];      /* BSRR word, this tick's */
static uint32_t ft_next_direction[FT_TABLE_SIZE]; /* handed over */

#define FT_BDTR \
    (TIM_BDTR_LOCK_3 | TIM_BDTR_OSSI | TIM_BDTR_OSSR | TIM_BDTR_BKE)

/* Preload 0 everywhere: outputs low from the next update on. */
static void ft_preload_neutral(void)
{
    for (uint32_t i = 0; i < 4; i++)
        FT_PWM_TIMER->CCR[i] = 0;
}

/* Set the timer up with its outputs off and let it count. */
bool ft_outputs_start(void)
{
    TIM_TypeDef *timer = FT_PWM_TIMER;
    uint32_t two = TIM_CCMR_OC_PRELOAD_PWM1;
    timer->CR1 = TIM_CR1_ARPE | TIM_CR1_CMS_1;
    timer->PSC = 0;
    timer->ARR = FT_PWM_TOP;
    timer->CCMR1 = two | two << 8;
    timer->CCMR2 = two | two << 8;
    timer->CCER = FT_PWM_CCER;
    ft_preload_neutral();
    timer->BDTR = FT_BDTR;
    /* The first update comes at the first top (RCR 0 loaded by UG); there the
     * real repetition is taken over and keeps every update at a top. */
    timer->RCR = 0;
    timer->EGR = TIM_EGR_UG;
    timer->RCR = FT_PWM_REPETITION;
    timer->SR = 0;
    timer->CR1 = TIM_CR1_ARPE | TIM_CR1_CMS_1 | TIM_CR1_CEN;
    return ft_wait_for(&timer->SR, TIM_SR_UIF, TIM_SR_UIF);
}

bool ft_outputs_await_boundary(void)
{
    FT_PWM_TIMER->SR = 0;
    for (uint32_t tries = 0; tries < 8; tries++) { /* ticks of up to 0.1 s */
        if (ft_wait_for(&FT_PWM_TIMER->SR, TIM_SR_UIF, TIM_SR_UIF))
            return true;
    }
    return false;
}

/* Switch the directions of the interval that has just begun, and preload
 * neutral for the next one. */
void ft_outputs_take_over(void)
{
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++)
        GPIO(ft_drive_table[i].port)->BSRR = ft_next_direction[i]; /* 0: none */
    ft_preload_neutral();
}

/* Preload this tick's duty. */
void ft_outputs_hand_over(void)
{
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++) {
        if (ft_drive_table[i].channel != FT_NO_DRIVE)
            FT_PWM_TIMER->CCR[ft_drive_table[i].channel] = ft_width[i];
        ft_next_direction[i] = ft_direction[i];
    }
}

void ft_chip_duties(const float duty[])
{
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++) {
        const ft_drive *d = &ft_drive_table[i];
        float size = __builtin_fabsf(duty[i]);
        if (d->channel == FT_NO_DRIVE)
            continue;
        if (!(size <= 1.0f))
            size = size > 1.0f ? 1.0f : 0.0f; /* 0: not a number */
        ft_width[i] = (uint32_t)(size * (float)FT_PWM_TOP + 0.5f);
        ft_direction[i] = 1u << (duty[i] < 0.0f ? d->pin : d->pin + 16u);
    }
}

/* Low enable pin: drivers off. */
static void ft_drivers_enable(bool on)
{
    uint32_t bit = on ? FT_ENABLE_PIN : FT_ENABLE_PIN + 16u;
    GPIO(FT_ENABLE_PORT)->BSRR = 1u << bit;
}

void ft_chip_outputs(bool enabled)
{
    if (!enabled || !ft_clock_good() || FT_TOLERANT) {
        ft_chip_safe();
        return;
    }
    FT_PWM_TIMER->SR = ~TIM_SR_BIF; /* write 0 to clear, 1 changes nothing */
    FT_PWM_TIMER->BDTR = FT_BDTR | TIM_BDTR_MOE;
    ft_drivers_enable(true);
}

bool ft_chip_outputs_enabled(void)
{
    return (FT_PWM_TIMER->BDTR & TIM_BDTR_MOE) != 0;
}

void ft_chip_safe(void)
{
    FT_PWM_TIMER->BDTR = FT_BDTR;
    ft_drivers_enable(false);
}

/* An emulator without pins reads them low; it has no outputs to stop. */
bool ft_chip_estop(void)
{
    return !FT_TOLERANT && !ft_pin_high(FT_BREAK_PORT, FT_BREAK_PIN);
}

#else /* a board without drives */

#include "ft_model.h" /* FT_JOINTS */

bool ft_outputs_start(void)
{
    return true;
}

bool ft_outputs_await_boundary(void)
{
    return true;
}

void ft_outputs_take_over(void)
{
}

void ft_outputs_hand_over(void)
{
}

void ft_chip_duties(const float duty[])
{
    for (uint32_t i = 0; FT_PIL && i < FT_JOINTS; i++)
        ft_pil_duty(i, duty[i]);
}

static volatile bool ft_pretended; /* so that every state can be reached */

void ft_chip_outputs(bool enabled)
{
    ft_pretended = enabled;
}

bool ft_chip_outputs_enabled(void)
{
    return ft_pretended;
}

void ft_chip_safe(void)
{
    ft_pretended = false;
}

bool ft_chip_estop(void)
{
    return false;
}

#endif
