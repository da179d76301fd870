/* A plant that C moves on. */
#ifndef PLANT_STEPS_H
#define PLANT_STEPS_H

#include <stdint.h>

/* take: takes steps of h seconds and returns their number, which is smaller on
 * failure. q, v, current, volts: of n joints. A motor with volts NaN floats.
 * torque: in addition to the motors. */
typedef struct {
    void *arm;
    int64_t (*take)(void *arm, double h, int64_t count);
    int64_t n;
    double *q, *v, *current, *volts, *torque;
    double max_step;
} plant_steps;

#endif
