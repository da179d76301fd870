/* The motor of an STS servo. The motor is in C because six servos are simulated
 * with ten thousand steps per second. Bits of a duty above the sign bit count
 * as part of the magnitude (LeRobot, pull request 4547). */
#include "sts.h"

#include <math.h>
#include <string.h>

/* Read two registers. */
uint32_t sts_word(const sts *m, uint32_t at)
{
    return m->registers[at] | (uint32_t)m->registers[at + 1u] << 8;
}

/* Switch the power on with the stored settings; the motor stays off. */
void sts_power_up(sts *m, double angle)
{
    memset(m->registers, 0, sizeof m->registers);
    memcpy(m->registers, m->stored, sizeof m->stored);
    memcpy(m->registers + STS_LIMIT, m->stored + STS_TORQUE, 2);
    m->angle = angle;
    m->velocity = 0.0;
    m->duty = m->looped = m->latched = 0;
    m->loops = 0.0;
    m->takes_over = m->overload_since = m->over_current_since = (double)NAN;
    m->wired.powered = 1;
}

/* Return true if the bridge is on. */
int sts_drives(const void *motor)
{
    const sts *m = motor;
    return m->wired.powered && m->registers[STS_ENABLE] == 1;
}

/* Return the motor voltage as a fraction of the supply. */
double sts_share(const sts *m)
{
    int by_duty = m->registers[STS_MODE] == STS_BY_DUTY;
    int64_t duty = by_duty ? m->duty : m->looped;
    int64_t size = duty & ~(int64_t)STS_BACKWARDS, limit;
    if (!sts_drives(m) ||
        !(by_duty || m->registers[STS_MODE] == STS_BY_POSITION))
        return 0.0;
    limit = sts_word(m, STS_LIMIT);
    size = size < 1000 ? size : 1000;
    size = size < limit ? size : limit;
    limit = 10 * m->registers[STS_PROTECTIVE];
    if (m->latched & STS_OVERLOADED && limit < size)
        size = limit;
    if (by_duty && size < sts_word(m, STS_START))
        return 0.0;
    return (double)size / (duty & STS_BACKWARDS ? -1000.0 : 1000.0);
}

/* Compute the duty of the position loop once in a millisecond. The law is that
 * of K-Scale's oscilloscope table (servo.py). A goal speed of 0 stops the
 * servo. */
static void close_loop(sts *m, double now)
{
    int64_t goal = sts_word(m, STS_GOAL), low = sts_word(m, STS_LEAST);
    int64_t high = sts_word(m, STS_MOST), error;
    double duty;
    if (now < m->loops)
        return;
    m->loops = sts_boundary(m, now) + STS_PERIOD;
    goal = high > 0 ? (goal < low ? low : goal > high ? high : goal) : goal;
    error = goal - sts_counts(m, m->angle);
    if (sts_word(m, STS_PACE) == 0)
        error = 0;
    duty = STS_PER_COUNT * m->registers[STS_P] * (double)error;
    duty += error > 0 ? STS_DRAG : error < 0 ? -STS_DRAG : 0.0;
    m->looped = (int64_t)fmin(rint(fabs(duty)), 1000.0);
    m->looped |= duty < 0.0 ? STS_BACKWARDS : 0;
}

/* Return the latched errors, and those of limits exceeded now. */
int64_t sts_errors(const sts *m)
{
    double tenths = m->volts / STS_TENTH;
    int good = m->registers[STS_LOWEST] <= tenths &&
               tenths <= m->registers[STS_HIGHEST];
    int hot = m->temperature > m->registers[STS_HOTTEST];
    return m->latched | (good ? 0 : STS_BAD_VOLTAGE) | (hot ? STS_TOO_HOT : 0);
}

/* Heat the motor by the loss in its winding. */
static void warm(sts *m, double seconds)
{
    double end = STS_AMBIENT +
                 STS_PER_WATT * m->ohm * (m->current * m->current);
    seconds = seconds > 0.0 ? seconds : 0.0;
    m->temperature += (end - m->temperature) *
                      -expm1(-seconds / (STS_CAPACITY * STS_PER_WATT));
}

/* Return true if a condition has lasted longer than a time, s. */
static int lasts(double *since, double now, int holds, double seconds)
{
    if (!holds) {
        *since = (double)NAN;
        return 0;
    }
    if (isnan(*since))
        *since = now;
    return now - *since > seconds;
}

/* Inject an error that switches the motor off. */
void sts_fail(sts *m, uint8_t code)
{
    m->latched |= code;
    m->registers[STS_ENABLE] = 0;
}

/* Apply the protections. */
static void guard(sts *m, double now)
{
    const uint8_t *r = m->registers;
    int64_t errors = sts_errors(m) & r[STS_SWITCH];
    int strains, takes;
    if (errors & STS_BAD_VOLTAGE)
        sts_fail(m, STS_BAD_VOLTAGE);
    if (errors & STS_TOO_HOT)
        sts_fail(m, STS_TOO_HOT);
    strains = fabs(sts_share(m)) >= 0.01 * r[STS_OVERLOAD];
    takes = fabs(m->current) > STS_AMPERE * sts_word(m, STS_CURRENT);
    if (lasts(&m->overload_since, now, strains, 0.01 * r[STS_PATIENCE]) &&
        r[STS_SWITCH] & STS_OVERLOADED)
        m->latched |= STS_OVERLOADED;
    if (lasts(&m->over_current_since, now, takes, 0.01 * r[STS_LONGEST]) &&
        r[STS_SWITCH] & STS_OVER_CURRENT)
        sts_fail(m, STS_OVER_CURRENT);
}

/* Return the motor's voltage from now on, V; NaN if it floats. */
double sts_terminal(void *motor, double now, double angle, double velocity,
                    double current)
{
    sts *m = motor;
    double given;
    warm(m, now - m->at);
    m->angle = angle;
    m->velocity = velocity;
    m->current = current;
    m->at = now;
    if (now >= m->takes_over) {
        m->duty = m->coming;
        m->takes_over = (double)NAN;
    }
    if (m->registers[STS_MODE] == STS_BY_POSITION)
        close_loop(m, now);
    if (!m->wired.powered)
        return (double)NAN;
    guard(m, now);
    if (!sts_drives(m))
        return (double)NAN;
    given = sts_share(m) * m->volts;
    if (given != 0.0)
        m->driven = now;
    return given;
}
