/* The motion: segments wait in a ring, path time runs over them.
 *
 * The link pushes at the head, the tick plays at the tail; neither ever
 * writes what the other does. At tick k the motion is sampled at the middle
 * of the interval in which this tick's duty is held, s_k, one interval ahead
 * of it, s_(k+1), and at the boundary between the two, t_(k+1+FT_LEAD).
 *
 * Slowing down changes the pace of path time only: the arm stays on its path
 * and comes to rest on it, before the last knot there is. */
#ifndef FT_MOTION_H
#define FT_MOTION_H

#include "ft_config.h"  /* FT_RING, FT_LEAD */
#include "ft_pace.h"    /* ft_pace */
#include "ft_segment.h" /* ft_segment */
#include "ft_step.h"    /* FT_STEP_USES_POSITIONS */

#include <stdbool.h>
#include <stdint.h>

/* Keep what was stored before from being stored after: between the main loop
 * and an interrupt of the same core only the compiler could reorder. */
#define FT_STORED() __asm__ volatile("" ::: "memory")

/* Why a motion is not running. */
typedef enum {
    FT_MOTION_IDLE,    /* nothing of it is left to play */
    FT_MOTION_RUNNING,
    FT_MOTION_PAUSED   /* at rest on the path, more of it ahead */
} ft_motion_phase;

/* What a tick of it brought: 0 or an event of ft_safety.h. */
#define FT_MOTION_NOTHING 0u

/* How many ticks ahead to look for a mode change. */
#define FT_MOTION_AHEAD 0xFFFFu

/* Targets known: of this tick's boundary and of those FT_LEAD + 1 ahead. */
#define FT_MOTION_SLOTS (FT_LEAD + 2u)

/* What the joints should do at one tick boundary. */
typedef struct {
    ft_turn q[FT_JOINTS];
    ft_real u[FT_JOINTS]; /* half the way from the middle before to that after
                           * it: the mean rate, times half a tick */
} ft_target;

/* What a tick needs when it passes a knot, formed by the link before: the
 * samples across the knot, and exact sines and cosines after it. */
typedef struct {
    uint32_t segment;      /* that the knot begins, counted like tail */
    int32_t from, boundary; /* path units from the knot before to s_k and to
                             * the boundary, */
    int32_t to;            /* and from this one to s_(k+1); 0: not formed */
    ft_target target;
    ft_sample next;
    ft_real bend[FT_JOINTS];
    ft_pair pairs[FT_STEP_PAIRS];
} ft_opening;

typedef struct {
    /* of the tick; all that it reads often comes first, within the reach of
     * one load */
    ft_sample next;            /* at s_(k+1) */
    ft_target due[FT_MOTION_SLOTS]; /* targets, round and round: */
    ft_target *now;            /* of this tick's boundary */
    ft_target *newest;         /* of the last one known, t_(k+1+L): its u leads
                                * from s_k to s_(k+1) */
    ft_target *before;         /* of the one before that */
    uint32_t rested;           /* ticks without motion, up to all slots */
    uint32_t mode;             /* of the mechanism at s_k */
    uint32_t left;             /* ticks of it, up to FT_MOTION_AHEAD */
    int32_t stride;            /* path units of the last step; 0: from rest */
    ft_real bend[FT_JOINTS];   /* what a knot between s_k and s_(k+1) adds to
                                * the next du */
    const ft_pair *pairs;      /* to be taken by the step after it, or 0 */
    int32_t at;                /* path units from the tail's knot to s_k */
    ft_pace pace;
    ft_motion_phase phase;
    bool brake;                /* on the way to a pause */
    bool underrun;             /* because knots ran out */
    volatile bool flush;       /* asks the link to forget the ring */
    volatile uint32_t tail;    /* segments ever played */
    uint32_t ended;            /* motions ever played whole or forgotten */
    uint32_t played;           /* segments since START */

    /* of the link */
    volatile uint32_t head;    /* segments ever pushed */
    volatile uint32_t ends;    /* motions ever pushed whole */
    bool open;                 /* its motion has no END yet */
    uint8_t begun;             /* FT_KNOT_START until its first segment */
    ft_knot last;              /* the knot pushed last */
    ft_opening openings[2];    /* of the next two knots */
    ft_pair entry[FT_STEP_PAIRS]; /* of the pose that a motion begins at */
    volatile uint32_t entered; /* 1 + the segment that begins there, or 0 */
    ft_segment ring[FT_RING];
} ft_motion;

/* the link's side */
void ft_motion_open(ft_motion *m, const ft_knot *start);
ft_segment *ft_motion_slot(ft_motion *m);
void ft_motion_push(ft_motion *m, const ft_knot *knot);
void ft_motion_idle(ft_motion *m);
void ft_motion_prepare(ft_motion *m);
uint32_t ft_motion_credit(const ft_motion *m);
uint32_t ft_motion_buffered(const ft_motion *m);

/* the tick's side */
void ft_motion_clear(ft_motion *m);
void ft_motion_hold(ft_motion *m, const ft_turn q[FT_JOINTS]);
bool ft_motion_playable(const ft_motion *m);
void ft_motion_start(ft_motion *m);
void ft_motion_brake(ft_motion *m);
void ft_motion_resume(ft_motion *m);
void ft_motion_forget(ft_motion *m);
uint32_t ft_motion_tick(ft_motion *m);
const ft_segment *ft_motion_tail(const ft_motion *m);
const ft_pair *ft_motion_entry(ft_motion *m);

/* Return whether every target of the last motion has been due. */
static inline bool ft_motion_settled(const ft_motion *m)
{
    return m->rested >= FT_MOTION_SLOTS;
}

/* Return the slot after one, round and round. */
static inline ft_target *ft_motion_after(ft_motion *m, ft_target *slot)
{
    return slot + 1 < m->due + FT_MOTION_SLOTS ? slot + 1 : m->due;
}

/* Go on by a boundary: the slot of the one that is past is for the one
 * FT_LEAD + 1 ticks from now. */
static inline void ft_motion_turn(ft_motion *m)
{
    ft_target *past = m->now;

    m->now = ft_motion_after(m, past);
    m->before = m->newest;
    m->newest = past;
    m->pairs = 0;
}

#endif
