/* Steps of a rigid arm with motors, springs and friction. */
#ifndef RIGID_STEPS_H
#define RIGID_STEPS_H

#include "rigid_tree.h"

/* Of each joint; found is the caller's memory for rigid_tree_at. */
typedef struct {
    double *q, *v, *current;
    double *volts; /* NaN floats */
    const double *torque;
    const double *ohm, *henry, *constant, *rotor;
    const double *viscous, *coulomb, *stiffness, *rest;
    double *found;
    double motors, friction; /* J that went in and out, added up */
} rigid_arm;

int64_t rigid_steps(const rigid_tree *t, rigid_arm *a, double h,
                    int64_t count);

#endif
