/* The control law; see ft_law.h. */
#include "ft_law.h"

#include "ft_config.h"   /* ft_joint, FT_FEEDFORWARD */
#include "ft_messages.h" /* FT_LIMIT_ */
#include "ft_position.h" /* ft_position_difference */

/* Return x held within -bound..bound. */
static ft_real clamp(ft_real x, ft_real bound)
{
    if (x > bound)
        return bound;
    return x < -bound ? -bound : x;
}

/* Begin at rest under the torque tau. */
void ft_law_start(ft_law *l, const ft_real tau[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        l->motion[j] = FT_FEEDFORWARD ? tau[j] : FT_C(0.0);
        l->u[j] = l->integral[j] = l->clipped[j] = FT_C(0.0);
    }
}

/* Ask for nothing. */
void ft_law_rest(ft_law *l)
{
    uint32_t j;

    l->limits = 0;
    for (j = 0; j < FT_JOINTS; j++)
        l->asked[j] = l->torque[j] = l->duty[j] = FT_C(0.0);
}

/* Return rotor inertia, viscous and Coulomb friction of the target (Eq. 19).
 * Coulomb friction fades out towards rest instead of jumping there. */
static ft_real losses(const ft_joint_config *c, ft_real before, ft_real after)
{
    ft_real both = before + after;

    return c->rotor * (after - before) + c->viscous * both
           + clamp(c->coulomb_slope * both, c->coulomb);
}

/* Sum up the error, unless that pushes further into a limit. */
static void integrate(ft_law *l, uint32_t j, ft_real error)
{
    const ft_joint_config *c = &ft_joint[j];
    ft_real sum = l->integral[j] + c->ki * error;

    if (c->ki * error * l->clipped[j] > FT_C(0.0)) {
        l->limits |= FT_LIMIT_INTEGRAL;
        return;
    }
    l->integral[j] = clamp(sum, c->effort);
}

/* Return the torque of the motion alone (first line of the law). */
static ft_real of_motion(const ft_law *l, uint32_t j, ft_real u, ft_real tau)
{
    if (!FT_FEEDFORWARD)
        return FT_C(0.0);
    return tau + losses(&ft_joint[j], l->u[j], u);
}

/* Return the torque of the error alone (second line of the law). */
static ft_real of_error(ft_law *l, uint32_t j, const ft_target *target,
                        const ft_observer *seen)
{
    const ft_joint_config *c = &ft_joint[j];
    ft_turn away = ft_position_difference(target->q[j], seen->q[j]);
    ft_real error = (ft_real)away * c->unit;

    if (c->ki > FT_C(0.0))
        integrate(l, j, error);
    return c->ku * error + c->kv * (target->rate[j] - seen->rate[j])
           + l->integral[j];
}

/* Form the torque asked of every joint and the voltage that does not make
 * torque. tau is tau_ID, u the half increments it was made from. */
void ft_law_torque(ft_law *l, const ft_real u[FT_JOINTS],
                   const ft_real tau[FT_JOINTS], const ft_target *target,
                   const ft_observer *seen)
{
    uint32_t j;

    l->limits = 0;
    for (j = 0; j < FT_JOINTS; j++) {
        const ft_joint_config *c = &ft_joint[j];
        ft_real motion = of_motion(l, j, u[j], tau[j]);

        l->asked[j] = motion + of_error(l, j, target, seen);
        l->emf[j] = c->back_emf * (l->u[j] + u[j])
                    + c->inductance * (motion - l->motion[j]);
        l->u[j] = u[j];
        l->motion[j] = motion;
    }
}

/* Hold one joint's torque within what it may give. */
static void limit_torque(ft_law *l, uint32_t j, const ft_observer *seen)
{
    const ft_joint_config *c = &ft_joint[j];
    int32_t at = seen->coarse[j];
    ft_real torque = clamp(l->asked[j], c->effort);

    if (torque != l->asked[j])
        l->limits |= FT_LIMIT_TORQUE;
    if ((at > c->upper && torque > FT_C(0.0))
        || (at < c->lower && torque < FT_C(0.0))) {
        l->limits |= FT_LIMIT_POSITION;
        torque = l->emf[j] = FT_C(0.0);
    }
    l->torque[j] = torque;
}

/* Turn one joint's torque into the duty that makes it. */
static void drive(ft_law *l, uint32_t j, ft_real bus_voltage, ft_real per_volt)
{
    ft_real asked = ft_joint[j].resistance * l->torque[j] + l->emf[j];
    ft_real volts = clamp(asked, bus_voltage);

    if (volts != asked)
        l->limits |= FT_LIMIT_VOLTAGE;
    l->duty[j] = volts * per_volt;
    l->clipped[j] = volts != asked ? asked * ft_joint[j].resistance
                                   : l->asked[j] - l->torque[j];
}

/* Hold torques and voltages within their limits and give the duties. */
void ft_law_limit(ft_law *l, const ft_observer *seen, ft_real bus_voltage)
{
    ft_real per_volt = FT_C(1.0) / bus_voltage;
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        limit_torque(l, j, seen);
        drive(l, j, bus_voltage, per_volt);
    }
}
