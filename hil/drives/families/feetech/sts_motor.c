/* In C because six servos are stepped ten thousand times a second. Bits of a
 * duty beyond the direction's add to its size (LeRobot, pull request 4547). */
#include "sts_motor.h"

#include "sts_numbers.h"

#include <math.h>

/* Read two registers. */
static int64_t word(const sts_motor *m, int at)
{
    return m->registers[at] | m->registers[at + 1] << 8;
}

/* Return true if its bridge is on. */
int sts_drives(const void *motor)
{
    const sts_motor *m = motor;
    return m->powered && m->registers[STS_ENABLE] == 1;
}

/* Return the share of the supply at the motor. */
double sts_share(const sts_motor *m)
{
    int64_t size = m->duty & ~(int64_t)STS_BACKWARDS, limit;
    if (!sts_drives(m) || m->registers[STS_MODE] != STS_BY_DUTY)
        return 0.0;
    limit = word(m, STS_LIMIT);
    size = size < 1000 ? size : 1000;
    size = size < limit ? size : limit;
    limit = 10 * m->registers[STS_PROTECTIVE];
    if (m->latched & STS_OVERLOADED && limit < size)
        size = limit;
    if (size < word(m, STS_START))
        return 0.0;
    return (double)size / (m->duty & STS_BACKWARDS ? -1000.0 : 1000.0);
}

/* Heat the motor by its winding's loss. */
static void warm(sts_motor *m, double seconds)
{
    double end = STS_AMBIENT +
                 STS_PER_WATT * m->ohm * (m->current * m->current);
    seconds = seconds > 0.0 ? seconds : 0.0;
    m->temperature += (end - m->temperature) *
                      -expm1(-seconds / (STS_CAPACITY * STS_PER_WATT));
}

/* Return true if a condition has lasted longer than so many seconds. */
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

/* Bring about one of its own errors, which switches it off. */
static void fail(sts_motor *m, int64_t code)
{
    m->latched |= code;
    m->registers[STS_ENABLE] = 0;
}

/* Act by its own protections. */
static void guard(sts_motor *m, double now)
{
    const uint8_t *r = m->registers;
    double tenths = m->volts / STS_TENTH;
    int out = !(r[STS_LOWEST] <= tenths && tenths <= r[STS_HIGHEST]);
    int hot = m->temperature > r[STS_HOTTEST], strains, takes;
    if ((out || m->latched & STS_BAD_VOLTAGE) && r[STS_SWITCH] & STS_BAD_VOLTAGE)
        fail(m, STS_BAD_VOLTAGE);
    if ((hot || m->latched & STS_TOO_HOT) && r[STS_SWITCH] & STS_TOO_HOT)
        fail(m, STS_TOO_HOT);
    strains = fabs(sts_share(m)) >= 0.01 * r[STS_OVERLOAD];
    takes = fabs(m->current) > STS_AMPERE * (double)word(m, STS_CURRENT);
    if (lasts(&m->overload_since, now, strains, 0.01 * r[STS_PATIENCE]) &&
        r[STS_SWITCH] & STS_OVERLOADED)
        m->latched |= STS_OVERLOADED;
    if (lasts(&m->over_current_since, now, takes, 0.01 * r[STS_LONGEST]) &&
        r[STS_SWITCH] & STS_OVER_CURRENT)
        fail(m, STS_OVER_CURRENT);
}

/* Return V at its motor from now on, NaN where it floats. */
double sts_terminal(void *motor, double now, double angle, double velocity,
                    double current)
{
    sts_motor *m = motor;
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
    if (!m->powered)
        return (double)NAN;
    guard(m, now);
    if (!sts_drives(m))
        return (double)NAN;
    given = sts_share(m) * m->volts;
    if (given != 0.0)
        m->driven = now;
    return given;
}
