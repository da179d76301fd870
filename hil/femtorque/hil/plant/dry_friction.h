/* Dry friction with stick: multipliers clamped to the Coulomb torque (THEORY.md
 * section 7). */
#ifndef DRY_FRICTION_H
#define DRY_FRICTION_H

#include <stdint.h>

/* compliance: (n, n) velocities that unit torques cause within the step,
 * (nearly) symmetric, at least semidefinite. velocity: without friction. m is
 * found; where joints of a loop can share what holds them in many ways, it is
 * the smallest but for a part in 1e5. */
int friction_found(int64_t n, const double *compliance, const double *velocity,
                   const double *bound, double *m);

#endif
