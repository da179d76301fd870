/* Integration steps of an articulated arm with motors, springs and friction. */
#ifndef POINT_STEPS_H
#define POINT_STEPS_H

#include "motors.h"
#include "point_drives.h"
#include "point_equations.h"
#include "point_loads.h"
#include "point_system.h"

/* State: z, v, gamma (size) and q (n), which hil/plant/articulated/cycle.py
 * explains. After the last step: applied (size), multipliers (K), and rate (n),
 * the velocities along the coordinates. torque: added to the motors' torque.
 * Working memory of the steps: half, moved, middle, wanted, change (size),
 * distances (6 per solid), others (K), before (n). */
typedef struct {
    const point_system *system;
    point_equations equations;
    point_loads loads;
    point_drives drives;
    motors motors;
    double *z, *v, *gamma, *q, *applied, *multipliers, *rate;
    const double *torque, *viscous;
    double tolerance, rounded; /* residual of the rows at the positions, m */
    double time; /* s */
    double *half, *moved, *middle, *wanted, *change, *distances, *others, *before;
} point_arm;

int64_t point_steps(void *arm, double h, int64_t count);

#endif
