/* Steps of hil/plant/rigid.py and of the motors of hil/plant/motors.py, which
 * explain them, with nothing but motors and torques on the joints. In C
 * because a control tick has a dozen of them. */
#include "rigid_steps.h"

#include "dry_friction.h"
#include "linear.h"

#include <math.h>
#include <string.h>

/* What motors do in steps of one length. */
typedef struct {
    double live[MOST], steady[MOST], decay[MOST], lag[MOST], damping[MOST];
} connected;

/* One step on its way. */
typedef struct {
    double h, middle[MOST], damping[MOST], active[MOST], right[MOST];
    double mass[MOST * MOST], inverse[MOST * MOST];
    double next[MOST], dry[MOST];
} step;

/* Put voltages on the motors for steps of h seconds. */
static void connect(int64_t n, rigid_arm *a, double h, connected *c)
{
    int64_t i;
    for (i = 0; i < n; i++) {
        int floats = isnan(a->volts[i]);
        double ratio = a->henry[i] > 0.0 ? a->ohm[i] * h / a->henry[i]
                                         : HUGE_VAL;
        c->live[i] = floats ? 0.0 : a->constant[i];
        c->steady[i] = floats ? 0.0 : a->volts[i] / a->ohm[i];
        c->decay[i] = exp(-ratio);
        c->lag[i] = (1.0 - c->decay[i]) / ratio;
        c->damping[i] = c->live[i] * c->live[i] / a->ohm[i] *
                        (1.0 - c->lag[i]);
        if (c->live[i] == 0.0)
            a->current[i] = 0.0;
    }
}

/* Form the equations in the middle of the step: system x = right. */
static void form(const rigid_tree *t, const rigid_arm *a, const connected *c,
                 step *s, double *system)
{
    int64_t n = t->n, square = n * n, i;
    const double *coriolis = a->found + square, *gravity = coriolis + square;
    memset(a->found, 0, (size_t)(2 * square + n + 1) * sizeof(double));
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
        double half = 0.5 * s->h * (a->viscous[i] + c->damping[i]);
        s->active[i] = c->live[i] * (c->lag[i] * a->current[i] +
                                     (1.0 - c->lag[i]) * c->steady[i]) +
                       a->torque[i];
        system[i * n + i] += half;
        s->right[i] += s->h * (gravity[i] + s->active[i] -
                               a->stiffness[i] * (s->middle[i] - a->rest[i])) -
                       half * a->v[i];
    }
}

/* Let dry friction act on the velocities; 0 if it does not settle. */
static int rub(int64_t n, const rigid_arm *a, step *s)
{
    double compliance[MOST * MOST], change[MOST];
    int64_t i;
    for (i = 0; i < n * n; i++)
        compliance[i] = s->h * s->inverse[i];
    if (!friction_clamped(n, compliance, s->next, a->coulomb, s->dry))
        return 0;
    linear_times(n, compliance, s->dry, change);
    for (i = 0; i < n; i++)
        s->next[i] = fabs(s->dry[i]) < a->coulomb[i] ? 0.0
                                                     : s->next[i] + change[i];
    return 1;
}

/* Go on to the end of the step. */
static void go_on(int64_t n, rigid_arm *a, const connected *c, const step *s)
{
    int64_t i;
    for (i = 0; i < n; i++) {
        double mean = 0.5 * (a->v[i] + s->next[i]);
        double steady = c->steady[i] - c->live[i] * mean / a->ohm[i];
        if (c->live[i] != 0.0)
            a->current[i] = steady + (a->current[i] - steady) * c->decay[i];
        a->motors += s->h * (s->active[i] - c->damping[i] * mean) * mean;
        a->friction += s->h * (a->viscous[i] * mean - s->dry[i]) * mean;
        a->q[i] = s->middle[i] + 0.5 * s->h * s->next[i];
        a->v[i] = s->next[i];
    }
}

/* Take one step; 0 if its friction does not settle, nothing has changed then. */
static int take_step(const rigid_tree *t, rigid_arm *a, const connected *c,
                     double h)
{
    double system[MOST * MOST];
    step s;
    s.h = h;
    memset(s.dry, 0, sizeof s.dry);
    form(t, a, c, &s, system);
    if (!linear_invert(t->n, system, s.inverse))
        return 0;
    linear_times(t->n, s.inverse, s.right, s.next);
    if (!rub(t->n, a, &s))
        return 0;
    go_on(t->n, a, c, &s);
    return 1;
}

/* Take steps of h seconds; how many it has taken: fewer than asked for where
 * friction did not settle. */
int64_t rigid_steps(const rigid_tree *t, rigid_arm *a, double h, int64_t count)
{
    connected c;
    int64_t done = 0;
    connect(t->n, a, h, &c);
    while (done < count && take_step(t, a, &c, h))
        done++;
    return done;
}
