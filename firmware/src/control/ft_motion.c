/* Playing the path; see ft_motion.h. */
#include "ft_motion.h"

#include "ft_messages.h" /* FT_KNOT_START, FT_KNOT_END */
#include "ft_findings.h" /* FT_RARE, FT_APART */
#include "ft_number.h"   /* FT_UNROLL */
#include "ft_events.h"   /* FT_EVENT_PAUSED, FT_EVENT_ENDED */

#include <string.h> /* memcpy, memset */

/* path units of one segment */
#define TICK (2 * FT_HALF_ONE) /* at pace 1 */
#define LENGTH (TICK * (int32_t)FT_TICKS_PER_KNOT)
#define TO_T (FT_C(0.5) / (ft_real)FT_HALF_ONE / (ft_real)FT_TICK_HZ) /* s */

/* ---- places of the path ------------------------------------------------ */

/* Return path units as path time, s. */
static FT_INLINE ft_real seconds(int32_t at)
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
static FT_INLINE ft_weights half_way(int32_t from, int32_t to)
{
    const ft_real half = FT_C(0.5) * TO_T;

    return ft_segment_increment((ft_real)(from + to) * half,
                                (ft_real)(to - from) * half);
}

/* ---- samples ---------------------------------------------------------- */

/* Sample half the way between two places of one segment, the position at a
 * boundary between them, and that at the second. Beyond the END a polynomial
 * goes on: by half a tick at most. */
static FT_APART void sample_within(ft_target *t, ft_sample *next,
                                   const ft_segment *g, int32_t from,
                                   int32_t boundary, int32_t to)
{
    const ft_weights way = half_way(from, to);
    const ft_weights here = ft_segment_powers(seconds(boundary));
    const ft_weights there = ft_segment_powers(seconds(to));
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        const ft_quintic *p = &g->joint[j];
        const ft_real per_unit = ft_joint[j].per_unit;
        const ft_real u = ft_segment_sum(p, &way);
        const ft_turn at = ft_segment_position(p, &here, per_unit);

        if (FT_STEP_USES_POSITIONS)
            next->q[j] = ft_segment_position(p, &there, per_unit);
        t->q[j] = at;
        t->u[j] = next->u[j] = u;
    }
}

/* The same from a place in one segment to a place in the next: half the way
 * in two pieces. The tick itself has to do it off pace 1 only. */
static FT_RARE void sample_over(ft_target *t, ft_sample *s,
                                const ft_segment *tail,
                                const ft_segment *next, int32_t from,
                                int32_t boundary, int32_t to)
{
    const ft_weights left = half_way(from, LENGTH), on = half_way(0, to);
    const ft_weights there = ft_segment_powers(seconds(to));
    const bool after = boundary >= LENGTH;
    const ft_weights here = ft_segment_powers(
        seconds(after ? boundary - LENGTH : boundary));
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        const ft_quintic *p = &tail->joint[j], *n = &next->joint[j];
        const ft_real per_unit = ft_joint[j].per_unit;
        const ft_real u = ft_segment_sum(p, &left) + ft_segment_sum(n, &on);
        const ft_turn at = ft_segment_position(after ? n : p, &here, per_unit);

        s->q[j] = ft_segment_position(n, &there, per_unit);
        t->q[j] = at;
        t->u[j] = s->u[j] = u;
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

/* ---- pace ------------------------------------------------------------- */

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

/* Return whether the motion slows down in the interval that begins at the
 * boundary: it is asked to, or knots would run out before a later stop. */
static inline bool slows(const ft_motion *m, int32_t boundary)
{
    const ft_pace on = ft_pace_run(m->pace);

    return m->brake
           || !(whole(m) || can_stop(m, boundary + 2 * on.half, on));
}

/* Return the pace of the interval that begins at the boundary. */
static inline ft_pace next_pace(const ft_motion *m, int32_t boundary)
{
    return slows(m, boundary) ? ft_pace_brake(m->pace) : ft_pace_run(m->pace);
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
        o->to = 0; /* of a path forgotten */
    m->last = *knot;
    m->open = !end;
    m->begun = 0;
    FT_STORED();
    m->ends += end ? 1u : 0u;
    m->head++;
}

/* Return how far beyond knots the samples fall at pace 1; 0: not at pace 1.
 * It stays so until the next stop. */
static int32_t phase(const ft_motion *m)
{
    int32_t beyond = m->at % TICK;

    if (m->phase != FT_MOTION_RUNNING)
        return FT_HALF_ONE;
    if (m->pace.half != FT_HALF_ONE || slows(m, m->at + FT_HALF_ONE))
        return 0;
    return beyond > 0 ? beyond : beyond + TICK;
}

/* Return whether an opening is the one of these places. */
static inline bool fits(const ft_opening *o, uint32_t segment, int32_t from,
                        int32_t boundary, int32_t to)
{
    return o->segment == segment && o->to == to && o->from == from
           && o->boundary == boundary;
}

/* Form the opening of one segment. A tick in between sees none. */
static void prepare(ft_motion *m, uint32_t segment, int32_t from,
                    int32_t boundary, int32_t to)
{
    const ft_segment *tail = &m->ring[(segment - 1u) & (FT_RING - 1u)];
    const ft_segment *next = &m->ring[segment & (FT_RING - 1u)];
    ft_opening *o = opening(m, segment);

    if (fits(o, segment, from, boundary, to)
        || (next->flags & FT_KNOT_START) != 0)
        return;
    o->to = 0;
    FT_STORED();
    sample_over(&o->target, &o->next, tail, next, from, boundary, to);
    if (FT_STEP_USES_CHANGES)
        change_over(tail, next, from, to, o->next.du, o->bend);
    if (FT_STEP_EXACT_AT_KNOTS)
        ft_step_pairs(o->next.q, o->pairs);
    o->segment = segment;
    o->from = from;
    o->boundary = boundary;
    FT_STORED();
    o->to = to;
}

/* Form the opening of a knot that is passed at pace 1. */
static void prepare_at_pace(ft_motion *m, uint32_t segment, int32_t to)
{
    prepare(m, segment, LENGTH + to - TICK, LENGTH + to - FT_HALF_ONE, to);
}

/* Form the opening of the knot that the next tick passes, if it does, on the
 * way to a stop or to pace 1. */
static void prepare_on_the_way(ft_motion *m)
{
    const uint32_t segment = m->tail + 1u;
    const int32_t from = m->at, boundary = from + m->pace.half;
    const int32_t to = boundary + next_pace(m, boundary).half - LENGTH;

    if (to > 0)
        prepare(m, segment, from, boundary, to);
}

/* Give the positions that a segment begins at. */
static void beginning(const ft_segment *g, ft_turn q[FT_JOINTS])
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        q[j] = g->joint[j].q0;
}

/* Form what START needs of the pose that the buffered motion begins at. */
static void prepare_entry(ft_motion *m)
{
    const ft_segment *first = ft_motion_tail(m);
    uint32_t mark = m->tail + 1u;
    ft_turn q[FT_JOINTS];

    if (m->entered == mark || (first->flags & FT_KNOT_START) == 0)
        return;
    m->entered = 0;
    FT_STORED();
    beginning(first, q);
    ft_step_pairs(q, m->entry);
    FT_STORED();
    m->entered = mark;
}

/* Form what the tick will need next. Should it come before that, it forms
 * that itself. */
void ft_motion_prepare(ft_motion *m)
{
    uint32_t tail = m->tail, buffered = m->head - tail;
    int32_t to = phase(m);

    if (m->phase == FT_MOTION_IDLE && buffered > 0u)
        prepare_entry(m);
    if (to == 0 && buffered > 1u)
        prepare_on_the_way(m);
    if (to > 0 && buffered > 1u)
        prepare_at_pace(m, tail + 1u, to);
    if (to > 0 && buffered > 2u)
        prepare_at_pace(m, tail + 2u, to);
}

/* Forget the ring when the tick has asked for it. */
void ft_motion_idle(ft_motion *m)
{
    if (!m->flush)
        return;
    m->head = m->tail;
    m->ends = m->ended;
    m->open = false;
    m->entered = 0;
    FT_STORED();
    m->flush = false;
}

/* ---- the tick's side -------------------------------------------------- */

/* Return the segment being played, or the next one to be. */
const ft_segment *ft_motion_tail(const ft_motion *m)
{
    return &m->ring[m->tail & (FT_RING - 1u)];
}

/* Return the sines and cosines of the pose that the buffered motion begins
 * at. The link has formed them, unless the last motion has only just ended;
 * forming them in the middle of its doing so changes nothing of the result. */
const ft_pair *ft_motion_entry(ft_motion *m)
{
    prepare_entry(m);
    return m->entry;
}

/* Begin without any path. */
void ft_motion_clear(ft_motion *m)
{
    memset(m, 0, sizeof *m);
    m->now = m->due;
    m->newest = &m->due[FT_MOTION_SLOTS - 1u];
    m->before = &m->due[FT_MOTION_SLOTS - 2u];
}

/* Stay at q, at rest, as if it had always been so. */
void ft_motion_hold(ft_motion *m, const ft_turn q[FT_JOINTS])
{
    uint32_t j, i;

    m->rested = FT_MOTION_SLOTS;
    m->stride = 0;
    m->left = FT_MOTION_AHEAD;
    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        m->next.u[j] = m->next.du[j] = FT_C(0.0);
        m->next.q[j] = q[j];
        for (i = 0; i < FT_MOTION_SLOTS; i++) {
            m->due[i].q[j] = q[j];
            m->due[i].u[j] = FT_C(0.0);
        }
    }
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

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++)
        m->next.u[j] = m->next.du[j] = FT_C(0.0);
    m->phase = FT_MOTION_IDLE;
    m->pace.half = m->pace.slope = 0;
    m->flush = true;
}

/* Take the samples across a knot as the link has formed them, if it has. */
static bool take_opening(ft_motion *m, int32_t boundary, int32_t to)
{
    const ft_opening *o = opening(m, m->tail + 1u);

    if (!fits(o, m->tail + 1u, m->at, boundary, to))
        return false;
    *m->newest = o->target;
    memcpy(m->next.q, o->next.q, sizeof m->next.q);
    memcpy(m->next.u, o->next.u, sizeof m->next.u);
    m->pairs = o->pairs;
    return true;
}

/* Return the segment after the tail if the step to a place leads into it. */
static const ft_segment *entered(const ft_motion *m, int32_t to)
{
    if (to <= LENGTH || (ft_motion_tail(m)->flags & FT_KNOT_END) != 0)
        return 0;
    return &m->ring[(m->tail + 1u) & (FT_RING - 1u)];
}

/* Sample the path between two middles and at the boundary between them. */
static inline void sample_path(ft_motion *m, int32_t boundary, int32_t to)
{
    const ft_segment *tail = ft_motion_tail(m), *next = entered(m, to);

    if (next == 0)
        sample_within(m->newest, &m->next, tail, m->at, boundary, to);
    else if (!take_opening(m, boundary, to - LENGTH))
        sample_over(m->newest, &m->next, tail, next, m->at, boundary,
                    to - LENGTH);
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
static inline void sample(ft_motion *m, int32_t boundary, int32_t to)
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
    ft_target *t = m->newest;
    const ft_target *last = m->before;
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++) {
        m->next.du[j] = FT_C(-0.5) * m->next.u[j];
        m->next.u[j] = t->u[j] = FT_C(0.0);
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
    ft_pace next;

    look_ahead(m);
    if (last && boundary >= LENGTH)
        return arrive(m, boundary - LENGTH);
    if (!m->brake && slows(m, boundary))
        m->brake = m->underrun = true;
    next = m->brake ? ft_pace_brake(m->pace) : ft_pace_run(m->pace);
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
    ft_motion_turn(m);
    if (m->phase == FT_MOTION_RUNNING) {
        m->rested = 0;
        return advance(m);
    }
    m->rested += ft_motion_settled(m) ? 0u : 1u;
    m->left = FT_MOTION_AHEAD;
    rest(m);
    return FT_MOTION_NOTHING;
}
