/* Dry friction with stick: multipliers clamped to the Coulomb torque (THEORY.md
 * section 7). */
#ifndef DRY_FRICTION_H
#define DRY_FRICTION_H

#include <stdint.h>

/* compliance: velocities (n, n) under unit torques within the step, (nearly)
 * symmetric, at least semidefinite. velocity: without friction. m: the result.
 * If joints of a loop can share the holding torque in many ways, m is the
 * smallest, to a part in 1e5. */
int friction_found(int64_t n, const double *compliance, const double *velocity,
                   const double *bound, double *m);

#endif
