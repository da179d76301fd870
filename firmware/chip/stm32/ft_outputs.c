/* Outputs: PWM and direction of each joint, driver enable, e-stop, driver
 * fault.
 *
 * If every output timer has a repetition counter (FT_TICK_PRELOAD), compare
 * values are preloaded, and all timers update together once per tick. A centred
 * timer updates at its top, in the middle of the low time of its outputs. A
 * timer that only counts up starts its period with the output low (mode 2).
 *
 * Tick k first writes neutral to the preload registers. A tick that ends in
 * time replaces neutral by its duties. The update at the start of tick k+1
 * takes over these registers. After a late tick, neutral takes effect without
 * any code.
 *
 * Without repetition counters every PWM period has an update. An interrupt with
 * a higher priority than the tick occurs FT_TICK_AHEAD cycles before an update.
 * The interrupt writes the duties that the last tick handed over, or neutral.
 *
 * Direction pins have no preload. The first instructions of tick k+1 set the
 * pins for the direction of tick k. The pins change about 150 cycles after the
 * update (or up to FT_TICK_AHEAD cycles before it), while the PWM is low. Up to
 * a duty of about 1 - 150 cycles / half a PWM period, the old sign never
 * coincides with the new magnitude. At 20 kHz this duty is 96 %, or 95 % before
 * the update. Above this duty, the old sign and the new magnitude coincide for
 * half a microsecond.
 *
 * A break input is active low on a normally closed loop. If the loop opens or
 * the wire breaks, the hardware clears MOE. AOE = 0 keeps MOE clear. With OSSI
 * the timer then drives its output pins low. */
#include "ft_board.h" /* FT_PWM_TIMERS, FT_STAGES, FT_ENABLE_*, FT_ESTOPS */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

#if FT_STAGE_COUNT > 0

typedef enum { FT_CENTRED = TIM_CR1_CMS_MODE_1, FT_EDGE = 0 } ft_alignment;
typedef enum { FT_HIGH_FIRST = TIM_CCMR_OC_PWM1,
               FT_LOW_FIRST = TIM_CCMR_OC_PWM2 } ft_pwm_mode;
/* FT_PLAIN: the timer has neither break nor repetition counter. */
typedef enum { FT_BREAK, FT_NO_BREAK, FT_PLAIN } ft_protection;

typedef struct {
    TIM_TypeDef *timer;
    uint16_t alignment, mode, top, start, repetition;
    uint8_t outputs; /* as bits */
    uint8_t protection;
    bool complements;
} ft_pwm_timer;

#define FT_PWM_TIMER(timer, alignment, mode, top, start, repetition, outputs, \
                     protection, complements) \
    { timer, alignment, mode, top, start, repetition, outputs, protection, \
      complements },
static const ft_pwm_timer ft_pwm_table[] = { FT_PWM_TIMERS };
#undef FT_PWM_TIMER

/* Sign-magnitude: the compare value of a duty x is neutral + span |x|, and the
 * direction pin has the sign. Other stages: neutral + span x, with neutral -
 * span x at a second half bridge, or the direction pin as an enable
 * (antiphase). */
typedef enum { FT_NO_STAGE, FT_SIGN_MAGNITUDE, FT_ANTIPHASE,
               FT_HALF_BRIDGES } ft_stage_kind;

typedef struct {
    volatile uint32_t *compare, *opposite;
    float span;
    uint16_t neutral;
    uint8_t kind, port, pin;
    bool looped; /* true: the duty is the setpoint of a current loop */
} ft_output_stage;

#define FT_STAGE(kind, compare, opposite, neutral, span, port, pin, looped) \
    { compare, opposite, span, neutral, kind, port, pin, looped },
static const ft_output_stage ft_stage_table[] = { FT_STAGES };
#undef FT_STAGE
enum { FT_TABLE_SIZE = sizeof ft_stage_table / sizeof ft_stage_table[0] };

/* State that one tick leaves for the next tick. */
static struct {
    uint32_t width;     /* compare value */
    uint32_t direction; /* BSRR word */
} ft_next[FT_TABLE_SIZE];
static float ft_asked[FT_TABLE_SIZE]; /* of a current loop */
static volatile bool ft_wanted; /* switched on by the application, and not off
                                 * since */

/* Bridges that sleep while their enable pin is low take time to wake up, and
 * may pull their fault line low. Meanwhile duties are neutral, the fault line
 * is ignored, and the holding brakes stay closed. */
static volatile uint32_t ft_waking; /* ticks left */
static volatile bool ft_opens;      /* brakes open when the bridges are awake */

/* ---- Timers ------------------------------------------------------------- */

/* Set the mode of a timer's used outputs. CCMR1 and CCMR2 together have four
 * bytes, one for each output. */
static inline void ft_outputs_mode(const ft_pwm_timer *t, uint32_t mode)
{
    uint32_t modes[2] = { 0, 0 };
    FT_FOLDED
    for (uint32_t i = 0; i < 4; i++) {
        if ((t->outputs >> i & 1u) != 0)
            modes[i / 2u] |= (mode | TIM_CCMR_OC_PRELOAD) << (i % 2u * 8u);
    }
    t->timer->CCMR1 = modes[0];
    if ((t->outputs & 0xCu) != 0)
        t->timer->CCMR2 = modes[1];
}

/* Return the value of a timer's break register without MOE. */
static inline uint32_t ft_break_register(const ft_pwm_timer *t)
{
    return TIM_BDTR_LOCK_3 | TIM_BDTR_OSSI | TIM_BDTR_OSSR |
           (t->protection == FT_BREAK ? TIM_BDTR_BKE | FT_BREAK_FILTER : 0u) |
           FT_DEAD_TIME;
}

/* Let a timer's outputs follow its compare registers, or force them low. */
static inline void ft_timer_drive(const ft_pwm_timer *t, bool on)
{
    if (t->protection == FT_PLAIN)
        ft_outputs_mode(t, on ? t->mode : (uint32_t)TIM_CCMR_OC_FORCED_LOW);
    else
        t->timer->BDTR = ft_break_register(t) | (on ? TIM_BDTR_MOE : 0u);
}

/* Switch the outputs of all timers. */
static void ft_timers_drive(bool on)
{
    FT_FOLDED
    for (uint32_t i = 0; i < FT_PWM_TIMER_COUNT; i++)
        ft_timer_drive(&ft_pwm_table[i], on);
}

/* Set one timer up with its outputs off. */
static void ft_timer_prepare(const ft_pwm_timer *t)
{
    TIM_TypeDef *timer = t->timer;
    uint32_t one = TIM_CCER_CC1E | (t->complements ? TIM_CCER_CC1NE : 0u);
    uint32_t enables = 0;
    for (uint32_t i = 0; i < 4; i++)
        enables |= (t->outputs >> i & 1u) != 0 ? one << (4u * i) : 0u;
    timer->CR1 = TIM_CR1_ARPE | t->alignment;
    timer->PSC = 0;
    timer->ARR = t->top;
    ft_outputs_mode(t, t->protection == FT_PLAIN
                           ? (uint32_t)TIM_CCMR_OC_FORCED_LOW : t->mode);
    timer->CCER = enables;
    if (t->protection != FT_PLAIN) {
        timer->BDTR = ft_break_register(t);
        timer->RCR = 0; /* the first update is the counter's first top */
    }
    timer->EGR = TIM_EGR_UG;
    if (t->protection != FT_PLAIN)
        timer->RCR = t->repetition; /* takes effect at the first update */
    timer->CNT = t->start;
    timer->SR = 0;
}

/* Return whether the tick writes a joint's duty to a timer. */
static inline bool ft_written(uint32_t i)
{
    return ft_stage_table[i].kind != FT_NO_STAGE && !ft_stage_table[i].looped;
}

/* Write a compare value to the registers of one output stage. */
static inline void ft_write(const ft_output_stage *d, uint32_t width)
{
    *d->compare = width;
    if (d->kind == FT_HALF_BRIDGES)
        *d->opposite = 2u * d->neutral - width;
}

/* Write neutral to every compare register, and zero to the current loops. */
static inline void ft_write_neutral(void)
{
    FT_FOLDED
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++) {
        const ft_output_stage *d = &ft_stage_table[i];
        if (d->looped)
            ft_current_ask(i, 0.0f);
        else if (d->kind != FT_NO_STAGE)
            ft_write(d, d->neutral);
    }
}

/* Write the duties to compare registers or loops; neutral while asleep. */
static inline void ft_write_duties(void)
{
    if (!ft_outputs_awake()) {
        ft_write_neutral();
        return;
    }
    FT_FOLDED
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++) {
        const ft_output_stage *d = &ft_stage_table[i];
        if (d->looped)
            ft_current_ask(i, ft_asked[i]);
        else if (d->kind != FT_NO_STAGE)
            ft_write(d, ft_next[i].width);
    }
}

/* Set the timers up with their outputs off, and start them together. */
bool ft_outputs_start(void)
{
    bool good = true;
    ft_write_neutral();
    for (uint32_t i = 0; i < FT_PWM_TIMER_COUNT; i++)
        ft_timer_prepare(&ft_pwm_table[i]);
    for (uint32_t i = 0; i < FT_PWM_TIMER_COUNT; i++)
        ft_pwm_table[i].timer->CR1 =
            TIM_CR1_ARPE | ft_pwm_table[i].alignment | TIM_CR1_CEN;
    for (uint32_t i = 0; i < FT_PWM_TIMER_COUNT; i++)
        good = ft_wait_for(&ft_pwm_table[i].timer->SR, TIM_SR_UIF,
                           TIM_SR_UIF) && good;
    return good;
}

/* Wait for the update of the last timer. The last timer was started last, so
 * its update is the last of all updates. */
bool ft_outputs_await_boundary(void)
{
    TIM_TypeDef *timer = ft_pwm_table[FT_PWM_TIMER_COUNT - 1].timer;
    timer->SR = 0;
    for (uint32_t tries = 0; tries < 8; tries++) { /* ticks of up to 0.1 s */
        if (ft_wait_for(&timer->SR, TIM_SR_UIF, TIM_SR_UIF))
            return true;
    }
    return false;
}

/* Check that centred timers count down directly after an update. Sampling and
 * switching at an update require that the outputs are low. */
bool ft_outputs_update_at_top(void)
{
    bool down = ft_outputs_await_boundary();
    for (uint32_t i = 0; i < FT_PWM_TIMER_COUNT; i++) {
        if (ft_pwm_table[i].alignment == (uint16_t)FT_CENTRED)
            down = down && (ft_pwm_table[i].timer->CR1 & TIM_CR1_DIR) != 0;
    }
    return down;
}

/* ---- A tick's duties ---------------------------------------------------- */

/* If no timer has a break input, check the e-stop loop first in every tick. */
static inline void ft_stop_by_software(void)
{
    if (FT_STOP_BY_SOFTWARE && ft_wanted && ft_chip_estop())
        ft_chip_safe();
}

/* Count a tick of the wake-up. At the end of the wake-up open the brakes. */
static inline void ft_let_wake(void)
{
    if (FT_WAKE_TICKS == 0 || ft_waking == 0)
        return;
    ft_waking--;
    if (ft_waking == 0 && ft_opens)
        ft_chip_brake(true);
}

/* Set the direction pins for the present interval. */
static inline void ft_switch_directions(void)
{
    FT_FOLDED
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++)
        if (ft_written(i))
            GPIO(ft_stage_table[i].port)->BSRR = ft_next[i].direction;
}

#if FT_TICK_PRELOAD

/* With less time left, an update could fall between two writes. */
enum { FT_LATE_CYCLES = 128 };

/* Set the direction pins of this interval; preload neutral for the next. */
void ft_outputs_take_over(void)
{
    ft_stop_by_software();
    ft_let_wake();
    ft_switch_directions();
    ft_write_neutral();
}

void ft_outputs_begin(void)
{
}

/* Preload this tick's duties, unless the next tick is due or almost due. */
bool ft_outputs_hand_over(void)
{
    if ((SCB->ICSR & SCB_ICSR_PENDSTSET) != 0 ||
        SysTick->VAL < FT_LATE_CYCLES)
        return false;
    ft_write_duties();
    return true;
}

#else

static volatile uint32_t ft_boundary;  /* tick boundaries so far */
static volatile uint32_t ft_ready_for; /* tick boundary of the ready duties */
static uint32_t ft_began_at;           /* boundary at which the tick began */

/* Write the duties that the last tick has handed over, or neutral. */
void ft_outputs_take_over(void)
{
    ft_stop_by_software();
    ft_let_wake();
    ft_currents_watch();
    ft_boundary++;
    if (ft_ready_for == ft_boundary) {
        ft_switch_directions();
        ft_write_duties();
    } else {
        ft_write_neutral();
    }
}

void ft_outputs_begin(void)
{
    ft_began_at = ft_boundary;
}

/* Hand the duties over to the next tick boundary if it has not passed. */
bool ft_outputs_hand_over(void)
{
    uint32_t next = ft_began_at + 1u;
    __asm__ volatile("dmb" ::: "memory");
    if (ft_boundary == next)
        return false;
    ft_ready_for = next;
    return true;
}

#endif

/* Return a duty clamped to a limit, 0 for NaN. */
static inline float ft_bounded(float x, float bound)
{
    if (__builtin_expect(!(__builtin_fabsf(x) <= bound), 0))
        x = x > bound ? bound : x < -bound ? -bound : 0.0f;
    return x;
}

/* Return the compare value that is nearest to a duty. */
static inline uint32_t ft_width_of(const ft_output_stage *d, float duty)
{
    float x = d->kind == FT_SIGN_MAGNITUDE ? __builtin_fabsf(duty) : duty;
    return (uint32_t)(d->span * x + ((float)d->neutral + 0.5f));
}

/* Return the register word that sets the direction pin for a duty. In antiphase
 * the direction pin enables the bridge. */
static inline uint32_t ft_direction_of(const ft_output_stage *d, float duty)
{
    bool low = d->kind == FT_ANTIPHASE ? !ft_wanted : !(duty < 0.0f);
    return d->kind == FT_HALF_BRIDGES ? 0u
                                      : 1u << (low ? d->pin + 16u : d->pin);
}

/* Return whether any duty is beyond its limit or NaN. */
static inline bool ft_any_beyond(const float duty[])
{
    FT_FOLDED
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++)
        if (ft_written(i) && !(__builtin_fabsf(duty[i]) <= FT_DUTY_BOUND))
            return true;
    return false;
}

/* Check all duties before any duty is converted. Without a branch between
 * joints, the compiler loads the constants only once. */
void ft_chip_duties(const float duty[])
{
    float bounded[FT_TABLE_SIZE];
    const float *x = duty;
    if (__builtin_expect(ft_any_beyond(duty), 0)) {
        FT_FOLDED
        for (uint32_t i = 0; i < FT_TABLE_SIZE; i++)
            bounded[i] = ft_bounded(duty[i], FT_DUTY_BOUND);
        x = bounded;
    }
    FT_FOLDED
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++) {
        const ft_output_stage *d = &ft_stage_table[i];
        if (d->looped) { /* the law has divided by the bus voltage */
            float share = ft_bounded(duty[i], 1.0f);
            ft_asked[i] = ft_bounded(share * ft_bus_ratio(), 1.0f);
        } else if (d->kind != FT_NO_STAGE) {
            ft_next[i].width = ft_width_of(d, x[i]);
            ft_next[i].direction = ft_direction_of(d, x[i]);
        }
    }
}

/* Set the duty of a current loop for the next update. A change of direction
 * needs one period of neutral, in which the direction pin is switched. */
void ft_output_write(uint32_t joint, float duty)
{
    const ft_output_stage *d = &ft_stage_table[joint];
    float x = ft_bounded(duty, FT_DUTY_BOUND);
    uint32_t direction = ft_direction_of(d, x);
    GPIO(d->port)->BSRR = ft_next[joint].direction;
    if (direction != ft_next[joint].direction)
        x = 0.0f;
    ft_write(d, ft_width_of(d, x));
    ft_next[joint].direction = direction;
}

bool ft_outputs_wanted(void)
{
    return ft_wanted;
}

bool ft_outputs_awake(void)
{
    return FT_WAKE_TICKS == 0 || (ft_wanted && ft_waking == 0);
}

/* ---- On and off --------------------------------------------------------- */

/* Switch the drivers on or off. Gate drivers stay enabled, since the pin also
 * powers their settings; their timers hold every switch off. */
static void ft_drivers_enable(bool on)
{
#ifndef FT_GATE_SELECTS
    ft_pin_put(FT_ENABLE_PORT, FT_ENABLE_PIN, on);
#else
    (void)on;
#endif
}

/* Switch off the bridges that a low PWM pin would drive backwards. */
static void ft_bridges_off(void)
{
    FT_FOLDED
    for (uint32_t i = 0; i < FT_TABLE_SIZE; i++) {
        if (ft_stage_table[i].kind != FT_ANTIPHASE)
            continue;
        ft_next[i].direction = 0;
        ft_pin_put(ft_stage_table[i].port, ft_stage_table[i].pin, false);
    }
}

void ft_chip_outputs(bool enabled)
{
    const bool on = ft_wanted;
    if (!enabled || !ft_clock_good() || FT_TOLERANT ||
        (FT_STOP_BY_SOFTWARE && ft_chip_estop())) {
        ft_chip_safe();
        return;
    }
    FT_FOLDED
    for (uint32_t i = 0; i < FT_PWM_TIMER_COUNT; i++) /* write 0 to clear */
        if (ft_pwm_table[i].protection == FT_BREAK)
            ft_pwm_table[i].timer->SR = TIM_SR_FLAGS & ~TIM_SR_BIF;
    if (!on) {
        ft_currents_on();
        ft_waking = FT_WAKE_TICKS;
        ft_wanted = true;
    }
    ft_timers_drive(true);
    ft_drivers_enable(true);
    /* Meanwhile an interrupt may have stopped some of the outputs. The
     * interrupt of a stopped crystal may have come before ft_wanted was set. */
    if (!ft_wanted || !ft_clock_good())
        ft_chip_safe();
}

bool ft_chip_outputs_enabled(void)
{
    bool on = ft_wanted;
    FT_FOLDED
    for (uint32_t i = 0; i < FT_PWM_TIMER_COUNT; i++)
        if (ft_pwm_table[i].protection != FT_PLAIN)
            on = on && (ft_pwm_table[i].timer->BDTR & TIM_BDTR_MOE) != 0;
    return on;
}

void ft_chip_brake(bool open)
{
#ifdef FT_BRAKE_PORT
    bool opens = open && ft_outputs_awake();
    ft_opens = open && !opens;
    ft_pin_put(FT_BRAKE_PORT, FT_BRAKE_PIN, opens == (FT_BRAKE_RELEASE != 0));
#else
    (void)open;
#endif
}

void ft_chip_safe(void)
{
    ft_chip_brake(false);
    ft_drivers_enable(false);
    ft_bridges_off();
    ft_timers_drive(false);
    ft_wanted = false;
}

/* ---- inputs and reports of the board ------------------------------------ */

/* Return whether the e-stop loop is open. An emulator without pins reads low
 * levels, but has no outputs to stop. */
bool ft_chip_estop(void)
{
    bool closed = true;
#define FT_ESTOP(port, pin) closed = closed && ft_pin_high(port, pin);
    FT_ESTOPS
#undef FT_ESTOP
    return !FT_TOLERANT && !closed;
}

bool ft_drivers_report(void)
{
#ifdef FT_DRIVER_FAULT_PORT
    return !ft_pin_high(FT_DRIVER_FAULT_PORT, FT_DRIVER_FAULT_PIN);
#else
    return false;
#endif
}

/* Return whether the drivers report a fault, or have lost settings while the
 * outputs are on. The fault line is ignored while bridges sleep or wake up. The
 * line is read before the wake-up is checked, since the outputs may be switched
 * in between. */
bool ft_chip_driver_fault(void)
{
    bool ready = ft_chip_drivers_ready();
    bool fault = ready ? ft_drivers_report() : ft_wanted;
    if (!ft_outputs_awake())
        return false;
    return !FT_TOLERANT && fault;
}

#else /* for boards without output stages */

#include "ft_model.h" /* FT_JOINTS */

bool ft_outputs_start(void)
{
    return true;
}

bool ft_outputs_await_boundary(void)
{
    return true;
}

bool ft_outputs_update_at_top(void)
{
    return true;
}

void ft_outputs_take_over(void)
{
}

void ft_outputs_begin(void)
{
}

bool ft_outputs_hand_over(void)
{
    return (SCB->ICSR & SCB_ICSR_PENDSTSET) == 0;
}

void ft_chip_duties(const float duty[])
{
    for (uint32_t i = 0; FT_PIL && i < FT_JOINTS; i++)
        ft_pil_duty(i, duty[i]);
}

static volatile bool ft_pretended; /* lets emulators enter every state */

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

void ft_chip_brake(bool open)
{
    (void)open;
}

bool ft_chip_estop(void)
{
    return false;
}

bool ft_chip_driver_fault(void)
{
    return false;
}

#endif
