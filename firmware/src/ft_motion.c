/* Playing the path; see ft_motion.h. */
#include "ft_motion.h"

#include "ft_messages.h" /* FT_KNOT_START, FT_KNOT_END */
#include "ft_number.h"   /* FT_UNROLL */
#include "ft_safety.h"   /* FT_EVENT_PAUSED, FT_EVENT_ENDED */

#include <string.h> /* memcpy */

/* path units of one segment */
#define TICK (2 * FT_HALF_ONE) /* at pace 1 */
#define LENGTH (TICK * (int32_t)FT_TICKS_PER_KNOT)
#define TO_T (FT_C(0.5) / (ft_real)FT_HALF_ONE / (ft_real)FT_TICK_HZ) /* s */
#define RATE_OF_U (FT_C(2.0) * (ft_real)FT_TICK_HZ)

/* ---- places of the path ------------------------------------------------ */

/* Return path units as path time, s. */
static ft_real seconds(int32_t at)
{
    return (ft_real)at * TO_T;
}

/* Return the weights of the change, from the step before it to that one, of
 * half the way on from a place in steps of one length. */
static ft_weights half_change(int32_t from, int32_t stride)
{
    return ft_segment_change(seconds(from), seconds(stride));
}

/* Return the weights of half the way between two places of one segment. Its
 * middle and its length are formed in integers: rounded ends would make the
 * length noisy. */
static ft_weights half_way(int32_t from, int32_t to)
{
    const ft_real half = FT_C(0.5) * TO_T;

    return ft_segment_increment((ft_real)(from + to) * half,
                                (ft_real)(to - from) * half);
}

/* ---- the link's side -------------------------------------------------- */

/* Return how many more segments the ring can take. */
uint32_t ft_motion_credit(const ft_motion *m)
{
    return FT_RING - (m->head - m->tail);
}

/* Return how many segments are not yet played. */
uint32_t ft_motion_buffered(const ft_motion *m)
{
    return m->head - m->tail;
}

/* Begin a motion at its first knot. */
void ft_motion_open(ft_motion *m, const ft_knot *start)
{
    m->last = *start;
    m->open = true;
    m->begun = FT_KNOT_START;
}

static ft_opening *opening(ft_motion *m, uint32_t segment)
{
    return &m->openings[segment & 1u];
}

/* Return where the next segment goes. It is not seen until it is pushed. */
ft_segment *ft_motion_slot(ft_motion *m)
{
    return &m->ring[m->head & (FT_RING - 1u)];
}

/* Make the segment in the slot, which ends at this knot, part of the path. */
void ft_motion_push(ft_motion *m, const ft_knot *knot)
{
    bool end = (ft_motion_slot(m)->flags & FT_KNOT_END) != 0;
    ft_opening *o = opening(m, m->head);

    if (o->segment == m->head)
        o->at = 0; /* of a path forgotten */
    m->last = *knot;
    m->open = !end;
    m->begun = 0;
    FT_STORED();
    m->ends += end ? 1u : 0u;
    m->head++;
}

/* Sample from a place in one segment to a place in the next: half the way in
 * two pieces. */
static void sample_over(const ft_segment *tail, const ft_segment *next,
                        int32_t from, int32_t to, ft_sample *s)
{
    const ft_weights left = half_way(from, LENGTH), on = half_way(0, to);
    const ft_weights there = ft_segment_powers(seconds(to));
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        const ft_quintic *p = &next->joint[j];

        s->u[j] = ft_segment_sum(&tail->joint[j], &left)
                  + ft_segment_sum(p, &on);
        s->q[j] = ft_segment_position(p, &there, ft_joint[j].per_unit);
    }
}

/* Form half of what u changes by, over a step from one segment to the next
 * as long as the one before it: as if the first went on, and what the knot
 * adds to that now and in the next step. */
static void change_over(const ft_segment *tail, const ft_segment *next,
                        int32_t from, int32_t to, ft_real du[FT_JOINTS],
                        ft_real bend[FT_JOINTS])
{
    const ft_weights over = half_change(from, LENGTH + to - from);
    const ft_real before = seconds(from - LENGTH), after = seconds(to);
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        const ft_quintic *p = &tail->joint[j], *n = &next->joint[j];

        du[j] = ft_segment_sum(p, &over) + ft_segment_bend(p, n, after);
        bend[j] = -ft_segment_bend(p, n, before);
    }
}

/* Return how far beyond knots the samples fall at pace 1; 0: not at pace 1.
 * It stays so until the next stop. */
static int32_t phase(const ft_motion *m)
{
    int32_t beyond = m->at % TICK;

    if (m->phase != FT_MOTION_RUNNING)
        return FT_HALF_ONE;
    if (m->pace.half != FT_HALF_ONE)
        return 0;
    return beyond > 0 ? beyond : beyond + TICK;
}

/* Form the opening of one segment. A tick in between sees none. */
static void prepare(ft_motion *m, uint32_t segment, int32_t at)
{
    const ft_segment *tail = &m->ring[(segment - 1u) & (FT_RING - 1u)];
    const ft_segment *next = &m->ring[segment & (FT_RING - 1u)];
    ft_opening *o = opening(m, segment);

    if ((o->segment == segment && o->at == at)
        || (next->flags & FT_KNOT_START) != 0)
        return;
    o->at = 0;
    FT_STORED();
    sample_over(tail, next, LENGTH + at - TICK, at, &o->next);
    if (FT_STEP_USES_CHANGES)
        change_over(tail, next, LENGTH + at - TICK, at, o->next.du, o->bend);
    if (FT_STEP_EXACT_AT_KNOTS)
        ft_step_pairs(o->next.q, o->pairs);
    o->segment = segment;
    FT_STORED();
    o->at = at;
}

/* Form the openings of the knots that the tick will pass next. */
void ft_motion_prepare(ft_motion *m)
{
    uint32_t tail = m->tail, buffered = m->head - tail;
    int32_t at = phase(m);

    if (at > 0 && buffered > 1u)
        prepare(m, tail + 1u, at);
    if (at > 0 && buffered > 2u)
        prepare(m, tail + 2u, at);
}

/* Forget the ring when the tick has asked for it. */
void ft_motion_idle(ft_motion *m)
{
    if (!m->flush)
        return;
    m->head = m->tail;
    m->ends = m->ended;
    m->open = false;
    FT_STORED();
    m->flush = false;
}

/* ---- the tick's side -------------------------------------------------- */

/* Return the segment being played, or the next one to be. */
const ft_segment *ft_motion_tail(const ft_motion *m)
{
    return &m->ring[m->tail & (FT_RING - 1u)];
}

/* Stay at q, at rest, as if it had always been so. */
void ft_motion_hold(ft_motion *m, const ft_turn q[FT_JOINTS])
{
    uint32_t j, i;

    m->rested = FT_MOTION_SLOTS;
    m->stride = 0;
    m->left = FT_MOTION_AHEAD;
    for (j = 0; j < FT_JOINTS; j++) {
        m->next.u[j] = m->next.du[j] = FT_C(0.0);
        m->next.q[j] = q[j];
        for (i = 0; i < FT_MOTION_SLOTS; i++) {
            m->due[i].q[j] = q[j];
            m->due[i].rate[j] = FT_C(0.0);
        }
    }
}

/* Return whether the motion being played is buffered to its END. */
static bool whole(const ft_motion *m)
{
    return m->ends != m->ended;
}

/* Return the path units from the tail's knot to the last knot there is. */
static uint64_t ahead(const ft_motion *m)
{
    return (uint64_t)ft_motion_buffered(m) * (uint64_t)LENGTH;
}

/* Return whether a stop begun at a boundary with this pace ends on the path. */
static bool can_stop(const ft_motion *m, int32_t boundary, ft_pace pace)
{
    int64_t reached = (int64_t)boundary + (int64_t)ft_pace_stop_length(pace);

    return reached <= (int64_t)ahead(m);
}

/* Return whether the buffer begins with a motion that can be started. */
bool ft_motion_playable(const ft_motion *m)
{
    const ft_pace one = { FT_HALF_ONE, 0 };

    return !m->flush && ft_motion_buffered(m) > 0u
           && (ft_motion_tail(m)->flags & FT_KNOT_START) != 0
           && (whole(m) || can_stop(m, 0, one));
}

/* Play from the first knot of a motion, which is passed at the next boundary.
 * The path is taken half a tick backwards, so that the first interval's
 * torque is that of its own middle. */
void ft_motion_start(ft_motion *m)
{
    m->phase = FT_MOTION_RUNNING;
    m->brake = m->underrun = false;
    m->pace.half = FT_HALF_ONE;
    m->pace.slope = 0;
    m->at = -FT_HALF_ONE;
    m->played = 0;
}

/* Slow down along the path. */
void ft_motion_brake(ft_motion *m)
{
    m->brake = true;
}

/* Go on from a pause. */
void ft_motion_resume(ft_motion *m)
{
    m->phase = FT_MOTION_RUNNING;
    m->brake = m->underrun = false;
}

/* Drop the path. The joints stay where they are told to be now. */
void ft_motion_forget(ft_motion *m)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        m->next.u[j] = m->next.du[j] = FT_C(0.0);
    m->phase = FT_MOTION_IDLE;
    m->pace.half = m->pace.slope = 0;
    m->flush = true;
}

/* Return the pace of the interval that begins at the boundary. */
static ft_pace choose(ft_motion *m, int32_t boundary)
{
    ft_pace on = ft_pace_run(m->pace);

    if (!m->brake && !whole(m) && !can_stop(m, boundary + 2 * on.half, on))
        m->brake = m->underrun = true;
    return m->brake ? ft_pace_brake(m->pace) : on;
}

/* Sample within one segment. Beyond the END its polynomial goes on: by half a
 * tick at most. */
static void sample_within(ft_motion *m, ft_target *t, const ft_segment *g,
                          int32_t boundary, int32_t to)
{
    const ft_weights way = half_way(m->at, to);
    const ft_weights here = ft_segment_powers(seconds(boundary));
    const ft_weights there = ft_segment_powers(seconds(to));
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        const ft_quintic *p = &g->joint[j];
        const ft_real per_unit = ft_joint[j].per_unit;

        m->next.u[j] = ft_segment_sum(p, &way);
        t->rate[j] = m->next.u[j] * RATE_OF_U;
        t->q[j] = ft_segment_position(p, &here, per_unit);
        if (FT_STEP_USES_POSITIONS)
            m->next.q[j] = ft_segment_position(p, &there, per_unit);
    }
}

/* Form half of what u changes by over a step within one segment, as long as
 * the one before it. */
static void change_within(ft_motion *m, const ft_segment *g, int32_t stride)
{
    const ft_weights within = half_change(m->at, stride);
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        m->next.du[j] = ft_segment_sum(&g->joint[j], &within) + m->bend[j];
        m->bend[j] = FT_C(0.0);
    }
}

/* Give the target's positions where a segment is left for the next one. */
static void sample_boundary(ft_target *t, const ft_segment *tail,
                            const ft_segment *next, int32_t boundary)
{
    uint32_t j;

    if (boundary < LENGTH)
        ft_segment_positions(tail, seconds(boundary), t->q);
    else if (boundary > LENGTH)
        ft_segment_positions(next, seconds(boundary - LENGTH), t->q);
    else
        for (j = 0; j < FT_JOINTS; j++)
            t->q[j] = next->joint[j].q0;
}

/* Take the sample across a knot as the link has formed it, if it has. */
static bool take_opening(ft_motion *m, int32_t to)
{
    const ft_opening *o = opening(m, m->tail + 1u);

    if (o->segment != m->tail + 1u || o->at != to
        || m->at + TICK != LENGTH + to)
        return false;
    memcpy(m->next.q, o->next.q, sizeof m->next.q);
    memcpy(m->next.u, o->next.u, sizeof m->next.u);
    m->pairs = o->pairs;
    return true;
}

/* Return the target of the boundary FT_LEAD + 1 ticks from now: the slot of
 * the one that is past. */
static ft_target *aim(ft_motion *m)
{
    return &m->due[ft_motion_before(m->now)];
}

/* Return the segment after the tail if the step to a place leads into it. */
static const ft_segment *entered(const ft_motion *m, int32_t to)
{
    if (to <= LENGTH || (ft_motion_tail(m)->flags & FT_KNOT_END) != 0)
        return 0;
    return &m->ring[(m->tail + 1u) & (FT_RING - 1u)];
}

/* Sample the path between two middles and at the boundary between them. */
static void sample_path(ft_motion *m, int32_t boundary, int32_t to)
{
    const ft_segment *tail = ft_motion_tail(m), *next = entered(m, to);
    ft_target *t = aim(m);
    uint32_t j;

    if (next == 0) {
        sample_within(m, t, tail, boundary, to);
        return;
    }
    sample_boundary(t, tail, next, boundary);
    if (!take_opening(m, to - LENGTH))
        sample_over(tail, next, m->at, to - LENGTH, &m->next);
    for (j = 0; j < FT_JOINTS; j++)
        t->rate[j] = m->next.u[j] * RATE_OF_U;
}

/* Form half of what u changes by over a step into the next segment. */
static void change_at_knot(ft_motion *m, const ft_segment *next, int32_t to)
{
    ft_opening here;
    const ft_opening *o = &here;
    uint32_t j;

    if (m->pairs != 0) /* the opening has been taken */
        o = opening(m, m->tail + 1u);
    else
        change_over(ft_motion_tail(m), next, m->at, to - LENGTH, here.next.du,
                    here.bend);
    for (j = 0; j < FT_JOINTS; j++) {
        m->next.du[j] = o->next.du[j] + m->bend[j];
        m->bend[j] = o->bend[j];
    }
}

/* Form half of what u changes by: from the path itself while steps are equal,
 * otherwise as the difference from what it was before. */
static void change(ft_motion *m, int32_t to, const ft_real before[FT_JOINTS])
{
    const ft_segment *next = entered(m, to);
    int32_t stride = to - m->at;

    if (next != 0)
        change_at_knot(m, next, to);
    else
        change_within(m, ft_motion_tail(m), stride);
    if (stride != m->stride) {
        uint32_t j;

        for (j = 0; j < FT_JOINTS; j++)
            m->next.du[j] = FT_C(0.5) * (m->next.u[j] - before[j]);
    }
    m->stride = stride;
}

/* Sample one step of the path. */
static void sample(ft_motion *m, int32_t boundary, int32_t to)
{
    ft_real before[FT_JOINTS];

    if (FT_STEP_USES_CHANGES)
        memcpy(before, m->next.u, sizeof before);
    sample_path(m, boundary, to);
    if (FT_STEP_USES_CHANGES)
        change(m, to, before);
}

/* Stay where the boundary before this one was. */
static void rest(ft_motion *m)
{
    ft_target *t = aim(m);
    const ft_target *last = &m->due[ft_motion_before(ft_motion_before(m->now))];
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        m->next.du[j] = FT_C(-0.5) * m->next.u[j];
        m->next.u[j] = t->rate[j] = FT_C(0.0);
        m->next.q[j] = t->q[j] = last->q[j];
        m->bend[j] = FT_C(0.0);
    }
    m->stride = 0;
}

/* Leave the segment behind once the middle is beyond its last knot. */
static void pass_knot(ft_motion *m)
{
    if (m->at <= LENGTH)
        return;
    m->at -= LENGTH;
    m->tail++;
    m->played++;
}

/* Come to rest with the joints at the end of the path. */
static uint32_t arrive(ft_motion *m, int32_t overshoot)
{
    int32_t left = m->pace.half - overshoot;

    sample(m, LENGTH, LENGTH + (left > 0 ? left : 0));
    m->phase = FT_MOTION_IDLE;
    m->pace.half = m->pace.slope = 0;
    m->tail++;
    m->played++;
    m->ended++;
    return FT_EVENT_ENDED;
}

/* Note the mode at s_k, and how long it will last: as far as forces that come
 * and go with it have to know. */
static void look_ahead(ft_motion *m)
{
#if FT_STEP_MODES > 1
    uint32_t far = FT_STEP_RAMP / FT_TICKS_PER_KNOT + 2u, n = 1;
    uint32_t there = ft_motion_buffered(m);

    m->mode = ft_motion_tail(m)->mode;
    m->left = FT_MOTION_AHEAD;
    while (n < there && n < far
           && m->ring[(m->tail + n) & (FT_RING - 1u)].mode == m->mode)
        n++;
    if (n < there && n < far)
        m->left = (n - 1u) * (uint32_t)FT_TICKS_PER_KNOT
                  + (uint32_t)(LENGTH - m->at + FT_HALF_ONE) / (uint32_t)TICK;
#else
    (void)m;
#endif
}

/* Play one tick of the path. */
static uint32_t advance(ft_motion *m)
{
    bool last = (ft_motion_tail(m)->flags & FT_KNOT_END) != 0;
    int32_t boundary = m->at + m->pace.half;
    ft_pace next = choose(m, boundary);

    look_ahead(m);
    if (last && boundary >= LENGTH)
        return arrive(m, boundary - LENGTH);
    sample(m, boundary, boundary + next.half);
    m->at = boundary + next.half;
    m->pace = next;
    if (!last)
        pass_knot(m);
    if (!m->brake || next.half > 0)
        return FT_MOTION_NOTHING;
    m->phase = FT_MOTION_PAUSED;
    m->pace.slope = 0;
    return FT_EVENT_PAUSED;
}

/* Sample the motion for one tick. */
uint32_t ft_motion_tick(ft_motion *m)
{
    m->now = ft_motion_after(m->now);
    m->pairs = 0;
    if (m->phase == FT_MOTION_RUNNING) {
        m->rested = 0;
        return advance(m);
    }
    m->rested += ft_motion_settled(m) ? 0u : 1u;
    m->left = FT_MOTION_AHEAD;
    rest(m);
    return FT_MOTION_NOTHING;
}
