/* Applied forces: weight and what is put on from outside, laws along
 * coordinates, beams. */
#ifndef POINT_LOADS_H
#define POINT_LOADS_H

#include "point_equations.h"
#include "point_system.h"

enum { SPRING, STOP };

/* A law of hil/plant/articulated/laws.py and the slips that it acts on:
 * combinations (slips, n) of the coordinates. */
typedef struct {
    int64_t kind, slips;
    const double *slip;
    double stiffness, damping, rest, lower, upper, depth;
} point_law;

#define STRAINS 5

/* An elastic element of hil/plant/articulated/beam.py; moments, forces that go
 * with its strains. */
typedef struct {
    point_form strain[STRAINS];
    double stiffness[STRAINS][STRAINS], damping;
} point_beam;

/* torque: (n) of the laws, as last evaluated. */
typedef struct {
    int64_t laws, beams;
    const point_law *law;
    const point_beam *beam;
    const double *weight, *external; /* (size) both */
    double *torque;
} point_loads;

void point_loads_at(const point_system *s, const point_equations *e,
                    const point_loads *l, const double *q, const double *v,
                    double *forces);

#endif
