/* The motor of a drive. The inner loop samples several times within one step of
 * the plant. Between two samples the joint continues with constant velocity. */
#include "motor.h"

#include <math.h>

#define TURN 6.283185307179586
#define AMBIENT 25.0   /* deg C */
#define COUNTS 65536.0 /* counts per turn; chosen finer than fields */

static double within(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* Return the measured position, rad. */
double motor_position(const motor *m)
{
    double count = rint((m->angle - m->offset) * COUNTS / TURN);
    return (count + 0.0) * TURN / COUNTS; /* a count is never -0 */
}

/* Switch the current off. */
void motor_stop(motor *m)
{
    m->position = m->velocity = m->kp = m->kd = m->asked = m->integral = 0.0;
    m->active = m->standing = 0;
}

/* Make the present position the zero position. */
void motor_zero(motor *m)
{
    m->zero = m->offset = m->angle;
}

/* Return the torque of a position loop around a velocity loop. */
static double held(motor *m)
{
    double error = (m->pos_gain * (m->position - motor_position(m)) +
                    m->velocity - m->measured) / TURN;
    double torque = m->vel_gain * error + m->integral + m->asked;
    if (fabs(torque) > m->limit)
        m->integral *= m->wound_up;
    else
        m->integral += m->integrator * error / m->rate;
    return within(torque, -m->limit, m->limit);
}

/* Return the torque of the inner loop. */
static double wanted(motor *m)
{
    double torque;
    if (!m->active)
        return 0.0;
    if (m->holding)
        return held(m);
    if (m->standing)
        torque = m->still * cos(m->electric * (m->angle - m->still_at)) -
                 m->damping * m->measured;
    else
        torque = m->kp * (m->position - motor_position(m)) +
                 m->kd * (m->velocity - m->measured) + m->asked;
    torque = within(torque, -m->limit, m->limit);
    if (m->fading) {
        double turns = m->measured / TURN; /* a second */
        torque = within(torque, (-m->fade_limit - turns) * m->fade_gain,
                        (m->fade_limit - turns) * m->fade_gain);
    }
    return torque;
}

static void heat(motor *m, double seconds)
{
    double gain = pow(m->torque / (m->rated * m->limit), 2.0) * m->rise;
    m->temperature += (AMBIENT + gain - m->temperature) *
                      -expm1(-seconds / m->thermal);
}

/* Return the mean torque at the output, N m. Continue the output's motion from
 * an angle with a velocity. */
double motor_step(motor *m, double seconds, double angle, double velocity)
{
    double count = fmax(1.0, rint(seconds * m->rate)), h = seconds / count;
    double follow = -expm1(-TURN * m->bandwidth * h);
    double smooth = h / (0.5 * m->window + h), total = 0.0, i;
    for (i = 0.0; i < count; i += 1.0) {
        m->angle = angle + i * h * velocity;
        m->measured += smooth * (velocity - m->measured);
        if (m->moves_on)
            m->position += h * m->velocity;
        m->torque += follow * (wanted(m) - m->torque);
        total += m->torque;
    }
    heat(m, seconds);
    return total / count;
}
