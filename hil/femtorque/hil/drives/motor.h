/* Motor of a drive. */
#ifndef MOTOR_H
#define MOTOR_H

#include <stdint.h>

/* As hil/drives/motor.py describes it. asked: the command at the output: rad,
 * rad/s, N m/rad, N m s/rad, N m. standing: constant voltages at the phases,
 * with still, N m at rest at still_at, rad; electric: rad per rad of the
 * output; damping: N m s/rad. holding: a
 * loop of position around one of velocity, with gains 1/s and N m s a turn, and
 * an integral with its gain, which shrinks by wound_up a period where torque is
 * at its limit. fading: towards +-fade_limit, turns/s, torque
 * is taken away by fade_gain, N m s a turn. zero: of the absolute encoder; angle: of
 * the output, any number of turns; offset: where its position is 0. */
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
