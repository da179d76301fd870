/* A Dynamixel's control table, its loops and its protections. */
#include "dxl.h"

#include "parts.h"

#include <math.h>
#include <string.h>

#define TAU 6.283185307179586

static double within(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* -- the control table ----------------------------------------------------- */

/* Read registers as a signed integer. */
int32_t dxl_get(const dxl *m, uint32_t at, uint32_t count)
{
    uint32_t value = 0, sign = 1u << (8u * count - 1u), i;
    for (i = 0; i < count; i++)
        value |= (uint32_t)m->registers[at + i] << 8u * i;
    return (int32_t)((value ^ sign) - sign);
}

uint32_t dxl_word(const dxl *m, uint32_t at)
{
    return m->registers[at] | (uint32_t)m->registers[at + 1u] << 8;
}

void dxl_put(dxl *m, uint32_t at, int64_t value, uint32_t count)
{
    uint32_t i;
    for (i = 0; i < count; i++)
        m->registers[at + i] = (uint8_t)((uint64_t)value >> 8u * i);
}

/* Return the start time of the servo's present millisecond. */
double dxl_boundary(const dxl *m, double now)
{
    return floor((now - m->phase) / DXL_PERIOD) * DXL_PERIOD + m->phase;
}

/* Return the position at an output angle, rad from mid-turn. */
int64_t dxl_counts(const dxl *m, double angle)
{
    int64_t counts = (int64_t)rint(angle * DXL_TURN / TAU);
    return (m->registers[DXL_DRIVE_MODE] & 1 ? -counts : counts) +
           DXL_TURN / 2 + dxl_get(m, DXL_HOMING, 4);
}

/* After a change of mode, reset goals to limits and gains to factory. */
void dxl_reset_goals(dxl *m)
{
    dxl_put(m, DXL_P_GAIN, m->p_gain, 2);
    dxl_put(m, DXL_I_GAIN, 0, 2);
    dxl_put(m, DXL_D_GAIN, m->d_gain, 2);
    dxl_put(m, DXL_GOAL_PWM, dxl_word(m, DXL_PWM_LIMIT), 2);
    dxl_put(m, DXL_GOAL_CURRENT, dxl_word(m, DXL_CURRENT_LIMIT), 2);
}

void dxl_forget_turns(dxl *m)
{
    m->zero = floor((m->angle - m->centre) / TAU + 0.5) * TAU + m->centre;
}

/* Switch the power on with the stored settings; the motor stays off. A servo
 * that is switched on at time 0 is on the bus immediately. */
void dxl_power_up(dxl *m, double angle)
{
    double now = parts_seconds(m->wired.parts);
    m->ready = now + (!m->wired.powered && now == 0.0 ? 0.0 : DXL_BOOT);
    memset(m->registers, 0, sizeof m->registers);
    memcpy(m->registers, m->stored, sizeof m->stored);
    m->registers[DXL_LEVEL] = 2;
    dxl_reset_goals(m);
    m->angle = angle;
    m->velocity = m->seen = m->wanted = m->integral = 0.0;
    dxl_forget_turns(m);
    m->wired.powered = 1;
    m->overload_since = (double)NAN;
}

/* -- the motor ------------------------------------------------------------- */

static int is_on(const dxl *m)
{
    return m->registers[DXL_ENABLE] == 1;
}

/* Return true if the bridge is on. */
int dxl_drives(const void *motor)
{
    const dxl *m = motor;
    return m->wired.powered && is_on(m);
}

/* Return the motor voltage as a fraction of the supply. */
double dxl_share(const dxl *m)
{
    return dxl_drives(m) && m->volts != 0.0 ? m->given / m->volts : 0.0;
}

/* Cause an error. Some errors switch the motor off. */
void dxl_fail(dxl *m, uint8_t code)
{
    m->registers[DXL_HARDWARE] |= code;
    if (code & m->registers[DXL_SHUTDOWN])
        m->registers[DXL_ENABLE] = 0;
}

/* Apply the protections and the watchdog. */
static void guard(dxl *m, double now)
{
    uint8_t *r = m->registers, waits = r[DXL_WATCHDOG];
    double tenths = 10.0 * m->volts;
    if (!(dxl_word(m, DXL_LOWEST) <= tenths &&
          tenths <= dxl_word(m, DXL_HIGHEST)))
        dxl_fail(m, DXL_BAD_VOLTAGE);
    if (m->temperature > r[DXL_HOTTEST])
        dxl_fail(m, DXL_TOO_HOT);
    if (fabs(m->current) < DXL_OVERLOADED * m->ampere)
        m->overload_since = (double)NAN;
    else if (isnan(m->overload_since))
        m->overload_since = now;
    else if (now - m->overload_since > DXL_PATIENCE)
        dxl_fail(m, DXL_OVERLOAD);
    if (is_on(m) && 0 < waits && waits <= DXL_LONGEST_WATCH &&
        now - m->fed > DXL_UNIT * waits)
        r[DXL_WATCHDOG] = DXL_EXPIRED;
}

static void heat(dxl *m, double seconds, double current)
{
    double end = DXL_AMBIENT + DXL_PER_WATT * m->ohm * current * current;
    m->temperature += (end - m->temperature) *
                      -expm1(-seconds / (DXL_PER_WATT * DXL_PER_GRAM *
                                         m->grams));
}

/* Return the current or duty that the mode requests, in steps. */
static double asked(const dxl *m, int mode)
{
    double error, most;
    if (mode != DXL_BY_POSITION)
        return dxl_get(
            m, mode == DXL_BY_CURRENT ? DXL_GOAL_CURRENT : DXL_GOAL_PWM, 2);
    error = (double)(dxl_get(m, DXL_GOAL_POSITION, 4) -
                     dxl_counts(m, m->angle - m->zero));
    most = dxl_word(m, DXL_GOAL_PWM);
    return within(dxl_word(m, DXL_P_GAIN) / m->divisor * error, -most,
                  most);
}

/* Return the output voltage of the current loop, limited to the supply, V. */
static double by_current(dxl *m, double wanted, double h)
{
    double most = m->volts * dxl_get(m, DXL_GOAL_PWM, 2) / DXL_FULL;
    double error = wanted * m->step - m->current, given;
    double slope = m->ohm / DXL_LAG;
    m->integral += slope * h * error;
    given = slope * DXL_ELECTRICAL * error + m->integral;
    if (fabs(given) > most)
        m->integral -= slope * h * error;
    return within(given, -most, most);
}

/* Return the voltage at the motor in a mode while the motor is on, V. */
static double give(dxl *m, int mode, double now, double h)
{
    double wanted = m->registers[DXL_WATCHDOG] == DXL_EXPIRED ? 0.0 : m->wanted;
    if (wanted != 0.0)
        m->driven = now;
    if (m->registers[DXL_DRIVE_MODE] & 1)
        wanted = -wanted;
    return mode == DXL_BY_CURRENT ? by_current(m, wanted, h)
                                  : wanted / DXL_FULL * m->volts;
}

/* Return true if the mode and its gains are modelled. */
static int modelled(const dxl *m, int mode)
{
    if (mode == DXL_BY_POSITION)
        return dxl_get(m, DXL_D_GAIN, 4) == 0; /* and the I gain */
    return mode == DXL_BY_CURRENT || mode == DXL_BY_DUTY;
}

/* Return the motor's voltage from now on, V; NaN if it floats. */
double dxl_terminal(void *motor, double now, double angle, double velocity,
                    double current)
{
    dxl *m = motor;
    double h = within(now - m->at, 0.0, DXL_PERIOD);
    int crossed = dxl_boundary(m, now) > dxl_boundary(m, m->at);
    int mode = m->registers[DXL_MODE];
    if (now > m->at)
        heat(m, now - m->at, current);
    m->angle = angle;
    m->velocity = velocity;
    m->current = current;
    m->at = now;
    m->seen += (velocity - m->seen) * -expm1(-h / DXL_SMOOTH);
    if (!m->wired.powered)
        return (double)NAN;
    guard(m, now);
    m->given = 0.0;
    if (!is_on(m) || !modelled(m, mode))
        return (double)NAN;
    if (crossed)
        m->wanted = asked(m, mode);
    return m->given = give(m, mode, now, h);
}
