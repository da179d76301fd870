/* Torques along the coordinates within a step. */
#ifndef POINT_DRIVES_H
#define POINT_DRIVES_H

#include "point_equations.h"
#include "point_system.h"

/* Torques and coefficients of each coordinate in this step. total: at its end,
 * with friction. dry: mean friction. */
typedef struct {
    double *active, *viscous;
    const double *coulomb;
    double *total, *dry;
} point_drives;

int point_first_half(const point_system *s, const point_equations *e,
                     const point_drives *d, const double *v, double t,
                     double *half);
int point_second_half(const point_system *s, const point_equations *e,
                      const point_drives *d, double t, double *v);

#endif
