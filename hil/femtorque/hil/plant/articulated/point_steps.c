/* The integration cycle of hil/plant/articulated/cycle.py, with motors. The
 * cycle is in C because a control tick has several steps. */
#include "point_steps.h"

#include "linear.h"
#include "point_forms.h"

#include <math.h>
#include <string.h>

#define ROUNDS 12

/* -- positions onto the rows --------------------------------------------- */

/* Compute a coordinate at z, angles within half a turn of zero. */
static double coordinate_at(const point_system *s, int64_t i, const double *z)
{
    const point_form *first = s->forms + s->rows + i, *second = first + s->n;
    return coordinate_value(s->turns[i], point_value(first, z),
                            point_value(second, z));
}

/* Compute the negative residuals of the rows that are not distances. */
static void form_others(const point_system *s, const double *z, double *others)
{
    int64_t k, i;
    for (k = 0; k < s->rows; k++)
        others[k] = s->targets[k] - point_value(s->forms + k, z);
    for (i = 0; i < s->rotors; i++) {
        double rotor = z[BLOCK * s->solids + i];
        int64_t of = s->geared[i];
        others[k++] = rotor - coordinate_near(s->turns[of],
                                              coordinate_at(s, of, z), rotor);
    }
    for (i = 0; i < s->couplings; i++) {
        const point_coupling *c = s->coupling + i;
        others[k++] = c->ratio * coordinate_at(s, c->leader, z) + c->offset -
                      coordinate_at(s, c->follower, z);
    }
}

/* Compute the negative residuals of all rows. Return the largest. */
static double form_residual(point_arm *a)
{
    const point_system *s = a->system;
    double off = 0.0;
    int64_t i;
    for (i = 0; i < MOTIONS * s->solids; i++) {
        const double *x = a->moved + BLOCK * (i / MOTIONS);
        a->distances[i] = -free_solid_residual(x, s->lengths[i], i % MOTIONS);
        off = fmax(off, fabs(a->distances[i]));
    }
    form_others(s, a->moved, a->others);
    for (i = 0; i < s->K; i++)
        off = fmax(off, fabs(a->others[i]));
    return off;
}

/* Project positions back onto the rows. Return 0 on failure. */
static int project(point_arm *a)
{
    const point_system *s = a->system;
    double last = HUGE_VAL;
    int64_t i;
    int round;
    for (round = 0; round < ROUNDS; round++) {
        double off = form_residual(a);
        /* a round that reduces the residual by less than half has reached the
         * rounding error */
        if (off < a->tolerance || (last < 2.0 * off && off < a->rounded))
            return 1;
        last = off;
        point_change(s, &a->equations, a->distances, a->others, a->change,
                     a->middle);
        for (i = 0; i < s->size; i++)
            a->moved[i] += a->change[i];
    }
    return 0;
}

/* -- one step ------------------------------------------------------------ */

/* Advance x to the step's end and v to its middle. Return 0 on failure. */
static int advance(point_arm *a, double t)
{
    const point_system *s = a->system;
    double *bare = a->applied;
    int64_t i;
    for (i = 0; i < s->size; i++)
        a->half[i] = a->v[i] + 0.5 * t * a->gamma[i];
    if (!point_first_half(s, &a->equations, &a->drives, a->v, t, a->half))
        return 0;
    for (i = 0; i < s->size; i++)
        a->moved[i] = a->z[i] + t * a->half[i];
    memcpy(bare, a->moved, (size_t)s->size * sizeof(double));
    if (!project(a))
        return 0;
    for (i = 0; i < s->size; i++)
        a->half[i] += (a->moved[i] - bare[i]) / t;
    return 1;
}

/* Compute gamma, and its multipliers, that makes the mid-step velocities
 * satisfy the rows at the end of the step. */
static void accelerate(point_arm *a, double t, double *gamma)
{
    const point_system *s = a->system;
    const point_equations *e = &a->equations;
    double want = -2.0 / t;
    int64_t i, k;
    for (i = 0; i < s->size; i++) {
        a->middle[i] = s->inverse[i] * a->applied[i];
        a->wanted[i] = want * a->half[i] - a->middle[i];
    }
    for (i = 0; i < s->solids; i++)
        free_solid_distances(e->solid + i, a->wanted + BLOCK * i,
                             a->distances + MOTIONS * i);
    for (k = 0; k < s->K; k++)
        a->others[k] = point_row_times(s, e, k, a->wanted);
    point_change(s, e, a->distances, a->others, gamma, a->multipliers);
    for (i = 0; i < s->size; i++)
        gamma[i] += a->middle[i];
}

/* Take one step, or return 0 and leave the state unchanged. */
static int take_step(point_arm *a, double t)
{
    const point_system *s = a->system;
    point_equations *e = &a->equations;
    size_t bytes = (size_t)s->size * sizeof(double);
    double q[MOST];
    int64_t i;
    if (!point_equations_at(s, e, a->z) || !advance(a, t) ||
        !point_equations_at(s, e, a->moved))
        return 0;
    for (i = 0; i < s->n; i++)
        q[i] = coordinate_near(s->turns[i], e->q[i], a->q[i]);
    for (i = 0; i < s->size; i++)
        a->middle[i] = a->half[i] + 0.5 * t * a->gamma[i];
    point_loads_at(s, e, &a->loads, q, a->middle, a->applied);
    accelerate(a, t, a->change);
    for (i = 0; i < s->size; i++)
        a->half[i] += 0.5 * t * a->change[i];
    if (!point_second_half(s, e, &a->drives, t, a->half) ||
        !linear_finite(s->size, a->half))
        return 0;
    memcpy(a->z, a->moved, bytes);
    memcpy(a->v, a->half, bytes);
    memcpy(a->gamma, a->change, bytes);
    memcpy(a->q, q, (size_t)s->n * sizeof(double));
    return 1;
}

/* -- with motors --------------------------------------------------------- */

/* Take steps of h seconds. Return their number. */
int64_t point_steps(void *arm, double h, int64_t count)
{
    point_arm *a = arm;
    const point_system *s = a->system;
    motors_at at;
    int64_t done, i;
    motors_connect(&a->motors, h, &at);
    for (i = 0; i < s->n; i++)
        a->drives.viscous[i] = a->viscous[i] + at.damping[i];
    for (done = 0; done < count; done++) {
        for (i = 0; i < s->n; i++)
            a->drives.active[i] = a->torque[i] +
                                  motors_torque(&a->motors, &at, i);
        memcpy(a->before, a->q, (size_t)s->n * sizeof(double));
        if (!take_step(a, h))
            break;
        for (i = 0; i < s->n; i++)
            motors_turn(&a->motors, &at, i, (a->q[i] - a->before[i]) / h);
        a->time += h;
    }
    for (i = 0; i < s->n; i++)
        a->rate[i] = point_row_times(s, &a->equations, s->K + i, a->v);
    return done;
}
