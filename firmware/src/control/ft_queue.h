/* Segments of the path wait in a ring: the main loop pushes at the head, the
 * tick plays at the tail; neither ever writes what the other does. */
#ifndef FT_QUEUE_H
#define FT_QUEUE_H

#include "ft_config.h"   /* FT_RING */
#include "ft_messages.h" /* FT_KNOT_START, FT_KNOT_END */
#include "ft_path.h"     /* ft_opening, ft_crossing */
#include "ft_segment.h"  /* ft_segment, ft_knot */
#include "ft_step.h"     /* ft_pair */

#include <stdbool.h>
#include <stdint.h>

/* Keep what was stored or read before from being so after: between the main
 * loop and an interrupt of the same core only the compiler could reorder, and
 * it sees the whole image at once. */
#define FT_STORED() __asm__ volatile("" ::: "memory")

/* An entry's mark: none is 0, whichever segment it is of. */
#define FT_QUEUE_MARK(segment) (2u * (segment) + 1u)

typedef struct {
    /* of the tick */
    volatile bool flush;       /* asks the main loop to forget the ring */
    volatile uint32_t tail;    /* segments ever played */
    uint32_t ended;            /* motions ever played whole or forgotten */

    /* of the main loop */
    volatile uint32_t head;    /* segments ever pushed */
    volatile uint32_t ends;    /* motions ever pushed whole */
    bool open;                 /* its motion has no END yet */
    uint8_t begun;             /* FT_KNOT_START until its first segment */
    ft_knot last;              /* the knot pushed last */
    ft_opening openings[2];    /* of the next two knots */
    ft_pair entry[FT_STEP_PAIRS]; /* of the pose that a motion begins at */
    ft_turn begins[FT_JOINTS]; /* its positions half a tick before that */
    volatile uint32_t entered; /* mark of the segment that begins there, or 0 */
    ft_segment ring[FT_RING];
} ft_queue;

/* All of these are for the main loop. ft_queue_prepare_entry() is for the tick
 * too, at START. */
void ft_queue_open(ft_queue *q, const ft_knot *start);
ft_segment *ft_queue_slot(ft_queue *q);
void ft_queue_push(ft_queue *q, const ft_knot *knot);
void ft_queue_prepare(ft_queue *q, const ft_crossing *step);
void ft_queue_prepare_entry(ft_queue *q);
void ft_queue_idle(ft_queue *q);

/* Leave the tail behind: of the tick. */
static inline void ft_queue_pass(ft_queue *q)
{
    q->tail++;
}

/* Return how many segments are not yet played. */
static inline uint32_t ft_queue_buffered(const ft_queue *q)
{
    return q->head - q->tail;
}

/* Return how many more segments the ring can take. */
static inline uint32_t ft_queue_credit(const ft_queue *q)
{
    return FT_RING - ft_queue_buffered(q);
}

/* Return whether the motion being played is buffered to its END. */
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

/* Return the segment being played, or the next one to be. */
static inline const ft_segment *ft_queue_tail(const ft_queue *q)
{
    return ft_queue_segment(q, q->tail);
}

/* Return the place of a segment's opening; it may be one of another. */
static inline const ft_opening *ft_queue_opening(const ft_queue *q,
                                                 uint32_t segment)
{
    return &q->openings[segment & 1u];
}

#endif
