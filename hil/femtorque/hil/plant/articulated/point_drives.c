/* The torques of actuators, motors, viscous friction and dry friction within a
 * step. These torques may jump from one step to the next, so the stored
 * accelerations of the cycle exclude them. The torques act in each half step
 * through the compliance of the joined system. The compliance gives the
 * velocities along all coordinates for unit torques. Viscous terms (friction,
 * back-EMF) are explicit in the first half step and implicit in the second.
 * Together the two halves are the trapezoidal rule, which is stable for any
 * coefficient. Dry friction is a multiplier in each half step that is clamped
 * to the Coulomb torque. Therefore a stuck coordinate does not move, and the
 * solver never needs the sign of a velocity near zero. Coordinates that may
 * stick come to rest in the middle of the step, because the rows change
 * direction until then. */
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

/* Add the effect of torques along the coordinates during half a step. */
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

/* Add the effect of the drives in the first half step to the mid-step
 * velocities, half. v: the velocities at the start. Return 0 if no set of
 * sticking coordinates is found. */
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

/* Treat viscous friction implicitly: divide by 1 + compliance viscous. */
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

/* Add the effect of the drives in the second half step to the velocities at the
 * end, v. Return 0 if no set of sticking coordinates is found. */
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
