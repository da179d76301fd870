/* The torques of actuators, motors, viscous and dry friction within a step.
 * These torques may jump from one step to the next, so the accelerations that
 * the cycle keeps do not contain them. The torques enter each half step through
 * the compliance of the joined system. The compliance is the velocities along
 * all coordinates under unit torques. Viscous terms (friction, back-EMF) are
 * explicit in the first half and implicit in the second. Both halves together
 * are the trapezoidal rule, which is stable for any coefficient. Dry friction
 * is a clamped multiplier in each half. So a stuck coordinate stays still, and
 * no sign of a velocity near zero is needed. Coordinates that may stick come to
 * rest in the middle of the step, because the rows turn until then. */
#include "point_drives.h"

#include "dry_friction.h"
#include "linear.h"

#include <math.h>
#include <string.h>

/* Return 1 if any of n numbers is not zero. */
static int any(int64_t n, const double *a)
{
    int64_t i;
    for (i = 0; i < n; i++)
        if (a[i] != 0.0)
            return 1;
    return 0;
}

/* Add the effect of torques along the coordinates in half a step. */
static void drive(const point_system *s, const point_equations *e, double t,
                  const double *torque, double *v)
{
    double impulse[MOST];
    int64_t i;
    for (i = 0; i < s->n; i++)
        impulse[i] = 0.5 * t * torque[i];
    point_answer(s, e, impulse, v);
}

/* Return 1 if friction can stop a coordinate, or can nearly stop it. */
static int may_stick(int64_t n, const double *compliance,
                     const double *velocity, const double *coulomb)
{
    int64_t i, j;
    for (i = 0; i < n; i++) {
        double reach = 0.0;
        for (j = 0; j < n; j++)
            reach += fabs(compliance[i * n + j]) * coulomb[j];
        if (fabs(velocity[i]) < 2.0 * reach)
            return 1;
    }
    return 0;
}

/* Add the effect of the drives in the first half to the velocities of the
 * middle, half. v: the velocities of the start. Return 0 if the sticking
 * coordinates cannot be found. */
int point_first_half(const point_system *s, const point_equations *e,
                     const point_drives *d, const double *v, double t,
                     double *half)
{
    double torque[MOST], compliance[MOST * MOST], velocity[MOST];
    int64_t n = s->n, i;
    for (i = 0; i < n; i++) {
        torque[i] = d->active[i] -
                    d->viscous[i] * point_row_times(s, e, s->K + i, v);
        d->dry[i] = 0.0;
    }
    if (any(n, d->coulomb)) {
        point_compliance(s, e, 0.5 * t, compliance);
        linear_times(n, compliance, torque, velocity);
        for (i = 0; i < n; i++)
            velocity[i] += point_row_times(s, e, s->K + i, half);
        if (may_stick(n, compliance, velocity, d->coulomb))
            for (i = 0; i < n; i++)
                velocity[i] += 0.5 * t * point_turning(s, e, v, i);
        if (!friction_found(n, compliance, velocity, d->coulomb, d->dry))
            return 0;
        for (i = 0; i < n; i++)
            torque[i] += d->dry[i];
    }
    drive(s, e, t, torque, half);
    return 1;
}

/* Make viscous friction implicit: divide by 1 + compliance viscous. */
static int damp(int64_t n, const double *viscous, double *compliance,
                double *velocity)
{
    double damped[MOST * MOST], right[MOST * (MOST + 1)];
    double found[MOST * (MOST + 1)];
    int64_t i, j;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) {
            damped[i * n + j] = (i == j) + compliance[i * n + j] * viscous[j];
            right[j * n + i] = compliance[i * n + j];
        }
        right[n * n + i] = velocity[i];
    }
    if (!linear_solve(n, damped, n + 1, right, found))
        return 0;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++)
            compliance[i * n + j] = found[j * n + i];
        velocity[i] = found[n * n + i];
    }
    return 1;
}

/* Add the effect of the drives in the second half to the velocities of the end,
 * v. Return 0 if the sticking coordinates cannot be found. */
int point_second_half(const point_system *s, const point_equations *e,
                      const point_drives *d, double t, double *v)
{
    double compliance[MOST * MOST], velocity[MOST], dry[MOST] = {0.0};
    double change[MOST];
    int64_t n = s->n, i;
    point_compliance(s, e, 0.5 * t, compliance);
    linear_times(n, compliance, d->active, velocity);
    for (i = 0; i < n; i++)
        velocity[i] += point_row_times(s, e, s->K + i, v);
    if (any(n, d->viscous) && !damp(n, d->viscous, compliance, velocity))
        return 0;
    if (any(n, d->coulomb)) {
        if (!friction_found(n, compliance, velocity, d->coulomb, dry))
            return 0;
        linear_times(n, compliance, dry, change);
        for (i = 0; i < n; i++)
            velocity[i] += change[i];
    }
    for (i = 0; i < n; i++) {
        d->total[i] = d->active[i] + dry[i] - d->viscous[i] * velocity[i];
        d->dry[i] = 0.5 * (d->dry[i] + dry[i]);
    }
    drive(s, e, t, d->total, v);
    return 1;
}
