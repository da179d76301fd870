/* A system of rigid solids as point masses. hil/plant/articulated/system.py
 * explains the system. The system does not change during a run. Degrees of
 * freedom: twelve coordinates of each solid's four points, then one angle per
 * rotor. Rows: K rows of the mechanisms, the rotors and the couplings, then n
 * rows of the coordinates. */
#ifndef POINT_SYSTEM_H
#define POINT_SYSTEM_H

#include <stdint.h>

#define TOUCHED 4 /* most solids of a row */
#define BLOCK 12  /* degrees of freedom of a solid */
#define MOTIONS 6 /* of a rigid solid */

/* A vector: a fixed part, and shares of the points of at most two solids. */
typedef struct {
    int64_t count, solid[2];
    double share[2][4], fixed[3];
} point_vector;

/* A bilinear form u . w. */
typedef struct {
    point_vector u, w;
} point_form;

/* The solids of a row, and the rotor that it ties, or -1. */
typedef struct {
    int64_t count, solid[TOUCHED], rotor;
} point_row;

/* follower = ratio leader + offset */
typedef struct {
    int64_t follower, leader;
    double ratio, offset;
} point_coupling;

/* Columns of a row of the factor, the last one excluded, left of its diagonal
 * and of column K. */
typedef struct {
    int64_t from, to;
} point_run;

/* The part of a row in a solid. */
typedef struct {
    int64_t row, block;
} point_part;

typedef struct {
    int64_t solids, rows, rotors, couplings, K, n, size;
    const point_form *forms; /* of the rows of mechanisms, then 2 n */
    const double *targets;   /* of the rows of mechanisms */
    const double *inverse;   /* of the masses, (size) */
    const double *lengths;   /* that solids keep, six each */
    const int64_t *turns;    /* of the coordinates: an angle, not a travel */
    const int64_t *geared;   /* coordinates of the rotors */
    const point_coupling *coupling;
    const point_row *row;    /* K + n */
    const int64_t *begin;    /* of each solid's parts, then the end of all */
    const point_part *part;  /* by solid, then by row */
    const int64_t *runs;     /* begin of each row's runs, then the end of all */
    const point_run *run;
} point_system;

#endif
