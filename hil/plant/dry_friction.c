/* What hil/plant/dry_friction.py does at once: who sticks and who slides which
 * way. Where that does not settle, its other way is Python's. */
#include "dry_friction.h"

#include "linear.h"

#include <math.h>

#define ROUNDING 1e-12
#define RESIDUAL 1e-9 /* of a system that is not singular */
#define ROUNDS 6

/* Form the velocities under friction m. */
static void slide(int64_t n, const double *compliance, const double *velocity,
                  const double *m, double *out)
{
    int64_t i;
    linear_times(n, compliance, m, out);
    for (i = 0; i < n; i++)
        out[i] += velocity[i];
}

/* Tell whether x solves a x = b as well as may be asked. */
static int solves(int64_t n, const double *a, const double *x, const double *b)
{
    double out[MOST], worst = 0.0, largest = 0.0;
    int64_t i;
    linear_times(n, a, x, out);
    for (i = 0; i < n; i++) {
        worst = fmax(worst, fabs(out[i] - b[i]));
        largest = fmax(largest, fabs(b[i]));
    }
    return worst <= RESIDUAL * largest;
}

/* Let those that stick, side 0, have what holds them; 0 if several ways do. */
static int hold(int64_t n, const double *compliance, const double *velocity,
                const double *side, double *m)
{
    double slid[MOST], a[MOST * MOST], b[MOST], x[MOST];
    int64_t stuck[MOST], count = 0, i, j;
    slide(n, compliance, velocity, m, slid);
    for (i = 0; i < n; i++)
        if (side[i] == 0.0)
            stuck[count++] = i;
    for (i = 0; i < count; i++) {
        b[i] = slid[stuck[i]];
        for (j = 0; j < count; j++)
            a[i * count + j] = compliance[stuck[i] * n + stuck[j]];
    }
    if (!linear_solve(count, a, b, x) || !solves(count, a, x, b))
        return 0;
    for (i = 0; i < count; i++)
        m[stuck[i]] = -x[i];
    return 1;
}

/* Choose sides anew where a joint slips, or friction would drive it; 0 if none
 * does. */
static int turn_sides(int64_t n, const double *m, const double *bound,
                      const double *slid, const double *noise, double *side)
{
    int64_t i;
    int turned = 0;
    for (i = 0; i < n; i++) {
        if (fabs(m[i]) > bound[i])
            side[i] = m[i] > 0.0 ? 1.0 : -1.0;
        else if (slid[i] * side[i] > noise[i])
            side[i] = 0.0;
        else
            continue;
        turned = 1;
    }
    return turned;
}

/* Find friction torques m; 0 if they do not settle. */
int friction_clamped(int64_t n, const double *compliance,
                     const double *velocity, const double *bound, double *m)
{
    double side[MOST] = {0.0}, noise[MOST], slid[MOST];
    int64_t i, j;
    int round;
    for (i = 0; i < n; i++) {
        double reach = 0.0, speed = fabs(velocity[i]);
        for (j = 0; j < n; j++)
            reach += fabs(compliance[i * n + j]) * bound[j];
        side[i] = speed > reach ? (velocity[i] > 0.0 ? -1.0 : 1.0) : 0.0;
        noise[i] = ROUNDING * (reach + speed);
    }
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < n; i++)
            m[i] = side[i] * bound[i];
        if (!hold(n, compliance, velocity, side, m))
            return 0;
        slide(n, compliance, velocity, m, slid);
        if (!turn_sides(n, m, bound, slid, noise, side))
            return 1;
    }
    return 0;
}
