/* Rigid solids without mechanisms, of four points each. */
#ifndef POINT_SOLIDS_H
#define POINT_SOLIDS_H

#include "point_system.h"

/* A free solid at one configuration. */
typedef struct {
    double arm[4][3];  /* vectors from the centre of the points to each point */
    double spin[6];    /* Cholesky factor of the inertia for unit masses */
    double edge[6][3]; /* between two points, divided by the distance of these
                        * points */
    double keep[6][6]; /* Cholesky factor of D D', where D contains the distance
                        * rows */
} free_solid;

int free_solid_at(free_solid *s, const double *x, const double *lengths);
void free_solid_reduce(const free_solid *s, const double *row, double *out);
void free_solid_expand(const free_solid *s, double by, const double *reduced,
                       double *out);
void free_solid_distances(const free_solid *s, const double *v, double *out);
void free_solid_change(const free_solid *s, const double *distances,
                       double *out);
double free_solid_residual(const double *x, double length, int64_t edge);

#endif
