/* The governor of one joint on this computer. The joint follows given
 * references, or random references that no sender would produce. */
#include "governor_host.h"

#include "ft_governor.h"

#include "ft_follow_row.h" /* row_of */

#include <math.h>
#include <stdint.h>

#define DT (1.0 / (double)FT_TICK_HZ)

static ft_follow_config row;
static double lower, upper;                           /* of the governor */
static double low, high, most_v, most_a, most_j;      /* that are noted */

/* Set limits like those of a mechanism file. */
void governor_limits(double lo, double hi, double v, double a, double j)
{
    lower = lo;
    upper = hi;
    row = row_of(v, a, j);
    low = lo;
    high = hi;
    most_v = v;
    most_a = a;
    most_j = j;
}

/* Make one tick. The joint reaches its position exactly. */
static uint32_t tick(sample *s, const sample *to)
{
    ft_moving now = { 0, (ft_real)s->v, (ft_real)s->a };
    const ft_moving aim = { (ft_real)(to->p - s->p), (ft_real)to->v,
                            (ft_real)to->a };
    const ft_room room = { (ft_real)(lower + INSIDE - s->p),
                           (ft_real)(upper - INSIDE - s->p) };
    const ft_way way = ft_outlook_anywhere();
    bool wary = false;
    const uint32_t why =
        ft_governor_tick(&now, &row, room, &aim, &way, &wary);

    s->p += (double)now.p;
    s->v = (double)now.v;
    s->a = (double)now.a;
    return why;
}

/* Follow n samples from the state. Each sample is the goal of one tick. */
void governor_run(long n, const sample *aim, sample *state, uint8_t *why)
{
    sample s = state[0];
    long i;

    for (i = 0; i < n; i++) {
        why[i] = (uint8_t)tick(&s, &aim[i]);
        state[i] = s;
    }
}

static uint64_t dice;

static double uniform(void)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (double)(dice >> 11) * 0x1p-53;
}

/* Return a number about as large as a scale. Sometimes the number is much
 * larger, or NaN. */
static double wild(double scale, double sane)
{
    const double x = uniform();

    if (x < sane)
        return scale * (2.4 * uniform() - 1.2);
    if (x < sane + 0.5 * (1.0 - sane))
        return scale * (2e3 * uniform() - 1e3);
    if (x < sane + 0.6 * (1.0 - sane))
        return NAN;
    if (x < sane + 0.7 * (1.0 - sane))
        return uniform() < 0.5 ? INFINITY : -INFINITY;
    return 0.0;
}

static void most(double *worst, double x)
{
    if (!(x <= *worst))
        *worst = x;
}

/* Note how much of each limit one tick used. */
static void note(record *r, const sample *before, const sample *s)
{
    const double v = before->v + 0.5 * DT * (before->a + s->a);
    const double p =
        before->p
        + DT * (before->v + DT * (before->a / 3.0 + s->a / 6.0));

    most(&r->p, s->p - high);
    most(&r->p, low - s->p);
    most(&r->v, fabs(s->v) / most_v);
    most(&r->a, fabs(s->a) / most_a);
    most(&r->j, fabs(s->a - before->a) / (most_j * DT));
    most(&r->uneven, fabs(s->v - v) / (double)row.near_v);
    most(&r->uneven, fabs(s->p - p) / (double)row.near_p);
}

/* Run against references that jump, creep, oscillate or are NaN, each held for
 * 1 to 1500 ticks. Now and then insert a smooth reference. */
void governor_storm(long n, uint64_t seed, double sane, record *r)
{
    const double scale = 0.6 * (upper - lower), middle = 0.5 * (upper + lower);
    sample s = { middle, 0.0, 0.0 }, aim = s;
    long left = 0, i;
    int moves = 0;

    dice = seed * 2u + 1u;
    for (i = 0; i < n; i++) {
        const sample before = s;

        if (left-- <= 0) {
            left = uniform() < 0.3 ? 1 : (long)(1500.0 * uniform());
            aim.p = middle + wild(scale, sane);
            aim.v = uniform() < 0.5 ? 0.0 : wild(most_v, sane);
            aim.a = uniform() < 0.5 ? 0.0 : wild(most_a, sane);
            moves = uniform() < 0.5;
        }
        r->followed += tick(&s, &aim) == 0;
        note(r, &before, &s);
        if (moves) {
            aim.p += DT * (aim.v + 0.5 * DT * aim.a);
            aim.v += DT * aim.a;
        }
    }
    for (i = 0; i < 20000; i++) { /* the sender falls silent: the joint must
                                   * come to rest */
        ft_moving now = { 0, (ft_real)s.v, (ft_real)s.a };
        const sample before = s;

        ft_ramp_brake(&now, &row);
        s.p += (double)now.p;
        s.v = (double)now.v;
        s.a = (double)now.a;
        note(r, &before, &s);
    }
    r->restless += s.v != 0.0 || s.a != 0.0;
}
