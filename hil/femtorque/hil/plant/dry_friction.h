/* Dry friction with stiction: multipliers that are clamped to the Coulomb
 * torque (THEORY.md section 7). */
#ifndef DRY_FRICTION_H
#define DRY_FRICTION_H

#include <stdint.h>

/* compliance: velocities (n, n) for unit torques within the step; (nearly)
 * symmetric, positive semidefinite. velocity: velocity without friction. m: the
 * result. If the joints of a loop can share the holding torque in several ways,
 * m is the minimum-norm solution, to a relative error of 1e-5. */
int friction_found(int64_t n, const double *compliance, const double *velocity,
                   const double *bound, double *m);

#endif
