/* Geared DC motors for steps of one length; see hil/plant/motors.py. */
#ifndef MOTORS_H
#define MOTORS_H

#include "linear.h"

#include <stdint.h>

/* One motor per joint. volts: at its terminals; NaN if they float. */
typedef struct {
    int64_t n;
    double *current, *volts;
    const double *ohm, *henry, *constant;
} motors;

/* Constants of the motors for steps of one length. */
typedef struct {
    double live[MOST], steady[MOST], decay[MOST], lag[MOST], damping[MOST];
} motors_at;

void motors_connect(const motors *m, double h, motors_at *at);
int64_t motors_steps(const motors *m, double h, int64_t count, void *arm,
                     int (*take)(void *arm, const motors_at *at, double h));
double motors_torque(const motors *m, const motors_at *at, int64_t i);
void motors_turn(const motors *m, const motors_at *at, int64_t i,
                 double velocity);

#endif
