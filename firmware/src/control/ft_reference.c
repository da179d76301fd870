/* The curve through knots; see ft_reference.h. */
#include "ft_reference.h"

#include "ft_config.h" /* ft_follow_joint */

#include <string.h> /* memmove, memcpy */

#define LAST (FT_KEPT - 1u)
#define AT_MOST 4u /* pieces that a tick may pass */

/* ---- the present piece -------------------------------------------------- */

/* Return a displacement, rad or m, less precise beyond half a turn. */
ft_real ft_reference_displacement(int64_t from, int64_t to, ft_real unit)
{
    const uint64_t steps = (uint64_t)to - (uint64_t)from;
    const uint64_t half = (uint64_t)1 << 31;

    if (steps + half < 2u * half)
        return (ft_real)(int32_t)(uint32_t)steps * unit;
    return ((ft_real)(int32_t)(uint32_t)(steps >> 32) * FT_C(4294967296.0)
            + (ft_real)(uint32_t)steps)
           * unit;
}

/* Weights of displacements from the second knot in Bezier points b0 to b3. */
typedef struct {
    ft_real b0_first, b0_third, b1_third, b2_third, b3_third, b3_fourth;
    ft_real per_length; /* 1/s */
} ft_weights_of_piece;

/* Return the seconds from one time to another. */
static ft_real seconds(const uint32_t t[], uint32_t from, uint32_t to)
{
    return (ft_real)(int32_t)(t[to] - t[from]) * FT_C(1e-6);
}

/* Compute the weights as blossoms at t2 and t3, by de Boor's algorithm. */
static void weigh(ft_weights_of_piece *w, const uint32_t t[FT_SUPPORT + 2u])
{
    const ft_real h = seconds(t, 2, 3), one = FT_C(1.0);
    const ft_real middle = one / seconds(t, 1, 4);
    const ft_real left = one / seconds(t, 1, 3), right = one / seconds(t, 2, 4);
    const ft_real h_left = h / seconds(t, 0, 3);
    const ft_real per_far = one / seconds(t, 2, 5);

    w->per_length = one / h;
    w->b1_third = seconds(t, 1, 2) * middle;
    w->b2_third = seconds(t, 1, 3) * middle;
    w->b0_first = h * left * h_left;
    w->b0_third = seconds(t, 1, 2) * left * w->b1_third;
    w->b3_fourth = h * right * (h * per_far);
    w->b3_third = seconds(t, 3, 4) * right * w->b2_third
                  + h * right * (seconds(t, 3, 5) * per_far);
}

/* Form one joint's cubic. */
static void form(ft_cubic *c, const ft_weights_of_piece *w, ft_real first,
                 ft_real third, ft_real fourth)
{
    const ft_real b0 = w->b0_first * first + w->b0_third * third;
    const ft_real b1 = w->b1_third * third, b2 = w->b2_third * third;
    const ft_real b3 = w->b3_fourth * fourth + w->b3_third * third;
    const ft_real per = w->per_length;
    const ft_real d0 = b1 - b0, d1 = b2 - b1, d2 = b3 - b2;

    c->c[0] = b0;
    c->c[1] = FT_C(3.0) * d0 * per;
    c->c[2] = FT_C(3.0) * (d1 - d0) * (per * per);
    c->c[3] = ((d2 - d1) - (d1 - d0)) * (per * per * per);
}

/* Compute the piece between the second and the third knot. */
static void form_piece(ft_reference *r)
{
    ft_weights_of_piece w;
    uint32_t j;

    weigh(&w, r->times);
    for (j = 0; j < FT_JOINTS; j++) {
        const ft_real unit = ft_follow_joint[j].unit;
        const int64_t base = r->q[LAST - 2u][j];

        r->joint[j].base = base;
        form(&r->joint[j], &w,
             ft_reference_displacement(base, r->q[LAST - 3u][j], unit),
             ft_reference_displacement(base, r->q[LAST - 1u][j], unit),
             ft_reference_displacement(base, r->q[LAST][j], unit));
    }
}

/* Take the next knot. If this knot has not arrived, repeat the last knot. */
static void take(ft_reference *r)
{
    const ft_live_knot *k = &r->ring[r->used & (FT_KNOTS - 1u)];
    const bool there = (int32_t)(r->head - r->used) > 0;
    const uint32_t last = FT_SUPPORT + 1u;

    memmove(&r->times[0], &r->times[1], sizeof r->times - sizeof r->times[0]);
    memmove(&r->q[0], &r->q[1], sizeof r->q - sizeof r->q[0]);
    if (there && !r->ended) {
        memcpy(r->q[LAST], k->q, sizeof k->q);
        r->times[last] = k->next;
        r->ended = k->end;
        r->same = 0;
    } else {
        memcpy(r->q[LAST], r->q[LAST - 1u], sizeof r->q[LAST]);
        r->times[last] = r->times[last - 1u] + r->spacing;
        r->same += r->same < FT_SUPPORT ? 1u : 0u;
    }
    r->due = r->times[last];
    r->used++;
}

/* ---- functions of the tick ---------------------------------------------- */

/* Begin at rest. at: the time of the first knot. */
void ft_reference_begin(ft_reference *r, const int64_t q[FT_JOINTS],
                        uint32_t at)
{
    uint32_t i;

    for (i = 0; i < FT_KEPT; i++)
        memcpy(r->q[i], q, sizeof r->q[i]);
    for (i = 0; i < FT_SUPPORT + 2u; i++)
        r->times[i] = at - (FT_SUPPORT + 1u - i) * r->spacing;
    r->due = at;
    r->used = 0;
    r->same = FT_SUPPORT;
    r->ended = false;
    form_piece(r);
}

/* Advance to the piece that contains a time. Return whether the piece has
 * changed. A time far ahead is reached over a few ticks. */
bool ft_reference_reach(ft_reference *r, uint32_t at)
{
    uint32_t passed = 0;

    while ((int32_t)(at - r->times[3]) >= 0 && passed < AT_MOST) {
        take(r);
        passed++;
    }
    if (passed > 0u)
        form_piece(r);
    return passed > 0u;
}

/* Restart a joint's curve, at rest or at its present velocity. */
static void cut(ft_cubic *k, ft_real t, ft_real share, uint32_t j)
{
    ft_real *c = k->c;
    const ft_real p = c[0] + t * (c[1] + t * (c[2] + t * c[3]));
    const ft_real v = c[1] + t * (FT_C(2.0) * c[2] + FT_C(3.0) * c[3] * t);
    const int32_t whole = (int32_t)(p * ft_follow_joint[j].per_unit);

    k->base = (int64_t)((uint64_t)k->base + (uint64_t)(int64_t)whole);
    c[0] = p - (ft_real)whole * ft_follow_joint[j].unit;
    c[1] = share * v;
    c[2] = c[3] = FT_C(0.0);
}

/* Let the piece begin at a time. */
static void begin_at(ft_reference *r, uint32_t at)
{
    uint32_t i;

    for (i = 0; i < FT_SUPPORT + 2u; i++)
        r->times[i] = at + (i - 2u) * r->spacing;
}

/* Continue after the last target with a velocity. Keep the target's velocity
 * for one piece of the curve, then come to rest. */
void ft_reference_run_out(ft_reference *r, uint32_t at, bool ended)
{
    const ft_real t = (ft_real)r->spacing * FT_C(1e-6);
    const bool stands = r->same > 0u || ended;
    uint32_t j;

    if (r->same >= FT_SUPPORT || (int32_t)(at - r->times[3]) < 0)
        return;
    for (j = 0; j < FT_JOINTS; j++)
        cut(&r->joint[j], t, stands ? FT_C(0.0) : FT_C(1.0), j);
    begin_at(r, r->times[3]);
    r->same = stands ? FT_SUPPORT : 1u;
    r->ended = ended;
}

/* Replace the curve by a cubic from its present state to a target with a
 * velocity. The time to the target is one knot spacing. */
void ft_reference_turn_to(ft_reference *r, const int64_t to[FT_JOINTS],
                          const float velocity[FT_JOINTS], uint32_t at)
{
    const ft_real h = (ft_real)r->spacing * FT_C(1e-6), per = FT_C(1.0) / h;
    const ft_real t = ft_reference_time(r, at, FT_C(0.0));
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        ft_cubic *k = &r->joint[j];
        ft_real *c = k->c, mean, v;

        cut(k, t, FT_C(1.0), j);
        v = (ft_real)velocity[j];
        mean = (ft_reference_displacement(k->base, to[j],
                                          ft_follow_joint[j].unit)
                - c[0]) * per
               + v;
        c[2] = (FT_C(3.0) * mean - FT_C(2.0) * c[1] - v) * per;
        c[3] = (c[1] + v - FT_C(2.0) * mean) * (per * per);
    }
    begin_at(r, at);
    r->same = 0;
}

/* Sample a joint's curve at t, s, from `from`. pace: of the sender's time. */
ft_moving ft_reference_sample(const ft_reference *r, uint32_t joint, ft_real t,
                              int64_t from, ft_real pace)
{
    const ft_cubic *k = &r->joint[joint];
    const ft_real *c = k->c;
    const ft_real unit = ft_follow_joint[joint].unit;
    const ft_moving m = {
        ft_reference_displacement(from, k->base, unit)
            + (c[0] + t * (c[1] + t * (c[2] + t * c[3]))),
        pace * (c[1] + t * (FT_C(2.0) * c[2] + FT_C(3.0) * c[3] * t)),
        pace * pace * (FT_C(2.0) * c[2] + FT_C(6.0) * c[3] * t),
    };

    return m;
}
