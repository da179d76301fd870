/* Plays the path; see ft_motion.h. */
#include "ft_motion.h"

#include "ft_events.h"   /* FT_EVENT_PAUSED, FT_EVENT_ENDED */
#include "ft_messages.h" /* FT_KNOT_START, FT_KNOT_END */
#include "ft_number.h"   /* FT_UNROLL, FT_ONE_ADDRESS */

#include <string.h> /* memcpy, memset */

#define LENGTH FT_PATH_SEGMENT

/* ---- pace ------------------------------------------------------------- */

/* Return the path units from the tail's knot to the last buffered knot. */
static uint64_t ahead(const ft_motion *m)
{
    return (uint64_t)ft_queue_buffered(&m->queue) * (uint64_t)LENGTH;
}

/* Return whether the motion can stop from this pace before the path ends. */
static bool can_stop(const ft_motion *m, int32_t boundary, ft_pace pace)
{
    int64_t reached = (int64_t)boundary + (int64_t)ft_pace_stop_length(pace);

    return reached <= (int64_t)ahead(m);
}

/* Return whether the motion slows down in the interval after the boundary. The
 * reason is a request, or a lack of knots for a later stop. */
static inline bool slows(const ft_motion *m, int32_t boundary)
{
    const ft_pace on = ft_pace_run(m->pace);

    return m->brake
           || !(ft_queue_whole(&m->queue)
                || can_stop(m, boundary + 2 * on.half, on));
}

/* Return the pace of the interval after the boundary. */
static inline ft_pace next_pace(const ft_motion *m, int32_t boundary)
{
    return slows(m, boundary) ? ft_pace_brake(m->pace) : ft_pace_run(m->pace);
}

/* ---- start and stop ----------------------------------------------------- */

/* Begin without any path. */
void ft_motion_clear(ft_motion *m)
{
    memset(m, 0, sizeof *m);
    m->now = m->due;
    m->newest = &m->due[FT_MOTION_SLOTS - 1u];
    m->before = &m->due[FT_MOTION_SLOTS - 2u];
}

/* Set all samples to rest at q. */
void ft_motion_hold(ft_motion *m, const ft_turn q[FT_JOINTS])
{
    ft_target *first = m->due;
    uint32_t j, i;

    m->rested = FT_MOTION_SLOTS;
    m->stride = 0;
    m->left = FT_MOTION_AHEAD;
    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        m->next.u[j] = m->next.du[j] = first->u[j] = FT_C(0.0);
        m->next.q[j] = first->q[j] = q[j];
    }
    FT_UNROLL
    for (i = 1; i < FT_MOTION_SLOTS; i++)
        m->due[i] = *first;
}

/* Return whether the buffered motion can be started. */
bool ft_motion_playable(const ft_motion *m)
{
    const ft_pace one = { FT_HALF_ONE, 0 };
    const ft_queue *q = &m->queue;

    return !q->flush && ft_queue_buffered(q) > 0u
           && (ft_queue_tail(q)->flags & FT_KNOT_START) != 0
           && (ft_queue_whole(q) || can_stop(m, 0, one));
}

/* Start a motion at its first knot, which is due at the next tick boundary. The
 * path begins half a tick earlier, so that the first interval has the torque of
 * its middle. Return the sines and cosines of the first pose. Usually the main
 * loop has computed the sines and cosines in advance. If another motion has
 * just ended, the tick computes the sines and cosines, with the same result. */
const ft_pair *ft_motion_start(ft_motion *m)
{
    ft_queue_prepare_entry(&m->queue);
    m->phase = FT_MOTION_RUNNING;
    m->brake = m->underrun = false;
    m->pace.half = FT_HALF_ONE;
    m->pace.slope = 0;
    m->at = -FT_HALF_ONE;
    m->played = 0;
    memcpy(m->next.q, m->queue.begins, sizeof m->next.q);
    return m->queue.entry;
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

/* Drop the path. The joints hold their present targets. */
void ft_motion_forget(ft_motion *m)
{
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++)
        m->next.u[j] = m->next.du[j] = FT_C(0.0);
    m->phase = FT_MOTION_IDLE;
    m->pace.half = m->pace.slope = 0;
    m->queue.flush = true;
}

/* ---- samples ---------------------------------------------------------- */

/* Return the main loop's samples of a step across a knot, or 0. */
static const ft_opening *take_opening(ft_motion *m, const ft_crossing *step)
{
    const ft_opening *o = ft_queue_opening(&m->queue, step->segment);

    if (!ft_path_same(&o->of, step))
        return 0;
    *m->newest = o->target;
    memcpy(m->next.q, o->next.q, sizeof m->next.q);
    memcpy(m->next.u, o->next.u, sizeof m->next.u);
    return o;
}

/* Sample a step across a knot. Return the samples that the main loop has
 * computed. At a pace other than 1 these samples may be missing. This function
 * then computes the samples and returns 0. */
static const ft_opening *sample_across(ft_motion *m, const ft_segment *next,
                                       int32_t boundary, int32_t to)
{
    const ft_crossing step = { m->queue.tail + 1u, m->at, boundary,
                               to - LENGTH };

    const ft_opening *formed = take_opening(m, &step);

    if (formed == 0)
        ft_path_across(m->newest, &m->next, ft_queue_tail(&m->queue), next,
                       &step);
    return formed;
}

/* Return the segment after the tail g if the step ends there, else 0. */
static inline const ft_segment *entered(const ft_motion *m,
                                        const ft_segment *g, int32_t to)
{
    const ft_queue *q = &m->queue;

    if (to <= LENGTH || (g->flags & FT_KNOT_END) != 0)
        return 0;
    return ft_queue_segment(q, q->tail + 1u);
}

/* Compute du / 2 within a segment, after a step of the same length. */
static void change_within(ft_motion *m, const ft_segment *g, int32_t stride)
{
    const ft_weights within = ft_path_half_change(m->at, stride);
    uint32_t j;

    FT_UNROLL
    for (j = 0; j < FT_JOINTS; j++) {
        m->next.du[j] = ft_segment_sum(&g->joint[j], &within) + m->bend[j];
        m->bend[j] = FT_C(0.0);
    }
}

/* Compute du / 2 into the next segment if the main loop has not. */
static void change_at_knot(ft_motion *m, const ft_segment *next,
                           const ft_opening *o, int32_t to)
{
    ft_opening here;
    uint32_t j;

    if (o == 0) {
        ft_path_change_across(here.next.du, here.bend,
                              ft_queue_tail(&m->queue), next, m->at,
                              to - LENGTH);
        o = &here;
    }
    for (j = 0; j < FT_JOINTS; j++) {
        m->next.du[j] = o->next.du[j] + m->bend[j];
        m->bend[j] = o->bend[j];
    }
}

/* Compute du / 2: from the path for equal steps, else from the last u. */
static void change(ft_motion *m, const ft_segment *g, const ft_segment *next,
                   const ft_opening *formed, int32_t to,
                   const ft_real before[FT_JOINTS])
{
    int32_t stride = to - m->at;

    if (next != 0)
        change_at_knot(m, next, formed, to);
    else
        change_within(m, g, stride);
    if (stride != m->stride) {
        uint32_t j;

        for (j = 0; j < FT_JOINTS; j++)
            m->next.du[j] = FT_C(0.5) * (m->next.u[j] - before[j]);
    }
    m->stride = stride;
}

/* Sample one step of the path from the tail g: between the middles of two
 * intervals, and at the boundary between both intervals. */
static inline void sample(ft_motion *m, const ft_segment *g, int32_t boundary,
                          int32_t to)
{
    const ft_segment *next = entered(m, g, to);
    const ft_opening *formed = 0;
    ft_real before[FT_JOINTS];

    memcpy(before, m->next.u, sizeof before);
    if (next == 0)
        ft_path_within(m->newest, &m->next, g, m->at, boundary, to);
    else
        formed = sample_across(m, next, boundary, to);
    change(m, g, next, formed, to, before);
}

/* Hold the targets of the last boundary. */
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

/* Leave the segment once the interval's middle is beyond its last knot. */
static void pass_knot(ft_motion *m)
{
    if (m->at <= LENGTH)
        return;
    m->at -= LENGTH;
    ft_queue_pass(&m->queue);
    m->played++;
}

/* End the motion. The joints rest at the end of the path. */
static uint32_t arrive(ft_motion *m)
{
    m->phase = FT_MOTION_IDLE;
    m->pace.half = m->pace.slope = 0;
    ft_queue_pass(&m->queue);
    m->played++;
    m->queue.ended++;
    return FT_EVENT_ENDED;
}

/* Store the mode at s_k and the ticks for which it lasts. Look no further ahead
 * than the ramp of the modes' forces. */
static void look_ahead(ft_motion *m)
{
#if FT_MODED
    const ft_queue *q = &m->queue;
    uint32_t far = FT_STEP_RAMP / FT_TICKS_PER_KNOT + 2u, n = 1;
    uint32_t there = ft_queue_buffered(q);

    m->mode = ft_queue_tail(q)->mode;
    m->left = FT_MOTION_AHEAD;
    while (n < there && n < far
           && ft_queue_segment(q, q->tail + n)->mode == m->mode)
        n++;
    if (n < there && n < far)
        m->left = (n - 1u) * (uint32_t)FT_TICKS_PER_KNOT
                  + (uint32_t)(LENGTH - m->at + FT_HALF_ONE)
                        / (uint32_t)FT_PATH_TICK;
#else
    (void)m;
#endif
}

/* Play one tick of the path. In the last tick the boundary is the END, and the
 * second half of the step lies beyond the END. */
static uint32_t advance(ft_motion *m)
{
    const ft_segment *g = ft_queue_tail(&m->queue);
    int32_t boundary = m->at + m->pace.half, left;
    bool last, arrives;

    FT_ONE_ADDRESS(g);
    last = (g->flags & FT_KNOT_END) != 0;
    arrives = last && boundary >= LENGTH;
    look_ahead(m);
    if (arrives) {
        left = m->pace.half - (boundary - LENGTH);
        left = left > 0 ? left : 0;
        boundary = LENGTH;
    } else {
        if (!m->brake && slows(m, boundary))
            m->brake = m->underrun = true;
        m->pace = m->brake ? ft_pace_brake(m->pace) : ft_pace_run(m->pace);
        left = m->pace.half;
    }
    sample(m, g, boundary, boundary + left);
    if (arrives)
        return arrive(m);
    m->at = boundary + left;
    if (!last)
        pass_knot(m);
    if (!m->brake || left > 0)
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
    if (!ft_motion_settled(m)) { /* otherwise all targets are equal */
        m->rested++;
        m->left = FT_MOTION_AHEAD;
        rest(m);
    }
    return FT_MOTION_NOTHING;
}

/* ---- between two ticks, by the main loop ------------------------------- */

/* Return the offset of the samples from the knots at pace 1, in path units. The
 * offset stays the same until the next stop. Return 0 at any other pace. */
static int32_t phase(const ft_motion *m)
{
    int32_t beyond = m->at % FT_PATH_TICK;

    if (m->phase != FT_MOTION_RUNNING)
        return FT_HALF_ONE;
    if (m->pace.half != FT_HALF_ONE || slows(m, m->at + FT_HALF_ONE))
        return 0;
    return beyond > 0 ? beyond : beyond + FT_PATH_TICK;
}

/* Return the step at pace 1 that crosses the knot before a segment. */
static ft_crossing at_pace(uint32_t segment, int32_t to)
{
    const ft_crossing step = { segment, LENGTH + to - FT_PATH_TICK,
                               LENGTH + to - FT_HALF_ONE, to };

    return step;
}

/* Return the next step as a step across the next knot, to a stop or to pace 1.
 * Without a knot in it, `to` is not positive. */
static ft_crossing on_the_way(const ft_motion *m)
{
    const int32_t boundary = m->at + m->pace.half;
    const int32_t to = boundary + next_pace(m, boundary).half - LENGTH;
    const ft_crossing step = { m->queue.tail + 1u, m->at, boundary, to };

    return step;
}

/* Give the next known steps across knots, at most two. Return their number. */
static uint32_t crossings(const ft_motion *m, ft_crossing next[2])
{
    uint32_t tail = m->queue.tail, buffered = m->queue.head - tail;
    int32_t to = phase(m);

    if (buffered < 2u)
        return 0;
    next[0] = to > 0 ? at_pace(tail + 1u, to) : on_the_way(m);
    if (to == 0)
        return next[0].to > 0 ? 1u : 0u;
    next[1] = at_pace(tail + 2u, to);
    return buffered > 2u ? 2u : 1u;
}

/* Compute the numbers that the next tick needs. If the tick comes too early,
 * the tick computes the numbers itself. */
void ft_motion_prepare(ft_motion *m)
{
    ft_crossing next[2];
    uint32_t i, n = crossings(m, next);

    if (m->phase == FT_MOTION_IDLE && ft_queue_buffered(&m->queue) > 0u)
        ft_queue_prepare_entry(&m->queue);
    for (i = 0; i < n; i++)
        ft_queue_prepare(&m->queue, &next[i]);
}
