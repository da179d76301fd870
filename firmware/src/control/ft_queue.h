/* The ring in which segments of the path wait. The main loop pushes at the
 * head, and the tick plays at the tail. Neither writes the other's members. */
#ifndef FT_QUEUE_H
#define FT_QUEUE_H

#include "ft_config.h"   /* FT_RING */
#include "ft_messages.h" /* FT_KNOT_START, FT_KNOT_END */
#include "ft_path.h"     /* ft_opening, ft_crossing */
#include "ft_segment.h"  /* ft_segment, ft_knot */
#include "ft_step.h"     /* ft_pair */

#include <stdbool.h>
#include <stdint.h>

/* Keep the compiler from moving loads and stores across this line. Main loop
 * and interrupt run on one core. */
#define FT_STORED() __asm__ volatile("" ::: "memory")

/* Return a nonzero mark for the number of a segment. */
#define FT_QUEUE_MARK(segment) (2u * (segment) + 1u)

typedef struct {
    /* of the tick */
    volatile bool flush;       /* asks the main loop to empty the ring */
    volatile uint32_t tail;    /* segments ever played */
    uint32_t ended;            /* motions played or dropped so far */

    /* of the main loop */
    volatile uint32_t head;    /* segments ever pushed */
    volatile uint32_t ends;    /* complete motions pushed so far */
    bool open;                 /* the motion has no END yet */
    uint8_t begun;             /* FT_KNOT_START until the first segment */
    ft_knot last;              /* the last knot that was pushed */
    ft_opening openings[2];    /* of the next two knots */
    ft_pair entry[FT_STEP_PAIRS]; /* sines and cosines of a first pose */
    ft_turn begins[FT_JOINTS]; /* positions half a tick before the first pose */
    volatile uint32_t entered; /* its segment's mark, or 0 */
    ft_segment ring[FT_RING];
} ft_queue;

/* For the main loop. Functions for the main loop. At START the tick also calls
 * ft_queue_prepare_entry(). */
void ft_queue_open(ft_queue *q, const ft_knot *start);
ft_segment *ft_queue_slot(ft_queue *q);
void ft_queue_push(ft_queue *q, const ft_knot *knot);
void ft_queue_prepare(ft_queue *q, const ft_crossing *step);
void ft_queue_prepare_entry(ft_queue *q);
void ft_queue_idle(ft_queue *q);

/* Leave the tail's segment. For the tick. */
static inline void ft_queue_pass(ft_queue *q)
{
    q->tail++;
}

/* Return the number of segments that are not yet played. */
static inline uint32_t ft_queue_buffered(const ft_queue *q)
{
    return q->head - q->tail;
}

/* Return the number of segments that the ring can still take. */
static inline uint32_t ft_queue_credit(const ft_queue *q)
{
    return FT_RING - ft_queue_buffered(q);
}

/* Return whether the played motion is buffered up to its END. */
static inline bool ft_queue_whole(const ft_queue *q)
{
    return q->ends != q->ended;
}

/* Return a segment by its number, counted like the tail. */
static inline const ft_segment *ft_queue_segment(const ft_queue *q,
                                                 uint32_t segment)
{
    return &q->ring[segment & (FT_RING - 1u)];
}

/* Return the segment that is played now, or that will be played next. */
static inline const ft_segment *ft_queue_tail(const ft_queue *q)
{
    return ft_queue_segment(q, q->tail);
}

/* Return the slot of a segment's opening, perhaps with another opening. */
static inline const ft_opening *ft_queue_opening(const ft_queue *q,
                                                 uint32_t segment)
{
    return &q->openings[segment & 1u];
}

#endif
