/* Playing the path, control/ft_motion.c, and the reading side of the ring
 * buffer.
 *
 * Braking is a stub that slows down in any way. `left` is the length of path
 * that braking still plays from the middle s_k on. Every tick of braking
 * reduces `left`. By the theorem pace_stops, `left` is at most
 * ft_pace_stop_length() at each pace. In this proof the sum of a segment's
 * quintics is any number. The theorem path_samples concerns the quintics. One
 * invariant, well(), holds after the start of a motion. Every tick keeps the
 * invariant, for any segments that the main loop adds in between. In the proof
 * the ring has 8 segments. The code requires only that the number of segments
 * is a power of two. */
#include "proof.h"

#include "ft_config.h"
#undef FT_RING
#define FT_RING 8u

#include "ft_segment.h"

/* A replacement for ft_segment_sum(). The tick calls this inline function for
 * each joint, so the linker cannot replace it. */
static ft_real any_sum(const ft_quintic *p, const ft_weights *w);

#define ft_segment_sum any_sum
#include "ft_motion.c"
#undef ft_segment_sum

static ft_motion m;
static int64_t left, left_braking, left_running; /* now, after this tick */
static ft_pace risen, lowered;

ft_sample nondet_sample(void);

/* ---- the pace ----------------------------------------------------------- */

static bool possible(ft_pace p)
{
    return p.half >= 0 && p.half <= FT_HALF_ONE && p.slope >= -FT_RAMP - 1
           && p.slope <= FT_RAMP + 1;
}

static bool same(ft_pace a, ft_pace b)
{
    return a.half == b.half && a.slope == b.slope;
}

ft_pace ft_pace_brake(ft_pace p)
{
    const ft_pace next = { (int32_t)nondet_u32(), (int32_t)nondet_u32() };

    CLAIM(same(p, m.pace));
    left_braking = left - p.half - next.half;
    GIVEN(possible(next) && left_braking >= 0);
    lowered = next;
    return next;
}

ft_pace ft_pace_rise(ft_pace p)
{
    CLAIM(same(p, m.pace));
    return risen;
}

uint32_t ft_pace_stop_length(ft_pace p)
{
    const uint32_t most = nondet_u32();

    GIVEN(most >= left_running && most < (uint32_t)1 << 30);
    return most;
}

/* ---- samples ------------------------------------------------------------ */

static ft_real any_sum(const ft_quintic *p, const ft_weights *w)
{
    CLAIM(__CPROVER_r_ok(p, sizeof *p) && __CPROVER_r_ok(w, sizeof *w));
    return nondet_float();
}

/* Return whether a segment waits in the ring, or is being played. */
static bool waits(const ft_segment *g, uint32_t ahead)
{
    return ft_queue_buffered(&m.queue) > ahead
           && g == &m.queue.ring[(m.queue.tail + ahead) & (FT_RING - 1u)];
}

void ft_path_within(ft_target *t, ft_sample *next, const ft_segment *g,
                    int32_t from, int32_t boundary, int32_t to)
{
    CLAIM(waits(g, 0) && t == m.newest && next == &m.next);
    CLAIM(from >= -FT_HALF_ONE && from <= LENGTH + FT_HALF_ONE);
    CLAIM(boundary >= -FT_HALF_ONE && boundary <= LENGTH);
    CLAIM(to >= -FT_HALF_ONE && to <= LENGTH + FT_HALF_ONE);
    *next = nondet_sample();
}

void ft_path_across(ft_target *t, ft_sample *next, const ft_segment *before,
                    const ft_segment *after, const ft_crossing *step)
{
    CLAIM(waits(before, 0) && waits(after, 1));
    CLAIM(step->from <= LENGTH && step->boundary >= step->from);
    CLAIM(step->to > 0 && step->to <= FT_PATH_TICK);
}

void ft_path_change_across(ft_real du[FT_JOINTS], ft_real bend[FT_JOINTS],
                           const ft_segment *before, const ft_segment *after,
                           int32_t from, int32_t to)
{
    CLAIM(waits(before, 0) && waits(after, 1));
    CLAIM(from <= LENGTH && to > 0);
}

void ft_queue_prepare_entry(ft_queue *q) { }

static uint32_t prepared;

void ft_queue_prepare(ft_queue *q, const ft_crossing *step)
{
    const uint32_t on = step->segment - q->tail;

    prepared++;
    CLAIM(on >= 1u && on < ft_queue_buffered(q));
    CLAIM(step->to > 0);
}

/* ---- the invariant ------------------------------------------------------ */

/* Return the number of waiting motions that have their END mark. */
static uint32_t ends(void)
{
    uint32_t i, n = 0;

    for (i = 0; i < FT_RING; i++)
        if (i < ft_queue_buffered(&m.queue)
            && (ft_queue_segment(&m.queue, m.queue.tail + i)->flags
                & FT_KNOT_END) != 0)
            n++;
    return n;
}

/* Return the largest sampled position: the last knot, or half a tick beyond it
 * after an END. */
static int32_t farthest(void)
{
    const bool last = (ft_queue_tail(&m.queue)->flags & FT_KNOT_END) != 0;

    return last ? LENGTH + FT_HALF_ONE : LENGTH;
}

/* Return whether the path in the ring is long enough for stopping on it. */
static bool enough(void)
{
    return ft_queue_whole(&m.queue)
           || (int64_t)m.at + left
                  <= (int64_t)ft_queue_buffered(&m.queue) * LENGTH;
}

static bool well_kept(void)
{
    const uint32_t slot = (uint32_t)(m.now - m.due);
    const uint32_t n = FT_MOTION_SLOTS;

    return m.newest == &m.due[(slot + n - 1u) % n]
           && m.before == &m.due[(slot + n - 2u) % n]
           && ft_queue_buffered(&m.queue) <= FT_RING
           && m.queue.ends - m.queue.ended == ends()
           && m.rested <= FT_MOTION_SLOTS && m.stride >= -FT_HALF_ONE
           && m.stride <= FT_PATH_TICK;
}

static bool well(void)
{
    const bool plays = m.phase != FT_MOTION_IDLE;

    return well_kept() && (uint32_t)m.phase <= FT_MOTION_PAUSED
           && (!plays
               || (ft_queue_buffered(&m.queue) > 0u && !m.queue.flush
                   && possible(m.pace) && m.at >= -FT_HALF_ONE
                   && m.at <= farthest() && left >= 0 && enough()
                   && (m.phase == FT_MOTION_RUNNING || m.pace.half == 0)));
}

static void any_state(void)
{
    const uint32_t slot = nondet_u32() % FT_MOTION_SLOTS;

    ANYTHING(m);
    left = (int64_t)nondet_u32();
    left_running = (int64_t)nondet_u32();
    risen.half = (int32_t)nondet_u32();
    risen.slope = (int32_t)nondet_u32();
    m.now = &m.due[slot];
    m.newest = &m.due[(slot + FT_MOTION_SLOTS - 1u) % FT_MOTION_SLOTS];
    m.before = &m.due[(slot + FT_MOTION_SLOTS - 2u) % FT_MOTION_SLOTS];
    GIVEN(possible(risen) && left < (int64_t)1 << 30 && well());
}

/* Every tick of the motion keeps the invariant. The tail never passes the head,
 * and only pushed segments are played. Unless the ring contains the END of the
 * motion, the motion can always stop before the last knot. Positions in a
 * segment are within the segment, extended by half a tick, and targets are in
 * their slots. A tick returns no event, or PAUSED at rest, or ENDED at an END
 * mark. While the motion must slow down, its pace is the next smaller pace of
 * the braking ramp. The theorem pace_stops bounds the number of these ticks.
 * Assumes: pace_stops, which bounds the length of path that is played while
 * stopping.
 * Run: unwind=10 slice seconds=600 mechanisms=three_link,biped,five_bar,flexible_arm */
void prove_motion_tick(void)
{
    const uint32_t before = (any_state(), ft_queue_buffered(&m.queue));
    const bool ran = m.phase == FT_MOTION_RUNNING, braked = m.brake;
    const bool end = (ft_queue_tail(&m.queue)->flags & FT_KNOT_END) != 0;
    const uint32_t event = ft_motion_tick(&m);

    left = m.pace.half == 0 && m.phase != FT_MOTION_RUNNING ? 0
           : m.brake ? left_braking : left_running;
    CLAIM(well());
    CLAIM(ft_queue_buffered(&m.queue) <= before);
    CLAIM(event == FT_MOTION_NOTHING
          || (event == FT_EVENT_PAUSED && ran && m.phase == FT_MOTION_PAUSED)
          || (event == FT_EVENT_ENDED && ran && end));
    CLAIM(!ran || !braked || event != FT_MOTION_NOTHING
          || (m.brake && same(m.pace, lowered)));
    CLAIM(ran || event == FT_MOTION_NOTHING);
    END;
}

/* Four functions keep the invariant: the start of a motion that can be played,
 * the resumption of a paused motion, a stop, and discarding the path. A stop
 * makes the motion brake.
 * Run: unwind=10 mechanisms=three_link,five_bar */
void prove_motion_requests(void)
{
    const ft_pace one = { FT_HALF_ONE, 0 };

    any_state();
    switch (nondet_u8() % 4u) {
    case 0:
        GIVEN(m.phase == FT_MOTION_IDLE && ft_motion_playable(&m));
        CLAIM(ft_motion_start(&m) == m.queue.entry);
        CLAIM(same(m.pace, one));
        left = left_running; /* at pace 1 */
        break;
    case 1:
        GIVEN(m.phase == FT_MOTION_PAUSED && !m.queue.flush);
        ft_motion_resume(&m);
        break;
    case 2:
        ft_motion_brake(&m);
        CLAIM(m.brake);
        break;
    default:
        ft_motion_forget(&m);
        CLAIM(m.phase == FT_MOTION_IDLE && m.queue.flush);
    }
    CLAIM(well());
    END;
}

/* The main loop computes numbers in advance only for knots between existing
 * segments, and for at most two knots.
 * Run: unwind=10 mechanisms=three_link,five_bar */
void prove_motion_prepare(void)
{
    any_state();
    ft_motion_prepare(&m);
    CLAIM(prepared <= 2u);
    END;
}

/* Without a path all targets are equal to the joints' positions, at rest.
 * Run: unwind=10 mechanisms=three_link,five_bar */
void prove_motion_hold(void)
{
    ft_turn q[FT_JOINTS];
    uint32_t j, i;

    any_state();
    if (nondet_bool())
        ft_motion_clear(&m);
    ANYTHING(q);
    ft_motion_hold(&m, q);
    CLAIM(well_kept() && ft_motion_settled(&m));
    for (j = 0; j < FT_JOINTS; j++)
        for (i = 0; i < FT_MOTION_SLOTS; i++)
            CLAIM(m.due[i].q[j] == q[j] && m.due[i].u[j] == FT_C(0.0)
                  && m.next.u[j] == FT_C(0.0));
    END;
}
