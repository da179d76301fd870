/* The step that hil/plant/rigid.py describes. The step is in C because a
 * control tick has a dozen steps. */
#include "rigid_steps.h"

#include "dry_friction.h"
#include "linear.h"

#include <math.h>
#include <string.h>

/* The working data of one step. */
typedef struct {
    double h, middle[MOST], damping[MOST], active[MOST], right[MOST];
    double mass[MOST * MOST], inverse[MOST * MOST];
    double next[MOST], dry[MOST];
} step;

/* Compute the force of a joint's hard stop, and add the stop's damping. */
static double stop(const rigid_arm *a, const step *s, int64_t i,
                   double *damping)
{
    double own = s->mass[i * a->tree->n + i], rate = a->stop_rate;
    double beyond = fmin(s->middle[i] - a->lowest[i], 0.0) +
                    fmax(s->middle[i] - a->highest[i], 0.0);
    if (beyond == 0.0)
        return 0.0;
    *damping += 2.0 * own * rate;
    return -own * rate * rate * beyond;
}

/* Set up the equations in the middle of the step: system x = right. */
static void form(const rigid_arm *a, const motors_at *at, step *s,
                 double *system)
{
    const rigid_tree *t = a->tree;
    int64_t n = t->n, square = n * n, i;
    const double *coriolis = a->found + square, *gravity = coriolis + square;
    memset(a->found, 0, (size_t)(2 * square + n) * sizeof(double));
    for (i = 0; i < n; i++)
        s->middle[i] = a->q[i] + 0.5 * s->h * a->v[i];
    rigid_tree_at(t, s->middle, a->v, a->found);
    for (i = 0; i < n; i++)
        a->found[i * n + i] += a->rotor[i];
    memcpy(s->mass, a->found, (size_t)square * sizeof(double));
    for (i = 0; i < square; i++)
        system[i] = s->mass[i] + s->h * coriolis[i];
    linear_times(n, s->mass, a->v, s->right);
    for (i = 0; i < n; i++) {
        double damping = a->viscous[i] + at->damping[i];
        double push = stop(a, s, i, &damping), half = 0.5 * s->h * damping;
        s->active[i] = motors_torque(&a->motors, at, i) +
                       (a->torque[i] + a->pushed[i]);
        system[i * n + i] += half;
        s->right[i] += s->h * (gravity[i] + s->active[i] -
                               a->stiffness[i] * (s->middle[i] - a->rest[i]) +
                               push) -
                       half * a->v[i];
    }
}

/* Return the maximum torque of a joint's dry friction. The friction decreases
 * with the velocity. At the velocity `slow` half of the decrease has happened.
 * Friction increases with the torque that the gear transmitted in the previous
 * step. */
static double holds(const rigid_arm *a, int64_t i)
{
    double square = a->slow[i] * a->slow[i];
    return a->coulomb[i] +
           a->stribeck[i] * square / (square + a->v[i] * a->v[i]) +
           a->load[i] * fabs(a->carried[i]);
}

/* Apply dry friction to the velocities. Return 0 for NaN. */
static int rub(int64_t n, const rigid_arm *a, step *s)
{
    double compliance[MOST * MOST], change[MOST], most[MOST];
    int64_t i;
    for (i = 0; i < n * n; i++)
        compliance[i] = s->h * s->inverse[i];
    for (i = 0; i < n; i++)
        most[i] = holds(a, i);
    if (!friction_found(n, compliance, s->next, most, s->dry))
        return 0;
    linear_times(n, compliance, s->dry, change);
    for (i = 0; i < n; i++)
        s->next[i] = fabs(s->dry[i]) < most[i] ? 0.0 : s->next[i] + change[i];
    return 1;
}

/* Advance the state to the end of the step. */
static void go_on(rigid_arm *a, const motors_at *at, const step *s)
{
    int64_t i;
    for (i = 0; i < a->tree->n; i++) {
        double mean = 0.5 * (a->v[i] + s->next[i]);
        motors_turn(&a->motors, at, i, mean);
        a->carried[i] = s->active[i] - a->pushed[i] + s->dry[i] -
                        (at->damping[i] + a->viscous[i]) * mean -
                        a->rotor[i] * (s->next[i] - a->v[i]) / s->h;
        a->q[i] = s->middle[i] + 0.5 * s->h * s->next[i];
        a->v[i] = s->next[i];
    }
}

/* Take one step, or return 0 and leave the state unchanged. */
static int take_step(void *arm, const motors_at *at, double h)
{
    rigid_arm *a = arm;
    int64_t n = a->tree->n;
    double system[MOST * MOST];
    step s;
    s.h = h;
    if (a->hand != 0 && !a->hand())
        return 0;
    memset(s.dry, 0, sizeof s.dry);
    form(a, at, &s, system);
    if (!linear_invert(n, system, s.inverse))
        return 0;
    linear_times(n, s.inverse, s.right, s.next);
    if (!linear_finite(n, s.next) || !rub(n, a, &s))
        return 0;
    go_on(a, at, &s);
    a->time += h;
    return 1;
}

int64_t rigid_steps(void *arm, double h, int64_t count)
{
    rigid_arm *a = arm;
    return motors_steps(&a->motors, h, count, a, take_step);
}
