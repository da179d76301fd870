/* A system of rigid solids as point masses, as hil/plant/articulated/system.py
 * explains it. These data do not change during a run. Degrees of freedom: first
 * the twelve coordinates of each solid's four points, then one angle per rotor.
 * Rows: first K rows of the mechanisms, the rotors and the couplings, then n
 * rows of the coordinates. */
#ifndef POINT_SYSTEM_H
#define POINT_SYSTEM_H

#include <stdint.h>

#define TOUCHED 4 /* most solids of a row */
#define BLOCK 12  /* number of degrees of freedom of a solid */
#define MOTIONS 6 /* of a rigid solid */

/* A vector as a constant plus a weighted sum of points of at most two solids. */
typedef struct {
    int64_t count, solid[2];
    double share[2][4], fixed[3];
} point_vector;

/* A bilinear form u . w. */
typedef struct {
    point_vector u, w;
} point_form;

/* The solids of a row, and the rotor that the row constrains, or -1. */
typedef struct {
    int64_t count, solid[TOUCHED], rotor;
} point_row;

/* follower = ratio leader + offset */
typedef struct {
    int64_t follower, leader;
    double ratio, offset;
} point_coupling;

/* Columns of a row of the factor that are left of the diagonal and of column K;
 * the end is excluded. */
typedef struct {
    int64_t from, to;
} point_run;

/* The coefficients of a row for one solid. */
typedef struct {
    int64_t row, block;
} point_part;

typedef struct {
    int64_t solids, rows, rotors, couplings, K, n, size;
    const point_form *forms; /* values of the mechanisms' rows, then 2 n of the
                              * coordinates */
    const double *targets;   /* of the rows of mechanisms */
    const double *inverse;   /* of the masses, (size) */
    const double *lengths;   /* distances that solids keep, six each */
    const int64_t *turns;    /* for each coordinate: true for an angle, false
                              * for a translation */
    const int64_t *geared;   /* coordinates of the rotors */
    const point_coupling *coupling;
    const point_row *row;    /* K + n */
    const int64_t *begin;    /* index of each solid's first contribution, and at
                              * the end the total number */
    const point_part *part;  /* by solid, then by row */
    const int64_t *runs;     /* index of each row's first range, then the total
                              * number */
    const point_run *run;
} point_system;

#endif
