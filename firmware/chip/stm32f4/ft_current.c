/* Current loops, at the rate of the PWM.
 *
 * Each PWM period has its update at the counter's top, in the middle of the
 * time in which the outputs are low: there the current is at its mean over the
 * period, and through the low switches of half bridges. The update's interrupt
 * takes what was sampled at the last one, lets the converter sample anew, and
 * computes the duties that the next update takes over.
 *
 *   duty = kp e + integral,  integral += ki e   unless that is beyond +-1
 *
 * with kp = 2 pi f L / V, ki = 2 pi f R / V a period (codegen/board.py). */
#include "ft_board.h" /* FT_CURRENTS, FT_CURRENT_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_CURRENTS

enum { FT_RAIL = 24, FT_TOP = 4096, /* counts: nearer to an end is no reading */
       FT_ZERO_OFF = 200,           /* counts: a zero farther off is none */
       FT_BELIEF = 3 };             /* bad readings in a row are a fault */

typedef struct {
    uint8_t joint, channel;
    uint16_t zero;   /* counts */
    float amperes;   /* a count */
    float full;      /* A that 1 asks for */
    float kp, ki;
} ft_loop_config;

typedef struct {
    volatile float asked; /* share of the range */
    float integral;
    float zero;           /* counts, as found while the outputs were off */
    uint32_t bad;         /* readings in a row */
} ft_loop;

#define FT_CURRENT(joint, channel, zero, amperes, full, kp, ki) \
    { joint, channel, zero, amperes, full, kp, ki },
static const ft_loop_config ft_loop_table[] = { FT_CURRENTS };
#undef FT_CURRENT
enum { FT_LOOPS = sizeof ft_loop_table / sizeof ft_loop_table[0] };

static ft_loop ft_loops[FT_LOOPS];

/* Let the converter take the loops' channels, one after another, when told;
 * of n places in the sequence the last n count. */
static void ft_sampling_start(void)
{
    uint32_t sequence = (FT_LOOPS - 1u) << ADC_JSQR_JL_Pos;
    for (uint32_t i = 0; i < FT_LOOPS; i++) {
        uint32_t channel = ft_loop_table[i].channel;
        sequence |= channel << (5u * (4u - FT_LOOPS + i));
        if (channel >= 10u)
            ft_field(&ADC1->SMPR1, channel - 10u, 3, ADC_SMPR_15_CYCLES);
        else
            ft_field(&ADC1->SMPR2, channel, 3, ADC_SMPR_15_CYCLES);
    }
    ADC_CCR = ADC_CCR_DIV4; /* 21 MHz */
    ADC1->CR1 = ADC_CR1_SCAN;
    ADC1->JSQR = sequence;
    ADC1->CR2 = ADC_CR2_ADON;
}

void ft_currents_start(void)
{
    ft_sampling_start();
    for (uint32_t i = 0; i < FT_LOOPS; i++)
        ft_loops[i].zero = (float)ft_loop_table[i].zero;
    FT_CURRENT_TIMER->SR = TIM_SR_FLAGS & ~TIM_SR_UIF;
    FT_CURRENT_TIMER->DIER = TIM_DIER_UIE;
    ft_interrupt_enable(FT_CURRENT_INTERRUPT, FT_PRIORITY_CURRENT);
}

/* Asked by the tick's boundary, which the loop may interrupt. */
void ft_current_ask(uint32_t joint, float share)
{
    for (uint32_t i = 0; i < FT_LOOPS; i++) {
        if (ft_loop_table[i].joint == joint)
            ft_loops[i].asked = share;
    }
}

/* Return whether a reading, and the zero it is taken from, can be right. */
static bool ft_believable(const ft_loop_config *c, const ft_loop *l,
                          uint32_t raw)
{
    float off = l->zero - (float)c->zero;
    return raw > FT_RAIL && raw < FT_TOP - FT_RAIL &&
           __builtin_fabsf(off) < (float)FT_ZERO_OFF;
}

/* Drive nothing. */
static void ft_loop_idle(const ft_loop_config *c, ft_loop *l)
{
    l->integral = 0.0f;
    ft_output_write(c->joint, 0.0f);
}

/* While the outputs are off, what is read is the zero. */
static void ft_loop_rest(const ft_loop_config *c, ft_loop *l, uint32_t raw)
{
    l->zero += ((float)raw - l->zero) * (1.0f / 64.0f);
    ft_loop_idle(c, l);
}

/* Drive one joint for a PWM period. */
static void ft_loop_step(const ft_loop_config *c, ft_loop *l, uint32_t raw)
{
    float amperes = ((float)raw - l->zero) * c->amperes;
    float error = l->asked * c->full - amperes;
    float duty = c->kp * error + l->integral;
    if (__builtin_fabsf(duty) <= 1.0f || duty * error < 0.0f)
        l->integral += c->ki * error;
    ft_output_write(c->joint, duty);
}

/* The update of the PWM timer. While a sensor has not been believed for some
 * periods in a row no joint is driven; the application is told. */
void ft_current_interrupt(void)
{
    uint32_t raw[FT_LOOPS];
    bool on = ft_outputs_wanted(), fault = ft_current_fault();
    for (uint32_t i = 0; i < FT_LOOPS; i++)
        raw[i] = ADC1->JDR[i];
    ADC1->CR2 = ADC_CR2_ADON | ADC_CR2_JSWSTART;
    FT_CURRENT_TIMER->SR = TIM_SR_FLAGS & ~TIM_SR_UIF;
    for (uint32_t i = 0; i < FT_LOOPS; i++) {
        const ft_loop_config *c = &ft_loop_table[i];
        ft_loop *l = &ft_loops[i];
        l->bad = ft_believable(c, l, raw[i]) ? 0u : l->bad + 1u;
        if (!on)
            ft_loop_rest(c, l, raw[i]);
        else if (fault)
            ft_loop_idle(c, l);
        else
            ft_loop_step(c, l, raw[i]);
    }
}

bool ft_current_fault(void)
{
    bool fault = false;
    for (uint32_t i = 0; i < FT_LOOPS; i++)
        fault = fault || ft_loops[i].bad >= FT_BELIEF;
    return fault;
}

#endif
