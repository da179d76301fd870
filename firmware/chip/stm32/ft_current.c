/* Current loops at the rate of the PWM.
 *
 * In the middle of the outputs' low time, the current equals its mean over the
 * period. The current then flows through the low switches of the half bridges.
 * At this moment the update of a timer triggers the converter. The interrupt at
 * the end of the sequence computes the duties, which the next update takes
 * over.
 *
 *   duty = kp e + integral;  integral += ki e while duty is within its bound
 *
 * with kp = 2 pi f L / V, ki = 2 pi f R / V per period. The duty's bound leaves
 * time to sample the current at the shunt (codegen/emit/pwm.py).
 *
 * With a faulty sensor a loop would apply full voltage. Each time the outputs
 * are switched on, a test pulse with a duty of a few per cent comes first.
 * During the pulse the loops are open, and R and L predict the current. While
 * the loops are closed, the interrupt switches the outputs off in three cases.
 * The current is too large, the current does not follow a duty at its limit, or
 * the current is much smaller than predicted from duty, R and velocity. The
 * cause is kept until the outputs are switched on again. */
#include "ft_board.h" /* FT_CURRENTS, FT_CURRENT_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_CURRENTS

enum { FT_FAR = 8, /* FT_FAR per reading beyond the trip, -1 per other reading:
                    * two in eight periods trip. */
       FT_JUMPS = 2,     /* Three jumps in eight periods trip. */
       FT_GONE = 5,      /* rest of the time limit after a sudden loss */
       FT_AGAINST = 4,   /* periods with current against voltage */
       FT_SWINGS = 6,    /* swings from limit to limit of an unstable loop */
       FT_SWING = 8,     /* maximum number of periods of one swing */
       FT_BAD_ZEROS = 4, /* readings in a row */
       FT_STEADY = 3,    /* ticks until a mean velocity is valid */
       FT_SETTLE = 256 };/* periods until the current has decayed */
#define FT_NOISE 4.0f     /* counts */
#define FT_STEEP 4.0f     /* predicted current times this: a short circuit */
#define FT_LOW 0.7f       /* predicted current times this: too small */
/* At a steady duty the current is at least 0.6 times the value predicted from R
 * and the voltage without back-EMF, minus 0.06 times the current at full
 * voltage. The rule allows for an R of 1.67 times the file's (a fifth more, 100
 * K warmer) and a K of 1.1 times the file's. A sensor with 0.55 or more of its
 * gain still passes, since the winding may be warm. */
#define FT_LITTLE 0.64f
#define FT_UNSURE 0.09f

typedef struct {
    uint8_t joint;
    uint16_t zero, off;  /* zero in counts; its largest error */
    float amperes;       /* per count */
    float full;          /* current that a setpoint of 1 requests, A */
    float kp, ki, bound; /* of the duty */
    float pulse, rise;   /* duty of the pulse; predicted mean current, A */
    float jump;          /* largest change that L allows in a period, A */
    uint32_t patience;   /* periods within which the current must follow */
    float stall, emf;    /* current at full voltage, A; back-EMF of one count
                          * per tick, relative to the supply */
} ft_loop_config;

typedef struct {
    volatile float asked; /* setpoint, relative to the loop's range */
    volatile float emf;   /* back-EMF over nominal voltage, last tick */
    float integral, error;
    float zero;           /* zero offset, counts, with outputs off */
    float amperes;        /* of the last period */
    float sum;            /* sum of the readings of the pulse, A */
    uint32_t far, jumps;  /* see FT_FAR */
    uint32_t against, idle;  /* periods in a row with the duty at its limit */
    volatile uint32_t lacks; /* and within the bound */
    uint32_t steady;         /* ticks in a row with a steady velocity */
    uint32_t swings, since;  /* see FT_SWINGS; periods since the last swing */
    bool down;               /* the last limit was the negative limit */
    volatile uint32_t bad;   /* readings in a row with a wrong zero */
} ft_loop;

#define FT_CURRENT(joint, zero, off, amperes, full, kp, ki, bound, pulse, \
                   rise, jump, patience, stall, emf) \
    { joint, zero, off, amperes, full, kp, ki, bound, pulse, rise, jump, \
      patience, stall, emf },
static const ft_loop_config ft_loop_table[] = { FT_CURRENTS };
#undef FT_CURRENT
enum { FT_LOOPS = sizeof ft_loop_table / sizeof ft_loop_table[0] };

static ft_loop ft_loops[FT_LOOPS];
static struct {
    volatile uint32_t cause, joint; /* why the outputs were switched off */
    volatile uint32_t runs;         /* of the interrupt */
    uint32_t pulse, off;            /* periods left of the pulse; periods since
                                     * the outputs went off */
    volatile float supply;          /* of the nominal voltage */
} ft_loops_state;

/* ---- start and interface ------------------------------------------------ */

bool ft_currents_start(void)
{
    static const uint8_t channels[] = { FT_CURRENT_CHANNELS };
    for (uint32_t i = 0; i < FT_LOOPS; i++)
        ft_loops[i].zero = (float)ft_loop_table[i].zero;
    return FT_TOLERANT || ft_sampling_start(channels, FT_LOOPS);
}

void ft_currents_run(void)
{
    FT_CURRENT_TRIGGER->CR2 = TIM_CR2_MMS_UPDATE;
    ft_interrupt_enable(FT_CURRENT_INTERRUPT, FT_PRIORITY_CURRENT);
    ft_sampling_run();
}

/* Prepare the loops for the test pulse, before the outputs are switched on. */
void ft_currents_on(void)
{
    for (uint32_t i = 0; i < FT_LOOPS; i++) {
        ft_loop *l = &ft_loops[i];
        l->sum = l->integral = l->error = l->amperes = 0.0f;
        l->far = l->jumps = l->against = l->idle = l->swings = 0;
        l->lacks = l->steady = 0;
    }
    ft_loops_state.pulse = FT_CURRENT_PULSE;
    ft_loops_state.cause = FT_CURRENT_GOOD;
}

/* Set a loop's setpoint. The code of the tick boundary calls this function. The
 * interrupt of the current loops may interrupt this function. */
void ft_current_ask(uint32_t joint, float share)
{
    for (uint32_t i = 0; i < FT_LOOPS; i++) {
        if (ft_loop_table[i].joint == joint)
            ft_loops[i].asked = share;
    }
}

/* Switch the outputs off, and store the first cause. */
static void ft_loops_fail(uint32_t cause, uint32_t joint)
{
    ft_chip_safe();
    if (ft_loops_state.cause != FT_CURRENT_GOOD)
        return;
    ft_loops_state.joint = joint;
    ft_loops_state.cause = cause;
}

/* Check a loop within its duty limits, once per tick with known back-EMF. */
static void ft_loop_compare(const ft_loop_config *c, ft_loop *l, float emf)
{
    bool steady = __builtin_fabsf(emf - l->emf) < FT_UNSURE;
    l->steady = steady ? l->steady + 1u : 0u;
    l->emf = emf;
    if (l->steady >= FT_STEADY && l->lacks >= c->patience)
        ft_loops_fail(FT_CURRENT_LOOP, c->joint);
}

/* Process the counts of all joints in each tick. */
void ft_currents_moved(const int32_t counts[])
{
    ft_loops_state.supply = ft_bus_ratio();
    for (uint32_t i = 0; i < FT_LOOPS; i++) {
        const ft_loop_config *c = &ft_loop_table[i];
        ft_loop_compare(c, &ft_loops[i], c->emf * (float)counts[c->joint]);
    }
}

/* Check at each tick boundary that the converter runs. If the converter has
 * stopped, the last duty would stay in force. */
void ft_currents_watch(void)
{
    static uint32_t before;
    uint32_t now = ft_loops_state.runs;
    if (now == before && ft_outputs_wanted())
        ft_loops_fail(FT_CURRENT_SENSOR, ft_loop_table[0].joint);
    before = now;
}

uint32_t ft_chip_current_fault(uint32_t *joint)
{
    *joint = ft_loops_state.joint;
    return ft_loops_state.cause;
}

bool ft_chip_current_zero(uint32_t *joint)
{
    for (uint32_t i = 0; i < FT_LOOPS; i++) {
        *joint = ft_loop_table[i].joint;
        if (ft_loops[i].bad >= FT_BAD_ZEROS)
            return false;
    }
    return true;
}

/* ---- Outputs off -------------------------------------------------------- */

/* Update the zero offset from a reading without current. */
static void ft_loop_rest(const ft_loop_config *c, ft_loop *l, uint32_t raw)
{
    float off = (float)raw - (float)c->zero;
    l->zero += ((float)raw - l->zero) * (1.0f / 64.0f);
    if (__builtin_fabsf(off) < (float)c->off)
        l->bad = 0;
    else if (l->bad < FT_BAD_ZEROS)
        l->bad++;
}

static void ft_loops_rest(const uint32_t raw[])
{
    bool still = ft_loops_state.off >= FT_SETTLE;
    for (uint32_t i = 0; i < FT_LOOPS; i++) {
        if (still)
            ft_loop_rest(&ft_loop_table[i], &ft_loops[i], raw[i]);
        ft_output_write(ft_loop_table[i].joint, 0.0f);
    }
    if (!still)
        ft_loops_state.off++;
}

/* ---- Outputs on --------------------------------------------------------- */

/* Return the fault that the test pulse has found. */
static uint32_t ft_pulse_shows(const ft_loop_config *c, const ft_loop *l)
{
    float amperes = l->sum * (1.0f / (float)FT_CURRENT_MEAN);
    float rise = c->rise * ft_loops_state.supply;
    if (l->bad != 0)
        return FT_CURRENT_SENSOR;
    if (amperes > FT_STEEP * rise)
        return FT_CURRENT_OVER;
    if (amperes < -FT_LOW * rise)
        return FT_CURRENT_SIGN;
    return amperes < FT_LOW * rise ? FT_CURRENT_LOOP : FT_CURRENT_GOOD;
}

/* Output a joint's pulse for a PWM period. At its end return the fault. */
static uint32_t ft_loop_pulse(const ft_loop_config *c, ft_loop *l,
                              float amperes)
{
    bool last = ft_loops_state.pulse == 1u;
    if (ft_loops_state.pulse <= FT_CURRENT_MEAN)
        l->sum += amperes;
    ft_output_write(c->joint, last ? 0.0f : c->pulse);
    return last ? ft_pulse_shows(c, l) : FT_CURRENT_GOOD;
}

/* Count an event that is rare in an intact drive, minus one for each eight
 * periods without it. Return whether the count exceeds `most`. */
static bool ft_too_often(uint32_t *count, bool bad, uint32_t most)
{
    if (bad)
        *count += FT_FAR;
    else if (*count > 0u)
        (*count)--;
    return *count > most * FT_FAR;
}

/* Return whether the current has jumped too often. The inductance limits the
 * change of a current in a period, so many jumps indicate a short circuit.
 * After a jump to almost zero, the cable may be disconnected or the sensor may
 * have failed. With a disconnected cable or a failed sensor, the loop would
 * apply full voltage. The current therefore gets little time to follow. */
static bool ft_loop_jumps(const ft_loop_config *c, ft_loop *l, float amperes)
{
    bool jumps = __builtin_fabsf(amperes - l->amperes) > c->jump;
    if (jumps)
        l->idle = c->patience - c->patience / FT_GONE;
    l->amperes = amperes;
    return ft_too_often(&l->jumps, jumps, FT_JUMPS);
}

/* Count how often a duty has swung from one limit to the opposite limit. A duty
 * swings if the winding has much less inductance than the file says. Return
 * whether the duty has swung too often. */
static bool ft_loop_swings(ft_loop *l, bool down)
{
    bool swung = down != l->down;
    if (l->since > FT_SWING)
        l->swings = 0;
    else if (swung)
        l->swings++;
    if (swung)
        l->since = 0;
    l->down = down;
    return l->swings >= FT_SWINGS;
}

/* Return whether the current is much smaller than the voltage without back-EMF
 * must cause. A current that is too small means that a cable is disconnected,
 * or that the sensor has lost gain. If a motor is driven backwards, the check
 * assumes a back-EMF of 0. A motor that brakes is not checked. */
static bool ft_loop_lacks(const ft_loop_config *c, const ft_loop *l,
                          float amperes, float duty)
{
    bool down = duty < 0.0f;
    float emf = down ? -l->emf : l->emf, flows = down ? -amperes : amperes;
    float size = __builtin_fabsf(duty), most = c->bound * ft_loops_state.supply;
    float left = size < c->bound ? size * ft_loops_state.supply : most;
    if (emf > 0.0f)
        left -= emf;
    return left > 0.0f
           && flows < (FT_LITTLE * left - FT_UNSURE * most) * c->stall;
}

/* Check a loop whose duty is at its limit. Return a fault if the current flows
 * against the voltage or stays too small. */
static uint32_t ft_loop_judge(const ft_loop_config *c, ft_loop *l,
                              float amperes, float error, float duty)
{
    float noise = FT_NOISE * __builtin_fabsf(c->amperes);
    bool lacks = ft_loop_lacks(c, l, amperes, duty);
    bool comes = __builtin_fabsf(error) < __builtin_fabsf(l->error) - noise;
    bool against = lacks && amperes * error < 0.0f &&
                   __builtin_fabsf(amperes) > noise;
    bool swung = (error < 0.0f) != l->down; /* a faulty sensor never swings */
    l->against = against && !comes && !swung ? l->against + 1u : 0u;
    l->idle = lacks ? l->idle + 1u : 0u;
    if (l->against >= FT_AGAINST)
        return FT_CURRENT_SIGN;
    if (ft_loop_swings(l, error < 0.0f) || l->idle >= c->patience)
        return FT_CURRENT_LOOP;
    return FT_CURRENT_GOOD;
}

/* Run one joint's current loop for a PWM period. Return its fault. */
static uint32_t ft_loop_step(const ft_loop_config *c, ft_loop *l,
                             float amperes)
{
    float error = l->asked * c->full - amperes;
    float duty = c->kp * error + l->integral;
    bool inside = __builtin_fabsf(duty) <= c->bound;
    bool jumps = ft_loop_jumps(c, l, amperes);
    uint32_t wrong = FT_CURRENT_GOOD;
    l->since++;
    if (inside || duty * error < 0.0f)
        l->integral += c->ki * error;
    if (inside)
        l->against = l->idle = 0;
    else
        wrong = ft_loop_judge(c, l, amperes, error, duty);
    if (inside && ft_loop_lacks(c, l, amperes, duty))
        l->lacks++;
    else
        l->lacks = 0;
    if (jumps)
        wrong = FT_CURRENT_LOOP;
    l->error = error;
    ft_output_write(c->joint, inside ? duty : duty > 0.0f ? c->bound
                                                          : -c->bound);
    return wrong;
}

/* Return whether a current has exceeded the trip limit too often. */
static bool ft_loop_trips(const ft_loop_config *c, ft_loop *l, float amperes)
{
    bool far = __builtin_fabsf(amperes) > FT_CURRENT_TRIP * c->full;
    return ft_too_often(&l->far, far, 1u);
}

/* Process one joint for a PWM period. */
static void ft_loop_serve(const ft_loop_config *c, ft_loop *l, uint32_t raw)
{
    float amperes = ((float)raw - l->zero) * c->amperes;
    uint32_t wrong = ft_loops_state.pulse > 0u ? ft_loop_pulse(c, l, amperes)
                                               : ft_loop_step(c, l, amperes);
    if (ft_loop_trips(c, l, amperes))
        wrong = FT_CURRENT_OVER;
    if (wrong != FT_CURRENT_GOOD)
        ft_loops_fail(wrong, c->joint);
}

static void ft_loops_serve(const uint32_t raw[])
{
    ft_loops_state.off = 0;
    for (uint32_t i = 0; i < FT_LOOPS; i++)
        ft_loop_serve(&ft_loop_table[i], &ft_loops[i], raw[i]);
    if (ft_loops_state.pulse > 0u)
        ft_loops_state.pulse--;
}

/* Hold neutral while the outputs are on and the bridges wake up. */
static void ft_loops_wait(void)
{
    for (uint32_t i = 0; i < FT_LOOPS; i++)
        ft_output_write(ft_loop_table[i].joint, 0.0f);
}

/* Handle the end of the converter's sequence. The application may switch the
 * outputs on while this interrupt switches the outputs off. The next interrupt
 * then switches the outputs off again. */
void ft_current_interrupt(void)
{
    uint32_t raw[FT_LOOPS];
    ft_sampling_take(raw, FT_LOOPS);
    ft_loops_state.runs++;
    if (ft_loops_state.cause != FT_CURRENT_GOOD)
        ft_chip_safe();
    if (!ft_chip_outputs_enabled())
        ft_loops_rest(raw);
    else if (ft_outputs_awake())
        ft_loops_serve(raw);
    else
        ft_loops_wait();
}

#endif
