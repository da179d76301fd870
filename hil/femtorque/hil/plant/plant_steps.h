/* A plant that C moves on. */
#ifndef PLANT_STEPS_H
#define PLANT_STEPS_H

#include <stdint.h>

/* take: computes steps of h seconds and returns the number of finished steps,
 * which is smaller on failure. q, v, current, volts: states of n joints. A
 * motor whose volts is NaN floats. torque: torque in addition to the motors'
 * torque. */
typedef struct {
    void *arm;
    int64_t (*take)(void *arm, double h, int64_t count);
    int64_t n;
    double *q, *v, *current, *volts, *torque;
    double max_step;
} plant_steps;

#endif
