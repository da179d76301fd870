/* Turns targets into knots; see ft_targets.h. */
#include "ft_targets.h"

#include "ft_config.h" /* ft_follow_joint, FT_FOLLOW_DELAY */
#include "ft_number.h" /* ft_size */
#include "ft_queue.h"  /* FT_STORED */

#include <string.h> /* memcpy, memset */

#define LEAST_US 19500u   /* smallest knot spacing, us: 20 ms minus jitter */
#define UNKNOWN_US 20000u /* assumed frame time until it is known, us */
#define FRAME_LEAST 1000u /* smallest accepted frame time, us */
#define FRAME_MOST 100000u
#define INTERVALS 8u      /* intervals until the frame time is known */
#define SETTLED 64u       /* intervals until the frame time is final */
#define SPARE_US 10000u   /* margin for late targets at the start, us */
#define SPARE_MOST 50000u /* upper limit of this margin, us */
#define SPARE_LEAST 2000  /* part of this margin to keep unused, us */
#define STEP_US 500000    /* more: a set clock, not a late target */
#define RELEASE 20000u    /* offset grows 1/RELEASE at most, 50 ppm */
#define JUMP ((int64_t)1 << 30) /* largest step between knots, wire steps */

static int32_t after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b);
}

/* Return x within -bound..bound. */
static int32_t clamped(int32_t x, int32_t bound)
{
    return x > bound ? bound : x < -bound ? -bound : x;
}

/* Return the displacement from one position to another, clamped to JUMP. */
static int64_t apart(int64_t from, int64_t to)
{
    const int64_t way = (int64_t)((uint64_t)to - (uint64_t)from);

    return way > JUMP ? JUMP : way < -JUMP ? -JUMP : way;
}

/* Return a position plus a displacement. The sum may wrap. */
static int64_t moved(int64_t from, int64_t way)
{
    return (int64_t)((uint64_t)from + (uint64_t)way);
}

/* ---- times ------------------------------------------------------------- */

/* Choose the number of targets in a knot, and so the time between knots. */
static void space(ft_targets *t, ft_reference *r)
{
    t->averaged = (LEAST_US + t->frame - 1u) / t->frame;
    r->spacing = t->averaged * t->frame;
}

/* Compute the present delay, and the lag of the played time. */
static void delay(ft_targets *t, const ft_reference *r)
{
    const uint32_t least =
        2u * r->spacing + (t->averaged - 1u) * t->frame / 2u;

    if (t->direct)
        t->in_force = 0;
    else if (t->chunk != 0u)
        t->in_force = t->delay == FT_FOLLOW_AUTO ? 0u : t->delay;
    else if (t->delay == FT_FOLLOW_AUTO)
        t->in_force = least + t->spare;
    else
        t->in_force = t->delay > least ? t->delay : least;
    t->lag = t->offset + t->in_force;
}

/* Increase the margin for late targets if this target is too late. The curve
 * needs each knot two knots in advance. */
static void spare(ft_targets *t, const ft_reference *r, uint32_t at,
                  uint32_t now)
{
    const int32_t left =
        after(at - 2u * r->spacing, now - t->lag) - SPARE_LEAST;
    const bool settled = t->fixed || t->intervals >= INTERVALS;

    if (settled && t->chunk == 0u && left < 0)
        t->spare += (uint32_t)(SPARE_LEAST - left);
    t->spare = t->spare < SPARE_MOST ? t->spare : SPARE_MOST;
}

/* Compare the clocks: their offset is the smallest delay of messages, and old
 * delays are slowly forgotten. Undo the step of a set clock. */
static void compare_clocks(ft_targets *t, uint32_t stamp, uint32_t now)
{
    const uint32_t ahead = now - (stamp + t->shift);
    const int32_t step = after(ahead, t->offset);
    const uint32_t release = (now - t->heard) / RELEASE;

    if (step > STEP_US || step < -STEP_US)
        t->shift = now - t->offset - stamp;
    else if (step < 0)
        t->offset = ahead;
    else
        t->offset += (uint32_t)step < release ? (uint32_t)step : release;
}

/* Estimate the sender's frame time from the first intervals. */
static void find_frame(ft_targets *t, ft_reference *r, int32_t interval)
{
    const bool likely = interval >= (int32_t)FRAME_LEAST
                        && interval <= (int32_t)FRAME_MOST;
    const uint32_t n = t->intervals;

    if (t->fixed || n >= SETTLED || !likely)
        return;
    if (n > 0u && (uint32_t)interval > t->frame + t->frame / 2u)
        return; /* a target between them was lost */
    t->frame = (n * t->frame + (uint32_t)interval) / (n + 1u);
    t->intervals = n + 1u;
    space(t, r);
}

/* ---- knots ------------------------------------------------------------- */

/* Put a knot into the ring. */
static void put(ft_targets *t, ft_reference *r, const int64_t q[FT_JOINTS],
                uint32_t at, uint32_t next, bool end)
{
    ft_live_knot *k = &r->ring[r->head & (FT_KNOTS - 1u)];

    memcpy(k->q, q, sizeof k->q);
    k->at = at;
    k->next = next;
    k->end = end;
    memcpy(t->knot, q, sizeof t->knot);
    t->before = at;
    FT_STORED();
    r->head++;
}

/* Return a position, clamped to the joint's limits. */
static int64_t allowed(ft_targets *t, uint32_t j, int64_t q)
{
    const ft_follow_config *c = &ft_follow_joint[j];
    const int64_t inside = q < c->lower ? c->lower
                           : q > c->upper ? c->upper : q;

    if (inside != q)
        t->clipped |= (uint32_t)1 << j;
    return moved(t->knot[j], apart(t->knot[j], inside));
}

/* Return how far a spline through means lags, in changes of velocity between
 * knots times their spacing: 1/6 + (1 - 1/n^2)/24 for means of n targets. With
 * one target per knot the result is 0, since a correction would amplify
 * noise. */
static ft_real shortfall(const ft_targets *t)
{
    const ft_real n = (ft_real)t->averaged;

    if (t->averaged < 2u)
        return FT_C(0.0);
    return FT_C(1.0) / FT_C(6.0)
           + (FT_C(1.0) - FT_C(1.0) / (n * n)) / FT_C(24.0);
}

/* Return the smaller of two numbers if they have the same sign, otherwise 0. */
static ft_real common(ft_real x, ft_real y)
{
    if (!(x * y > FT_C(0.0)))
        return FT_C(0.0);
    return ft_size(x) < ft_size(y) ? x : y;
}

/* Return the part of a velocity change that earlier changes confirm. An earlier
 * change confirms a new change if the two changes have the same sign or lie on
 * one line. A jump has no earlier changes. */
static ft_real borne_out(const ft_targets *t, uint32_t j, ft_real change)
{
    const ft_real c1 = t->change[0][j], c2 = t->change[1][j];
    const ft_real like = common(c1, FT_C(1.5) * c2);
    const ft_real slope = common(c1 - c2, c2 - t->change[2][j]);
    const ft_real line =
        slope == FT_C(0.0) ? slope : c1 + FT_C(1.5) * slope;
    const ft_real low = ft_smaller(ft_smaller(like, line), FT_C(0.0));
    const ft_real high = ft_larger(ft_larger(like, line), FT_C(0.0));

    return ft_smaller(ft_larger(change, low), high);
}

/* Return a joint's knot: its targets' mean, moved by `off` seconds along the
 * line of the last means. A jump is not sharpened. */
static int64_t refined(ft_targets *t, uint32_t j, int64_t mean, ft_real per,
                       ft_real off, ft_real short_by)
{
    const ft_follow_config *c = &ft_follow_joint[j];
    const ft_real way = ft_reference_displacement(t->mean[j], mean, c->unit);
    const ft_real v = way * per, change = v - t->velocity[j];
    const ft_real on = (change - t->change[0][j]) * (FT_C(1.0) / FT_C(3.0));
    const ft_real before = t->velocity[j], v2 = before - t->change[0][j];
    const ft_real bends = borne_out(t, j, change + on);
    const ft_real goes = common(v + FT_C(0.5) * change,
                                FT_C(2.0) * common(before, v2));
    const ft_real more = goes * off - short_by * bends;
    const ft_real most = FT_C(0.1) + ft_size(way);

    t->velocity[j] = v;
    t->change[2][j] = t->change[1][j];
    t->change[1][j] = t->change[0][j];
    t->change[0][j] = change;
    t->mean[j] = mean;
    if (!(ft_size(more) <= most))
        return mean;
    return moved(mean, (int64_t)(int32_t)(more * c->per_unit));
}

/* Insert knots on a straight line where no target arrived. */
static void fill_in(ft_targets *t, ft_reference *r, const int64_t q[FT_JOINTS])
{
    const uint32_t n = t->skipped;
    uint32_t i, j, step, at = t->gap_at;
    int64_t from[FT_JOINTS], between[FT_JOINTS];

    if (n == 0u)
        return;
    step = (t->at - at) / n;
    memcpy(from, t->knot, sizeof from);
    for (i = 1; i <= n; i++) {
        for (j = 0; j < FT_JOINTS; j++)
            between[j] = moved(from[j], apart(from[j], q[j])
                                            / (int64_t)(n + 1u) * (int64_t)i);
        put(t, r, between, at, i < n ? at + step : t->at, false);
        at += step;
    }
    t->skipped = 0;
}

/* Adapt the next knot's time and the spacing to the sender's frames, at once
 * for a chunk, which has no jitter. Return the time. */
static uint32_t next_time(ft_targets *t, ft_reference *r, int32_t off,
                          bool whole)
{
    const int32_t quarter = (int32_t)(r->spacing / 4u);
    const uint32_t nominal = t->averaged * t->frame;
    const bool known = t->fixed || t->intervals >= INTERVALS;
    const bool at_once = t->chunk != 0u || !known;
    const int32_t change = clamped(off, at_once ? 2 * quarter : quarter);
    uint32_t next = t->at + r->spacing;

    if (!whole)
        return next;
    next += (uint32_t)(at_once ? change : change / 8);
    if (!at_once)
        r->spacing = nominal
                     + (uint32_t)clamped(after(r->spacing, nominal)
                                             + change / 64,
                                         (int32_t)(nominal / 64u));
    return next;
}

/* Make a knot from the gathered targets. */
static void close(ft_targets *t, ft_reference *r, bool end)
{
    ft_group *g = &t->group;
    const int64_t n = (int64_t)g->n;
    const uint32_t mean_at = g->first + (uint32_t)(g->later / (int32_t)g->n);
    const int32_t off = after(mean_at, t->at);
    const uint32_t next = next_time(t, r, off, g->n == t->averaged);
    const int32_t back = t->skipped > 0u ? (int32_t)r->spacing
                                         : after(t->at, t->before);
    const int32_t about = (after(next, t->at) - back) / 3;
    const int32_t since = after(mean_at, t->mean_at);
    const ft_real per = since > 0 ? FT_C(1e6) / (ft_real)since : FT_C(0.0);
    const ft_real later = (ft_real)(about - off) * FT_C(1e-6);
    const ft_real short_by =
        shortfall(t) * (ft_real)r->spacing * FT_C(1e-6);
    int64_t q[FT_JOINTS];
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        const int64_t mean =
            allowed(t, j, moved(g->q[j], g->beyond[j] / n));

        q[j] = end || t->skipped > 0u
                   ? mean : refined(t, j, mean, per, later, short_by);
        t->mean[j] = mean;
    }
    t->mean_at = mean_at;
    fill_in(t, r, q);
    put(t, r, q, t->at, next, end);
    t->at = next;
    g->n = 0;
}

/* If the tick had to repeat knots, continue after the repeated knots. Then
 * allow more delay, so that a later gap can be filled in time. */
static void catch_up(ft_targets *t, ft_reference *r, uint32_t due,
                     uint32_t now)
{
    const uint32_t at = t->at;
    uint32_t used, tries = 0;

    do {
        used = r->used;
        FT_STORED();
        t->at = after(used, r->head) > 0 ? r->due : t->at;
        FT_STORED();
    } while (used != r->used && ++tries < 4u);
    if (after(used, r->head) <= 0)
        return;
    if (t->group.n > 0u || after(due, at) < (int32_t)(r->spacing / 2u * 3u))
        spare(t, r, at, now);
    t->late = (uint16_t)(t->late + t->group.n);
    r->head = used;
    t->before = t->at - r->spacing;
    t->skipped = 0;
    t->group.n = 0;
}

/* Go back to the start of a chunk. The chunk replaces all later knots. */
static void go_back(ft_targets *t, ft_reference *r, uint32_t due)
{
    const uint32_t used = r->used;
    const ft_live_knot *last;
    uint32_t i;

    t->group.n = 0;
    for (i = 0; i < FT_KNOTS && after(r->head, used) > 0; i++) {
        last = &r->ring[(r->head - 1u) & (FT_KNOTS - 1u)];
        if (after(due, last->at) > (int32_t)(r->spacing / 2u))
            break;
        r->head--;
        t->at = last->at;
        t->skipped = 0;
    }
    last = &r->ring[(r->head - 1u) & (FT_KNOTS - 1u)];
    if (i == 0u || last->next != t->at)
        return;
    memcpy(t->knot, last->q, sizeof t->knot);
    memcpy(t->mean, last->q, sizeof t->mean);
    t->before = t->mean_at = last->at;
}

/* Advance to the knot of a target. The skipped knots have no target. */
static void skip(ft_targets *t, const ft_reference *r, uint32_t due)
{
    uint32_t i;

    for (i = 0; i < FT_KNOTS
                && after(due, t->at) >= (int32_t)(r->spacing / 2u); i++) {
        t->gap_at = t->skipped == 0u ? t->at : t->gap_at;
        t->at += r->spacing;
        t->skipped++;
        t->lost = (uint16_t)(t->lost + t->averaged);
    }
}

/* Add a target to its knot. */
static void gather(ft_targets *t, ft_reference *r, const ft_msg_target *m,
                   uint32_t due, uint32_t now)
{
    ft_group *g = &t->group;
    uint32_t j;

    if (t->ended && after(due, t->at) < 0)
        due = t->at; /* the END is a separate knot if no other knot is left */
    if (after(due, t->at) < -(int32_t)(r->spacing / 8u * 5u)) {
        spare(t, r, due, now);
        t->late++;
        return;
    }
    if (g->n > 0u && after(due, t->at) >= (int32_t)(r->spacing / 2u))
        close(t, r, false);
    skip(t, r, due);
    if (g->n == 0u) {
        memcpy(g->q, m->position, sizeof g->q);
        memset(g->beyond, 0, sizeof g->beyond);
        g->first = due;
        g->later = 0;
    }
    for (j = 0; j < FT_JOINTS; j++)
        g->beyond[j] += apart(g->q[j], m->position[j]);
    g->later += after(due, g->first);
    g->n++;
    if (g->n < t->averaged && !t->ended)
        return;
    spare(t, r, after(due, t->at) < 0 ? due : t->at, now);
    close(t, r, t->ended);
}

/* ---- targets ------------------------------------------------------------ */

/* Return whether a target's velocities, if it has any, are finite. */
static bool numbers(const ft_msg_target *m)
{
    uint32_t j;

    if ((m->flags & FT_TARGET_RATES) == 0)
        return true;
    for (j = 0; j < FT_JOINTS; j++)
        if (!(ft_size((ft_real)m->rate[j]) < FT_C(1e6)))
            return false;
    return true;
}

/* Keep a target with a velocity. The tick follows this target immediately. */
static void keep(ft_targets *t, const ft_msg_target *m, uint32_t due)
{
    const uint32_t slot = (t->newest + 1u) & 1u;
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        t->to[slot][j] = t->knot[j] = allowed(t, j, m->position[j]);
        t->to_velocity[slot][j] = t->ended ? 0.0f : m->rate[j];
    }
    t->newest_at = due;
    FT_STORED();
    t->newest++;
}

/* Take the first target. The knots begin with it. */
static void begin(ft_targets *t, ft_reference *r, const ft_msg_target *m,
                  uint32_t now, const int64_t held[FT_JOINTS])
{
    t->offset = now - m->stamp;
    t->heard = now;
    t->chunk = m->chunk;
    t->direct = m->chunk == 0u && t->delay == 0u
                && (m->flags & FT_TARGET_RATES) != 0;
    t->at = m->stamp + m->ahead;
    t->before = t->mean_at = t->at - r->spacing;
    t->last = t->before;
    memcpy(t->knot, held, sizeof t->knot);
    memcpy(t->mean, held, sizeof t->mean);
    ft_reference_begin(r, held, t->at);
}

/* Forget all targets, and wait for new targets. */
void ft_targets_begin(ft_targets *t, ft_reference *r, uint32_t delay_us,
                      uint32_t frame)
{
    memset(t, 0, sizeof *t);
    t->spare = SPARE_US;
    t->delay = delay_us == FT_FOLLOW_AUTO ? FT_FOLLOW_DELAY : delay_us;
    frame = frame != 0u ? frame : FT_FOLLOW_FRAME;
    t->fixed = frame != 0u;
    t->frame = frame == 0u ? UNKNOWN_US
               : frame < FRAME_LEAST ? FRAME_LEAST
               : frame > FRAME_MOST ? FRAME_MOST : frame;
    r->head = 0;
    r->used = 0;
    space(t, r);
}

/* Return whether a target can be accepted: the target is later than the last
 * target or begins a chunk, and the ring has room. */
static bool welcome(ft_targets *t, ft_reference *r, const ft_msg_target *m,
                    uint32_t due, uint32_t playing)
{
    const bool anew = m->chunk != t->chunk;

    if (t->ended || !numbers(m) || (!anew && after(due, t->last) <= 0))
        return false;
    if (after(due, playing) > (int32_t)((FT_KNOTS - 4u) * r->spacing)
        || m->ahead > (uint32_t)INT32_MAX)
        return false;
    if (anew)
        go_back(t, r, due);
    else if (after(r->head, r->used) + (int32_t)t->skipped
             >= (int32_t)FT_KNOTS - 2)
        return false;
    return true;
}

/* Process a target. now: the board's clock. playing: the sender's time that is
 * played now. held: the joints' positions before the first target. */
void ft_targets_take(ft_targets *t, ft_reference *r, const ft_msg_target *m,
                     uint32_t now, uint32_t playing,
                     const int64_t held[FT_JOINTS])
{
    uint32_t due;

    if (!t->begun)
        begin(t, r, m, now, held);
    else
        compare_clocks(t, m->stamp, now);
    due = m->stamp + t->shift + m->ahead;
    if (t->begun)
        catch_up(t, r, due, now);
    if (!welcome(t, r, m, due, t->begun ? playing : due)) {
        t->refused++;
        return;
    }
    if (t->begun && m->chunk == t->chunk)
        find_frame(t, r, after(due, t->last));
    t->taken++;
    t->chunk = m->chunk;
    t->last = due;
    t->ended = (m->flags & FT_TARGET_END) != 0;
    if (t->direct && (m->flags & FT_TARGET_RATES) != 0)
        keep(t, m, due);
    else
        gather(t, r, m, due, now);
    t->heard = now;
    delay(t, r);
    FT_STORED();
    t->begun = true;
    t->known = t->fixed || t->intervals > 0u || t->chunk != 0u || t->direct
               || t->ended;
}
