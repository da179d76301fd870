/* The control law: from targets and measurements to torque, current, voltage
 * and duty.
 *
 * tau = J N^2 qdd_d + D qd_d + f_c sgn(qd_d) + tau_ID      of the motion
 *     + Ku (q_d - q) + Kv (qd_d - qd) + Ki int (q_d - q)   of the error
 *
 * The first line belongs to the middle of the interval the duty is held over,
 * and is formed from the half increments u on both sides of it as tau_ID is:
 * qd_d = (u + u')/dt, J qdd_d = 2 J (u - u')/dt^2. The second line belongs to
 * the tick boundary at which positions are measured.
 *
 * V = R I + L dI/dt + K N qd,  I = tau/(K N). Back-EMF is that of the target's
 * rate: known exactly at the interval's middle, while a measured rate would be
 * late and would take the motor's own damping away. L dI/dt is fed forward for
 * the motion's torque only: of the error's it would amplify the noise. */
#ifndef FT_LAW_H
#define FT_LAW_H

#include "ft_model.h"    /* FT_JOINTS, ft_real */
#include "ft_motion.h"   /* ft_target */
#include "ft_observer.h" /* ft_observer */

#include <stdint.h>

typedef struct {
    ft_real u[FT_JOINTS];        /* half increment of the last tick */
    ft_real motion[FT_JOINTS];   /* torque of the motion, last tick */
    ft_real integral[FT_JOINTS]; /* N m, N */
    ft_real clipped[FT_JOINTS];  /* sign of what the last tick cut off */
    ft_real asked[FT_JOINTS];    /* torque before limits */
    ft_real emf[FT_JOINTS];      /* V: back-EMF and L dI/dt */
    ft_real torque[FT_JOINTS];   /* within limits */
    ft_real duty[FT_JOINTS];     /* -1..1 */
    uint32_t limits;             /* bits of FT_LIMIT_ that act */
} ft_law;

void ft_law_start(ft_law *l, const ft_real tau[FT_JOINTS]);
void ft_law_rest(ft_law *l);
void ft_law_torque(ft_law *l, const ft_real u[FT_JOINTS],
                   const ft_real tau[FT_JOINTS], const ft_target *target,
                   const ft_observer *seen);
void ft_law_limit(ft_law *l, const ft_observer *seen, ft_real bus_voltage);

#endif
