/* The motion: path time runs over the segments in a queue. Only the tick
 * changes the motion, except for the head of the queue (ft_queue.h).
 *
 * Tick k samples the motion at three places. s_k is the middle of the interval
 * in which this tick's duty is held. s_(k+1) is the middle of the next
 * interval. t_(k+1+FT_LEAD) is the boundary between these intervals.
 *
 * A motion that slows down changes only the pace of path time. The arm stays on
 * its path and comes to rest on the path, before the last knot. */
#ifndef FT_MOTION_H
#define FT_MOTION_H

#include "ft_config.h" /* FT_LEAD */
#include "ft_pace.h"   /* ft_pace */
#include "ft_path.h"   /* ft_target, ft_crossing */
#include "ft_queue.h"  /* ft_queue */
#include "ft_step.h"   /* ft_sample, ft_pair */

#include <stdbool.h>
#include <stdint.h>

/* The phase of a motion. */
typedef enum {
    FT_MOTION_IDLE,    /* no segment is left to play */
    FT_MOTION_RUNNING,
    FT_MOTION_PAUSED   /* at rest on the path, before its end */
} ft_motion_phase;

/* Result of the motion's tick: 0 or an event of ft_events.h. */
#define FT_MOTION_NOTHING 0u

/* Value of `left` if no mode change is near. */
#define FT_MOTION_AHEAD 0xFFFFu

/* Known targets: this tick's boundary, and FT_LEAD + 1 boundaries ahead. */
#define FT_MOTION_SLOTS (FT_LEAD + 2u)

typedef struct {
    /* members that a tick reads often come first */
    ft_sample next;            /* at s_(k+1) */
    ft_target due[FT_MOTION_SLOTS]; /* targets, in a ring: */
    ft_target *now;            /* of this tick's boundary */
    ft_target *newest;         /* target of the last boundary, t_(k+1+L); u from
                                * s_k to s_(k+1) */
    ft_target *before;         /* of the boundary before */
    uint32_t rested;           /* ticks without motion, up to FT_MOTION_SLOTS */
    uint32_t mode;             /* of the mechanism at s_k */
    uint32_t left;             /* remaining ticks of this mode, up to
                                * FT_MOTION_AHEAD */
    int32_t stride;            /* path units of the last step, 0 at rest */
    ft_real bend[FT_JOINTS];   /* part of the next du from a knot between s_k
                                * and s_(k+1) */
    int32_t at;                /* path units from the tail's knot to s_k */
    ft_pace pace;
    ft_motion_phase phase;
    bool brake;                /* on the way to a pause */
    bool underrun;             /* the reason is a lack of knots */
    uint32_t played;           /* segments since START */
    ft_queue queue;            /* the longest comes last */
} ft_motion;

/* of the tick */
void ft_motion_clear(ft_motion *m);
void ft_motion_hold(ft_motion *m, const ft_turn q[FT_JOINTS]);
bool ft_motion_playable(const ft_motion *m);
const ft_pair *ft_motion_start(ft_motion *m);
void ft_motion_brake(ft_motion *m);
void ft_motion_resume(ft_motion *m);
void ft_motion_forget(ft_motion *m);
uint32_t ft_motion_tick(ft_motion *m);

/* of the main loop, between two ticks */
void ft_motion_prepare(ft_motion *m);

/* Return whether the last motion's targets have all been due. */
static inline bool ft_motion_settled(const ft_motion *m)
{
    return m->rested >= FT_MOTION_SLOTS;
}

/* Stop playing the path here, as after a stop. Keep the next sample. */
static inline void ft_motion_leave(ft_motion *m)
{
    if (m->phase == FT_MOTION_RUNNING)
        m->phase = FT_MOTION_PAUSED;
    m->pace.half = m->pace.slope = 0;
}

/* Return the slot after this slot in the ring. */
static inline ft_target *ft_motion_after(ft_motion *m, ft_target *slot)
{
    return slot + 1 < m->due + FT_MOTION_SLOTS ? slot + 1 : m->due;
}

/* Advance by a boundary. Its slot is reused FT_LEAD + 1 ticks ahead. */
static inline void ft_motion_turn(ft_motion *m)
{
    ft_target *past = m->now;

    m->now = ft_motion_after(m, past);
    m->before = m->newest;
    m->newest = past;
}

#endif
