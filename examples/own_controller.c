/* An own controller with the files of `femtorque generate`: computed torque,
 * and the feed-forward step over the same motion.
 *
 *     femtorque generate mechanisms/three_axis.toml -o arm --derivatives
 *     cc -std=c99 -O2 -ffp-contract=off -Iarm examples/own_controller.c \
 *        arm/ft_rnea.c arm/ft_step.c -o own_controller && ./own_controller
 *
 * The simulated arm uses ft_rnea too, and ft_mass. */
#include "ft_rnea.h"
#include "ft_step.h"

#include <stdio.h>

#define N FT_JOINTS
#define TICK (FT_C(1.0) / (ft_real)FT_TICK_HZ)
#define TICKS FT_TICK_HZ /* of a motion of one second */
#define KP FT_C(900.0)   /* 1/s^2 */
#define KD FT_C(60.0)    /* 1/s */

typedef struct {
    ft_real q[N], qd[N], qdd[N];
} motion;

static const ft_real away = FT_C(0.6); /* travel of every joint, rad or m */

/* Return the motion at a time: a quintic from zero to `away` in one second.
 * Before and after this second, the same polynomial is used. Rates are computed
 * as products: a sum of the terms would cancel near the end, and the step needs
 * every digit of u. */
static motion wanted(ft_real t)
{
    const ft_real rest = FT_C(1.0) - t;
    motion m;
    int j;

    for (j = 0; j < N; j++) {
        m.q[j] = away * t * t * t * (FT_C(10.0) + t * (FT_C(-15.0) + t * FT_C(6.0)));
        m.qd[j] = FT_C(30.0) * away * t * t * rest * rest;
        m.qdd[j] = FT_C(60.0) * away * t * rest * (rest - t);
    }
    return m;
}

/* Compute the joint torques of a computed-torque controller from the measured
 * motion. */
static bool control(const ft_real q[N], const ft_real qd[N], const motion *m,
                    ft_real tau[N])
{
    ft_real qdd[N];
    int j;

    for (j = 0; j < N; j++)
        qdd[j] = m->qdd[j] + KD * (m->qd[j] - qd[j]) + KP * (m->q[j] - q[j]);
    return ft_rnea(q, qd, qdd, tau);
}

/* Compute the accelerations of the arm under torques. */
static bool accelerate(const ft_real q[N], const ft_real qd[N],
                       const ft_real tau[N], ft_real qdd[N])
{
    static const ft_real none[N];
    ft_real M[N * N];
    int i, j, k;

    if (!ft_mass(q, M) || !ft_rnea(q, qd, none, qdd))
        return false;
    for (j = 0; j < N; j++)
        qdd[j] = tau[j] - qdd[j];
    for (k = 0; k < N; k++) /* M is positive definite: no pivoting */
        for (i = k + 1; i < N; i++) {
            const ft_real share = M[i * N + k] / M[k * N + k];

            for (j = k; j < N; j++)
                M[i * N + j] -= share * M[k * N + j];
            qdd[i] -= share * qdd[k];
        }
    for (i = N - 1; i >= 0; i--) {
        for (j = i + 1; j < N; j++)
            qdd[i] -= M[i * N + j] * qdd[j];
        qdd[i] /= M[i * N + i];
    }
    return true;
}

static ft_real larger(ft_real most, ft_real x)
{
    x = x < FT_C(0.0) ? -x : x;
    return x > most ? x : most;
}

/* Return the controller's error at the end of the motion, rad or m. At the
 * start the joints are off by 0.05. */
static ft_real follow(void)
{
    ft_real q[N], qd[N] = { FT_C(0.0) }, qdd[N], tau[N], off = FT_C(0.0);
    int j, k;

    for (j = 0; j < N; j++)
        q[j] = FT_C(0.05);
    for (k = 0; k < TICKS; k++) {
        const motion m = wanted((ft_real)k * TICK);

        if (!control(q, qd, &m, tau) || !accelerate(q, qd, tau, qdd))
            return FT_C(1e9);
        for (j = 0; j < N; j++) {
            qd[j] += TICK * qdd[j];
            q[j] += TICK * qd[j];
        }
    }
    for (j = 0; j < N; j++)
        off = larger(off, q[j] - wanted(FT_C(1.0)).q[j]);
    return off;
}

/* Return the sample s_k. All joints of this arm are revolute. */
static void sample(int k, ft_sample *next)
{
    const ft_real h = FT_C(0.5) * TICK;
    const ft_real s = ((ft_real)k + FT_C(0.5)) * TICK, between = s - h;
    const motion at = wanted(s), before = wanted(between);
    /* third derivative at the middle of the tick, fourth at the last sample,
     * and the fifth */
    const ft_real third = away * (FT_C(60.0) + between * (FT_C(-360.0) + between * FT_C(360.0)));
    const ft_real fourth = away * (FT_C(-360.0) + FT_C(720.0) * (s - TICK));
    const ft_real fifth = away * FT_C(720.0);
    const motion last = wanted(s - TICK);
    int j;

    for (j = 0; j < N; j++) {
        next->q[j] = ft_from_rad(at.q[j]);
        next->u[j] = h * before.qd[j] + h * h * h * (third / FT_C(6.0) + h * h * fifth / FT_C(120.0));
        next->du[j] = TICK * TICK * (last.qdd[j] / FT_C(4.0) + TICK * TICK * fourth / FT_C(48.0));
    }
}

/* Return the largest difference between the torques of ft_step and ft_rnea,
 * divided by the peak torque. */
static ft_real compare(void)
{
    static ft_step_state state;
    ft_turn begin[N];
    ft_sample next;
    ft_real tau[N], exact[N], off = FT_C(0.0), peak = FT_C(0.0);
    int j, k;

    sample(-1, &next);
    for (j = 0; j < N; j++)
        begin[j] = next.q[j];
    ft_step_start(&state, begin); /* q at s_-1 */
    sample(0, &next);
    for (j = 0; j < N; j++)
        next.du[j] = FT_C(0.5) * next.u[j];
    ft_step(&state, &next, tau); /* s_-1, before the motion: not used */
    for (k = 0; k < TICKS; k++) {
        const motion m = wanted(((ft_real)k + FT_C(0.5)) * TICK);

        sample(k + 1, &next);
        ft_step(&state, &next, tau); /* of s_k: over the tick k */
        if (!ft_rnea(m.q, m.qd, m.qdd, exact))
            return FT_C(1e9);
        for (j = 0; j < N; j++) {
            off = larger(off, tau[j] - exact[j]);
            peak = larger(peak, exact[j]);
        }
    }
    return off / peak;
}

int main(void)
{
    printf("off the motion at its end: %.1e rad\n", (double)follow());
    printf("step and ft_rnea differ by %.1e of the peak\n", (double)compare());
    return 0;
}
