/* Dry friction with stick, by the rule of hil/plant/dry_friction.py. */
#ifndef DRY_FRICTION_H
#define DRY_FRICTION_H

#include <stdint.h>

int friction_clamped(int64_t n, const double *compliance,
                     const double *velocity, const double *bound, double *m);

int friction_found(int64_t n, const double *compliance, const double *velocity,
                   const double *bound, double *m);

#endif
