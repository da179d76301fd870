/* The control law: from targets and measurements to torque, current, voltage
 * and duty.
 *
 *   tau = J N^2 qdd_d + D qd_d + f_c sgn(qd_d) + tau_ID      of the motion
 *       + Ku (q_d - q) + Kv (qd_d - qd) + Ki int (q_d - q)   of the error.
 *
 * The first line is evaluated at the middle of the interval in which the duty
 * is held. Like tau_ID, the first line is computed from the half increments u
 * on both sides of the middle: qd_d = (u + u')/dt, J qdd_d = 2 J (u - u')/dt^2.
 * The second line is evaluated at the tick boundary at which positions are
 * measured. A position from a bus is old, so q_d is reduced by qd_d times the
 * position's age. The dry friction f_c grows by f_s / (1 + (qd_d/v_s)^2) + mu
 * |tau_ID| if the file has these terms.
 *
 *   V = R I + L dI/dt + K N qd,  I = tau/(K N).
 *
 * Back-EMF uses the target's velocity, which is exact at the interval's middle.
 * A measured velocity would be late, and would cancel the motor's own damping.
 * L dI/dt is fed forward only for the torque of the motion, since the torque of
 * the error would amplify noise. */
#ifndef FT_LAW_H
#define FT_LAW_H

#include "ft_config.h"   /* FT_OVERLAY */
#include "ft_findings.h" /* ft_findings */
#include "ft_model.h"    /* FT_JOINTS, ft_real */
#include "ft_motion.h"   /* ft_target */
#include "ft_observer.h" /* ft_observer */

#include <stdbool.h>
#include <stdint.h>

/* Gains of one joint, as in ft_joint_config. */
typedef struct {
    ft_real ku, kv, ki;
} ft_gains;

typedef struct {
    FT_IF(FT_OVERLAY, ft_gains gains[FT_JOINTS];) /* in force */
    uint8_t overlay[3][FT_JOINTS]; /* 64ths of the file's ku, kv, ki */
    ft_real motion[FT_JOINTS];   /* feed-forward torque of the last tick */
    ft_real integral[FT_JOINTS]; /* the integral part's effort, N m or N */
    ft_real clipped[FT_JOINTS];  /* torque that a limit took off last tick */
    ft_real torque[FT_JOINTS];   /* within limits */
    float duty[FT_JOINTS];       /* -1..1 */
    ft_streak astray[FT_JOINTS]; /* too far from the target */
    ft_streak stuck[FT_JOINTS];  /* at the torque limit without a count */
    volatile uint32_t limits;    /* FT_LIMIT_ bits, until reported */
    bool fresh;                  /* the next tick is the first */
} ft_law;

/* Input of one tick's law. */
typedef struct {
    const ft_real *before;   /* half increments u of the last tick, */
    const ft_real *after;    /* half increments u' of this tick, */
    const ft_real *tau;      /* and tau_ID from both */
    const ft_target *target; /* of this tick's boundary */
    const ft_observer *seen;
    const int32_t *counts;   /* of the encoders, in this tick */
    uint32_t tick;
    ft_real bus_voltage;     /* V */
} ft_law_input;

void ft_law_boot(ft_law *l);
bool ft_law_overlay(ft_law *l, uint32_t joint, const uint8_t share[3]);
ft_gains ft_law_gains(const ft_law *l, uint32_t joint); /* the gains in force */
ft_real ft_law_needed(uint32_t j, ft_real before, ft_real after, ft_real tau);
void ft_law_start(ft_law *l);
void ft_law_rest(ft_law *l);
uint32_t ft_law_take_limits(ft_law *l);
void ft_law_tick(ft_law *l, const ft_law_input *in, ft_findings *found);

#endif
