/* Motor of a drive. */
#ifndef MOTOR_H
#define MOTOR_H

#include <stdint.h>

/* A motor, as hil/drives/motor.py describes it. position, velocity, kp, kd,
 * asked: the command at the output, rad, rad/s, N m/rad, N m s/rad, N m.
 * standing: the phases have constant voltages. still: torque of these voltages
 * at rest at the angle still_at, N m. still_at: rad. electric: electrical angle
 * per angle of the output. damping: N m s/rad. holding: a position loop around
 * a velocity loop acts. pos_gain: 1/s. vel_gain: N m s a turn. integrator: gain
 * of the integral, N m a turn. wound_up: factor on the integral in each period
 * at the torque limit. fading: near +-fade_limit, turns/s, the torque is
 * reduced by fade_gain, N m s a turn. zero: of the absolute encoder. angle: of
 * the output, any number of turns. offset: angle at which the position is 0. */
typedef struct {
    double rate, bandwidth, window, rated, rise, thermal;
    double limit, position, velocity, kp, kd, asked;
    double still, still_at, electric, damping;
    double pos_gain, vel_gain, integrator, wound_up, integral;
    double fade_limit, fade_gain;
    double torque, temperature, zero, angle, measured, offset;
    int32_t moves_on, active, standing, holding, fading;
} motor;

double motor_position(const motor *m);
void motor_stop(motor *m);
void motor_zero(motor *m);
double motor_step(motor *m, double seconds, double angle, double velocity);

#endif
