/* Applied forces: weight, springs along coordinates, and beams. */
#ifndef POINT_LOADS_H
#define POINT_LOADS_H

#include "point_equations.h"
#include "point_system.h"

#define STRAINS 5

/* An elastic element of hil/plant/articulated/beam.py, with its moments and the
 * forces that its strains cause. */
typedef struct {
    point_form strain[STRAINS];
    double stiffness[STRAINS][STRAINS], damping;
} point_beam;

typedef struct {
    int64_t beams;
    const point_beam *beam;
    const double *weight;           /* (size) */
    const double *stiffness, *rest; /* of the springs, (n) each */
    double *torques;                /* torques of the springs, (n), at the last
                                     * evaluation */
} point_loads;

void point_loads_at(const point_system *s, const point_equations *e,
                    const point_loads *l, const double *q, const double *v,
                    double *forces);

#endif
