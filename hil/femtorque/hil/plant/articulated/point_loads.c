#include "point_loads.h"

#include "linear.h"
#include "point_forms.h"

#include <math.h>
#include <string.h>

/* Return the force of a law at a slip and its velocity. */
static double answer(const point_law *l, double slip, double velocity)
{
    double below, above, push, pull;
    if (l->kind == SPRING)
        return -l->stiffness * (slip - l->rest) - l->damping * velocity;
    below = fmax(l->lower - slip, 0.0);
    above = fmax(slip - l->upper, 0.0);
    push = l->stiffness * below -
           l->damping * fmin(below / l->depth, 1.0) * velocity;
    pull = l->stiffness * above +
           l->damping * fmin(above / l->depth, 1.0) * velocity;
    return (below > 0.0 ? fmax(push, 0.0) : 0.0) -
           (above > 0.0 ? fmax(pull, 0.0) : 0.0);
}

/* Add the torques of a law along the coordinates. */
static void act(int64_t n, const point_law *l, const double *q,
                const double *velocities, double *torque)
{
    int64_t i, j;
    for (i = 0; i < l->slips; i++) {
        const double *of = l->slip + i * n;
        double slip = 0.0, velocity = 0.0, force;
        for (j = 0; j < n; j++) {
            slip += of[j] * q[j];
            velocity += of[j] * velocities[j];
        }
        force = answer(l, slip, velocity);
        for (j = 0; j < n; j++)
            torque[j] += of[j] * force;
    }
}

/* Add by times the gradient of one side of a form, as forces. */
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

/* Bend: add what an elastic element does to the points at z. */
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

/* Form the applied forces (size) at coordinates q and velocities v (size). */
void point_loads_at(const point_system *s, const point_equations *e,
                    const point_loads *l, const double *q, const double *v,
                    double *forces)
{
    double velocities[MOST];
    int64_t i;
    for (i = 0; i < s->size; i++)
        forces[i] = l->weight[i] + l->external[i];
    memset(l->torque, 0, (size_t)s->n * sizeof(double));
    if (l->laws > 0)
        for (i = 0; i < s->n; i++)
            velocities[i] = point_row_times(s, e, s->K + i, v);
    for (i = 0; i < l->laws; i++)
        act(s->n, l->law + i, q, velocities, l->torque);
    for (i = 0; i < s->n; i++)
        if (l->torque[i] != 0.0)
            point_row_add(s, e, s->K + i, l->torque[i], forces);
    for (i = 0; i < l->beams; i++)
        bend(l->beam + i, e->z, v, forces);
}
