/* A plant that C moves on. */
#ifndef PLANT_STEPS_H
#define PLANT_STEPS_H

#include <stdint.h>

/* take: so many steps of h seconds; how many it has taken, fewer where it
 * cannot go on. q, v, current, volts: of its n joints; NaN floats;
 * torque: beside the motors'. */
typedef struct {
    void *arm;
    int64_t (*take)(void *arm, double h, int64_t count);
    int64_t n;
    double *q, *v, *current, *volts, *torque;
    double max_step;
} plant_steps;

#endif
