/* Integration steps of a rigid arm with motors, springs and friction. */
#ifndef RIGID_STEPS_H
#define RIGID_STEPS_H

#include "motors.h"
#include "rigid_tree.h"

/* Arrays have one entry per joint. found: memory that the caller owns, for
 * rigid_tree_at. hand: called before each step; writes the torques of a person
 * on the joints to `pushed`, and returns 0 on failure. */
typedef struct {
    const rigid_tree *tree;
    double *q, *v;
    motors motors;
    const double *torque, *rotor, *pushed;
    int (*hand)(void); /* 0: nobody's */
    const double *viscous, *coulomb, *stiffness, *rest;
    const double *stribeck, *slow, *load; /* of dry friction */
    double *carried; /* torque that the links took in the previous step */
    const double *lowest, *highest; /* position limits of hard stops; infinite
                                     * without a stop */
    double *found;
    double stop_rate; /* natural frequency of a joint alone on its stop,
                       * rad/s */
    double time; /* s */
} rigid_arm;

int64_t rigid_steps(void *arm, double h, int64_t count);

#endif
