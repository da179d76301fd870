/* Finds friction torques m with |m| <= bound. Each torque brings its element of
 * velocity + compliance m to rest, or opposes it with the full bound. The
 * solver first changes the whole active set in each round: it decides which
 * joints stick, and in which direction the other joints slide. In loops the set
 * may not converge, because the joints of a loop can stick in many
 * combinations. If the set does not converge, the solver changes one joint at a
 * time. */
#include "dry_friction.h"

#include "linear.h"

#include <math.h>
#include <string.h>

#define ROUNDING 1e-12
#define RESIDUAL 1e-9 /* maximum residual if the system is not singular */
#define ROUNDS 6

/* Compute the velocities with friction m. */
static void slide(int64_t n, const double *compliance, const double *velocity,
                  const double *m, double *out)
{
    int64_t i;
    linear_times(n, compliance, m, out);
    for (i = 0; i < n; i++)
        out[i] += velocity[i];
}

/* Return 1 if x solves a x = b except for rounding. */
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

/* Compute the torques that hold the sticking joints, which have side 0. Return
 * 0 if the solution is not unique. */
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
    if (!linear_solve(count, a, 1, b, x) || !solves(count, a, x, b))
        return 0;
    for (i = 0; i < count; i++)
        m[stuck[i]] = -x[i];
    return 1;
}

/* Change the state (stuck or sliding) of each joint that slips or that friction
 * would drive. Return 0 if no state changes. */
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

/* Find friction torques m. Return 0 if the velocity terms do not converge. */
static int at_once(int64_t n, const double *compliance,
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

/* -- one by one ---------------------------------------------------------- */

#define CREEP 1e-10 /* of the mean compliance */
#define ROUNDED 10.0 /* safety factor on the rounding error that makes
                      * eigenvalues negative */
#define ONE_BY_ONE 20 /* rounds per joint */

/* A bounded least-squares problem during its solution. */
typedef struct {
    int64_t n;
    double c[MOST * MOST], noise[MOST], m[MOST];
    const double *velocity, *bound;
    int free[MOST];
} problem;

/* Return 1 if a symmetric matrix, with a given amount added to its diagonal, is
 * positive definite, so that it has a Cholesky factor. */
static int is_definite(int64_t n, const double *symmetric, double more)
{
    double l[MOST * MOST];
    int64_t i, j, k;
    for (i = 0; i < n; i++)
        for (j = 0; j <= i; j++) {
            double sum = symmetric[i * n + j] + (i == j ? more : 0.0);
            for (k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            if (i == j && !(sum > 0.0))
                return 0;
            l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
        }
    return 1;
}

/* Set up the problem from an initial m, with creep for uniqueness. */
static void set_up(problem *w, const double *compliance, const double *guess)
{
    double trace = 0.0, creep;
    int64_t n = w->n, i, j;
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            w->c[i * n + j] = 0.5 * (compliance[i * n + j] +
                                     compliance[j * n + i]);
    for (i = 0; i < n; i++)
        trace += w->c[i * n + i];
    creep = CREEP * trace / (double)n;
    while (creep < trace && !is_definite(n, w->c, creep / ROUNDED))
        creep *= 2.0;
    for (i = 0; i < n; i++)
        w->c[i * n + i] += creep;
    for (i = 0; i < n; i++) {
        double reach = fabs(w->velocity[i]);
        for (j = 0; j < n; j++)
            reach += fabs(w->c[i * n + j]) * w->bound[j];
        w->noise[i] = ROUNDING * reach + 0.1 * creep * w->bound[i];
        w->m[i] = fmin(fmax(guess[i], -w->bound[i]), w->bound[i]);
        w->free[i] = fabs(w->m[i]) < w->bound[i];
    }
}

/* Find the free joints' optimum, with the others fixed, or return 0. */
static int want(const problem *w, double *wanted)
{
    double a[MOST * MOST], b[MOST], x[MOST];
    int64_t n = w->n, at[MOST], count = 0, i, j;
    memcpy(wanted, w->m, (size_t)n * sizeof *wanted);
    for (i = 0; i < n; i++)
        if (w->free[i])
            at[count++] = i;
    for (i = 0; i < count; i++) {
        b[i] = -w->velocity[at[i]];
        for (j = 0; j < n; j++)
            if (!w->free[j])
                b[i] -= w->c[at[i] * n + j] * w->m[j];
        for (j = 0; j < count; j++)
            a[i * count + j] = w->c[at[i] * n + at[j]];
    }
    if (!linear_solve(count, a, 1, b, x))
        return 0;
    for (i = 0; i < count; i++)
        wanted[at[i]] = x[i];
    return 1;
}

/* Move the free torques to these values, or up to the first bound on the way.
 * Return 0 if a bound is reached. */
static int approach(problem *w, const double *wanted)
{
    double share = 2.0;
    int64_t first = -1, i;
    for (i = 0; i < w->n; i++) {
        double limit = wanted[i] > 0.0 ? w->bound[i] : -w->bound[i], part;
        if (!w->free[i] || fabs(wanted[i]) <= w->bound[i])
            continue;
        part = (limit - w->m[i]) / (wanted[i] - w->m[i]);
        if (part < share) {
            share = part;
            first = i;
        }
    }
    share = fmin(fmax(share, 0.0), 1.0);
    for (i = 0; i < w->n; i++)
        w->m[i] = first < 0 ? wanted[i]
                            : w->m[i] + share * (wanted[i] - w->m[i]);
    if (first < 0)
        return 1;
    w->m[first] = wanted[first] > 0.0 ? w->bound[first] : -w->bound[first];
    w->free[first] = 0;
    return 0;
}

/* Release the stuck joint that is driven most. Return 0 for none. */
static int let_go(problem *w)
{
    double slid[MOST], most = 0.0;
    int64_t worst = -1, i;
    slide(w->n, w->c, w->velocity, w->m, slid);
    for (i = 0; i < w->n; i++) {
        double side = w->m[i] > 0.0 ? 1.0 : w->m[i] < 0.0 ? -1.0 : 0.0;
        double pushing = w->free[i] ? 0.0 : slid[i] * side;
        if (worst < 0 || pushing - w->noise[i] > most) {
            worst = i;
            most = pushing - w->noise[i];
        }
    }
    if (most <= 0.0)
        return 0;
    w->free[worst] = 1;
    return 1;
}

/* Find friction torques m from an initial m, one joint at a time, as a bounded
 * least-squares problem: min m' C m / 2 + velocity' m (Stark and Parker's
 * BVLS). The sum that is minimised decreases in each round. The result comes
 * from the last round of the iteration. Return 0 for NaN. */
static int one_by_one(int64_t n, const double *compliance,
                      const double *velocity, const double *bound, double *m)
{
    problem w;
    int64_t round;
    w.n = n;
    w.velocity = velocity;
    w.bound = bound;
    set_up(&w, compliance, m);
    for (round = 0; round < ONE_BY_ONE * n; round++) {
        double wanted[MOST];
        if (!want(&w, wanted))
            return 0;
        if (!approach(&w, wanted))
            continue;
        if (!let_go(&w))
            break;
    }
    memcpy(m, w.m, (size_t)n * sizeof *m);
    return 1;
}

/* Find friction torques m, together or by joint. Return 0 for NaN. */
int friction_found(int64_t n, const double *compliance, const double *velocity,
                   const double *bound, double *m)
{
    return at_once(n, compliance, velocity, bound, m) ||
           one_by_one(n, compliance, velocity, bound, m);
}
