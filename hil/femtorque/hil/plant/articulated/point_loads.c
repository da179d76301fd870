#include "point_loads.h"

#include "point_forms.h"

#include <string.h>

/* Add `by` times the gradient of a form's factor, as forces. */
static void pull(const point_vector *a, double by, const double *other,
                 double *forces)
{
    int64_t i;
    int p, c;
    for (i = 0; i < a->count; i++)
        for (p = 0; p < 4; p++)
            for (c = 0; c < 3; c++)
                forces[BLOCK * a->solid[i] + 3 * p + c] +=
                    a->share[i][p] * (by * other[c]);
}

/* Add the forces of an elastic element on the points at z. */
static void bend(const point_beam *b, const double *z, const double *v,
                 double *forces)
{
    double u[STRAINS][3], w[STRAINS][3], strain[STRAINS];
    int i, j;
    for (i = 0; i < STRAINS; i++) {
        double du[3], dw[3];
        point_place(&b->strain[i].u, z, u[i]);
        point_place(&b->strain[i].w, z, w[i]);
        point_move(&b->strain[i].u, v, du);
        point_move(&b->strain[i].w, v, dw);
        strain[i] = point_dot(u[i], w[i]) +
                    b->damping * (point_dot(du, w[i]) + point_dot(u[i], dw));
    }
    for (i = 0; i < STRAINS; i++) {
        double moment = 0.0;
        for (j = 0; j < STRAINS; j++)
            moment += b->stiffness[i][j] * strain[j];
        pull(&b->strain[i].u, -moment, w[i], forces);
        pull(&b->strain[i].w, -moment, u[i], forces);
    }
}

/* Compute the applied forces (size) at coordinates q, velocities v. */
void point_loads_at(const point_system *s, const point_equations *e,
                    const point_loads *l, const double *q, const double *v,
                    double *forces)
{
    int64_t i;
    memcpy(forces, l->weight, (size_t)s->size * sizeof(double));
    for (i = 0; i < s->n; i++) {
        l->torques[i] = -l->stiffness[i] * (q[i] - l->rest[i]);
        if (l->torques[i] != 0.0)
            point_row_add(s, e, s->K + i, l->torques[i], forces);
    }
    for (i = 0; i < l->beams; i++)
        bend(l->beam + i, e->z, v, forces);
}
