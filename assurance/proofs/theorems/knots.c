/* The check of received knots and their ring buffer, wire/ft_knots.c and
 * control/ft_queue.c.
 *
 * The functions for the fit, the speed and the span of a segment are stubs that
 * return any value. The proof records the calls of these stubs. In the proof
 * the ring has 8 segments. The code requires only that the number of segments
 * is a power of two. */
#include "proof.h"

#include "ft_config.h"
#undef FT_RING
#define FT_RING 8u

#include "ft_config.c"
#include "ft_knots.c"
#include "ft_queue.c"

static ft_queue q;
static ft_alarms alarms;
static ft_msg_knot message;
static int32_t coarse[FT_JOINTS];

/* ---- questions about a segment ------------------------------------------ */

static uint32_t built;
static const ft_quintic *asked[FT_JOINTS]; /* with requested spans */
static uint32_t spans;
static bool fast, far; /* a stub has returned a value above its limit */

void ft_segment_build(ft_segment *g, const ft_knot *from, const ft_knot *to)
{
    CLAIM(g == &q.ring[q.head & (FT_RING - 1u)]);
    CLAIM(from == &q.last && to != from);
    built++;
}

ft_real ft_segment_velocity(const ft_quintic *p, ft_real t)
{
    const ft_real v = nondet_float();
    const uint32_t j = (uint32_t)(p - q.ring[q.head & (FT_RING - 1u)].joint);

    CLAIM(j < FT_JOINTS && t > FT_C(0.0) && t < T);
    fast = fast || !(ft_size(v) <= FT_C(1.05) * ft_joint[j].speed);
    return v;
}

ft_real ft_segment_span(const ft_quintic *p)
{
    const ft_real span = nondet_float();
    const uint32_t j = (uint32_t)(p - q.ring[q.head & (FT_RING - 1u)].joint);

    CLAIM(j < FT_JOINTS);
    asked[j] = p;
    spans++;
    far = far || !(span <= ft_joint[j].span);
    return span;
}

void ft_path_across(ft_target *t, ft_sample *next, const ft_segment *before,
                    const ft_segment *after, const ft_crossing *step) { }

void ft_path_change_across(ft_real du[FT_JOINTS], ft_real bend[FT_JOINTS],
                           const ft_segment *before, const ft_segment *after,
                           int32_t from, int32_t to) { }

void ft_path_place(ft_turn at[FT_JOINTS], const ft_segment *g, int32_t place)
{
    CLAIM(g == ft_queue_tail(&q));
}

void ft_step_pairs(const ft_turn at[FT_JOINTS], ft_pair pairs[FT_STEP_PAIRS])
{
}

static void any_state(void)
{
    ANYTHING(q);
    ANYTHING(alarms);
    ANYTHING(message);
    ANYTHING(coarse);
    ANYTHING(place);
    mode = nondet_u8();
    GIVEN(ft_queue_buffered(&q) <= FT_RING);
}

/* Return whether a knot is within one joint's limits and less than half a turn
 * from the previous knot. */
static bool within_limits(uint32_t j, int32_t before)
{
    const ft_joint_config *c = &ft_joint[j];
    const int32_t at =
        (int32_t)(uint32_t)((uint64_t)message.position[j] >> FT_COARSE);
    const int32_t on = (int32_t)((uint32_t)at - (uint32_t)before);
    const int32_t half = (int32_t)1 << (31 - FT_COARSE); /* half of a turn */
    const bool still =
        (message.flags & (FT_KNOT_START | FT_KNOT_END)) != 0;
    const float most = c->speed * (still ? FT_C(0.001) : FT_C(1.001));

    return at >= c->lower && at <= c->upper
           && on < half && on >= -half
           && ft_size(message.rate[j]) <= most
           && ft_size(message.acceleration[j]) < FT_C(1e30);
}

/* For any message, an accepted knot is within every joint's limits of position
 * and velocity. The knot's acceleration is finite. An accepted knot is less
 * than half a turn from the previous knot, counted in whole turns. At the
 * beginning or end of a motion, an accepted knot is at rest. For every joint,
 * ft_knots.c has checked the span of the segment to this knot, and its speed at
 * three points. A rejected knot changes no waiting segment. The board then
 * reports a fault of an existing joint, or waits until the knot is sent again.
 * Positions are sent modulo 256 turns.
 * Run: unwind=12 mechanisms=three_link,six_axis */
void prove_knots_taken(void)
{
    const uint32_t j = below(FT_JOINTS), i = below(FT_RING);
    const bool starts = (any_state(),
                         (message.flags & FT_KNOT_START) != 0);
    const uint32_t head = q.head, tail = q.tail;
    const bool empty = head == tail;
    int32_t before;
    ft_real waits;
    bool taken;

    before = starts && empty ? coarse[j] : place[j];
    GIVEN(i < ft_queue_buffered(&q));
    waits = q.ring[(tail + i) & (FT_RING - 1u)].joint[j].c[0];
    alarms.set.of[FT_ALARM_KNOT] = 0;
    taken = ft_knots_take(&q, &message, coarse, &alarms);
    CLAIM(q.tail == tail && ft_queue_buffered(&q) <= FT_RING);
    CLAIM(q.head == head + (taken && !starts ? 1u : 0u));
    CLAIM(!taken || within_limits(j, before));
    CLAIM(!taken || starts || (built == 1u && spans == FT_JOINTS
                               && asked[j] != 0 && !fast && !far));
    CLAIM(!taken || alarms.set.of[FT_ALARM_KNOT] == 0u);
    CLAIM(alarms.set.of[FT_ALARM_KNOT] == 0u
          || alarms.knot_joint < FT_JOINTS
          || alarms.knot_joint == FT_NO_JOINT);
    CLAIM(waits != waits
          || waits == q.ring[(tail + i) & (FT_RING - 1u)].joint[j].c[0]);
    END;
}

/* A knot that the board does not expect, or for which the ring has no space, is
 * not accepted and raises no fault. The host sends it again.
 * Run: unwind=12 */
void prove_knots_full(void)
{
    any_state();
    alarms.set.of[FT_ALARM_KNOT] = 0;
    GIVEN(q.flush || ((message.flags & FT_KNOT_START) == 0
                      && (!q.open || ft_queue_buffered(&q) == FT_RING)));
    CLAIM(!ft_knots_take(&q, &message, coarse, &alarms));
    CLAIM(alarms.set.of[FT_ALARM_KNOT] == 0u);
    END;
}

/* A push increases the number of waiting segments by one, for any count,
 * including the wrap from 2^32
 * - 1 to 0. The number of waiting END marks is correct. After the path is
 *   discarded no segment waits.
 * Run: unwind=10 */
void prove_queue_push(void)
{
    const ft_knot knot = q.last;
    uint32_t buffered, ends;
    bool end;

    any_state();
    buffered = ft_queue_buffered(&q);
    GIVEN(buffered < FT_RING);
    CLAIM(ft_queue_credit(&q) == FT_RING - buffered);
    end = (ft_queue_slot(&q)->flags & FT_KNOT_END) != 0;
    ends = q.ends - q.ended;
    ft_queue_push(&q, &knot);
    CLAIM(ft_queue_buffered(&q) == buffered + 1u);
    CLAIM(q.ends - q.ended == ends + (end ? 1u : 0u) && q.open == !end);
    q.flush = nondet_bool();
    end = q.flush;
    ft_queue_idle(&q);
    CLAIM(!q.flush && (!end || (ft_queue_buffered(&q) == 0u && !q.open
                                && !ft_queue_whole(&q))));
    END;
}

/* Numbers that are computed in advance for a knot are marked with exactly the
 * step to this knot. The numbers with which a motion begins are marked with the
 * motion's first segment. The theorem queue_struck concerns ticks during this
 * computation.
 * Run: unwind=10 mechanisms=three_link,five_bar */
void prove_queue_prepare(void)
{
    ft_crossing step;

    any_state();
    ANYTHING(step);
    GIVEN(step.to > 0);
    ft_queue_prepare(&q, &step);
    CLAIM((ft_queue_segment(&q, step.segment)->flags & FT_KNOT_START) != 0
          || ft_path_same(&ft_queue_opening(&q, step.segment)->of, &step));
    ft_queue_prepare_entry(&q);
    CLAIM((ft_queue_tail(&q)->flags & FT_KNOT_START) == 0
          || q.entered == FT_QUEUE_MARK(q.tail));
    END;
}
