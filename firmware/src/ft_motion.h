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

/* So far ahead is looked for another mode. */
#define FT_MOTION_AHEAD 0xFFFFu

/* Targets known: of this tick's boundary and of those FT_LEAD + 1 ahead. */
#define FT_MOTION_SLOTS (FT_LEAD + 2u)

/* What the joints should do at one tick boundary. */
typedef struct {
    ft_turn q[FT_JOINTS];
    ft_real rate[FT_JOINTS]; /* mean of one tick about the boundary */
} ft_target;

/* What a tick needs when it passes a knot at pace 1, formed by the link
 * before: the sample across the knot, and exact sines and cosines after it. */
typedef struct {
    uint32_t segment;          /* that the knot begins, counted like tail */
    int32_t at;                /* path units from the knot to s_(k+1), or 0 */
    ft_sample next;
    ft_real bend[FT_JOINTS];
    ft_pair pairs[FT_STEP_PAIRS];
} ft_opening;

typedef struct {
    /* of the link */
    ft_segment ring[FT_RING];
    volatile uint32_t head; /* segments ever pushed */
    volatile uint32_t ends; /* motions ever pushed whole */
    ft_knot last;           /* the knot pushed last */
    ft_opening openings[2]; /* of the next two knots */
    bool open;              /* its motion has no END yet */
    uint8_t begun;          /* FT_KNOT_START until its first segment */

    /* of the tick */
    volatile uint32_t tail; /* segments ever played */
    volatile bool flush;    /* asks the link to forget the ring */
    uint32_t ended;         /* motions ever played whole or forgotten */
    uint32_t played;        /* segments since START */
    ft_motion_phase phase;
    bool brake;             /* on the way to a pause */
    bool underrun;          /* because knots ran out */
    int32_t at;             /* path units from the tail's knot to s_k */
    int32_t stride;         /* path units from s_(k-1) to s_k; 0: from rest */
    ft_pace pace;
    ft_sample next;            /* at s_(k+1) */
    ft_real bend[FT_JOINTS];   /* what a knot between s_k and s_(k+1) adds to
                                  the next du */
    uint32_t mode;             /* of the mechanism at s_k */
    uint32_t left;             /* ticks of it, up to FT_MOTION_AHEAD */
    const ft_pair *pairs;      /* to be taken by the step after it, or 0 */
    ft_target due[FT_MOTION_SLOTS]; /* of this tick's boundary and later ones */
    uint32_t now;               /* which of them is this tick's */
    uint32_t rested;            /* ticks without motion, up to all slots */
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
void ft_motion_hold(ft_motion *m, const ft_turn q[FT_JOINTS]);
bool ft_motion_playable(const ft_motion *m);
void ft_motion_start(ft_motion *m);
void ft_motion_brake(ft_motion *m);
void ft_motion_resume(ft_motion *m);
void ft_motion_forget(ft_motion *m);
uint32_t ft_motion_tick(ft_motion *m);
const ft_segment *ft_motion_tail(const ft_motion *m);

/* Return whether every target of the last motion has been due. */
static inline bool ft_motion_settled(const ft_motion *m)
{
    return m->rested >= FT_MOTION_SLOTS;
}

/* The slots of targets, round and round. */
static inline uint32_t ft_motion_after(uint32_t slot)
{
    return slot + 1u < FT_MOTION_SLOTS ? slot + 1u : 0u;
}

static inline uint32_t ft_motion_before(uint32_t slot)
{
    return slot > 0u ? slot - 1u : FT_MOTION_SLOTS - 1u;
}

/* Return what the joints should do now. */
static inline const ft_target *ft_motion_target(const ft_motion *m)
{
    return &m->due[m->now];
}

/* Return what they should do at the next boundary. */
static inline const ft_target *ft_motion_coming(const ft_motion *m)
{
    return &m->due[ft_motion_after(m->now)];
}

/* Return what they should do at the last boundary that is known. */
static inline const ft_target *ft_motion_newest(const ft_motion *m)
{
    return &m->due[ft_motion_before(m->now)];
}

#endif
