/* Steps of a rigid arm with motors, springs and friction. */
#ifndef RIGID_STEPS_H
#define RIGID_STEPS_H

#include "motors.h"
#include "rigid_tree.h"

/* For each joint; found is the caller's memory for rigid_tree_at. hand: lays
 * what somebody exerts on the joints into `pushed` before each step; 0: the
 * step cannot be taken. */
typedef struct {
    const rigid_tree *tree;
    double *q, *v;
    motors motors;
    const double *torque, *rotor, *pushed;
    int (*hand)(void); /* 0: nobody's */
    const double *viscous, *coulomb, *stiffness, *rest;
    const double *stribeck, *slow, *load; /* of dry friction */
    double *carried; /* torque that the links took in the last step */
    const double *lowest, *highest; /* hard stops; infinite: there is none */
    double *found;
    double stop_rate; /* rad/s of a joint alone on its stop */
    double time; /* s */
} rigid_arm;

int64_t rigid_steps(void *arm, double h, int64_t count);

#endif
