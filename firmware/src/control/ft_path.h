/* Samples of the path: within one segment, and across the knot between two.
 *
 * A place in a segment is the path time since the segment's first knot, in
 * whole path units (ft_pace.h). These functions keep no state. */
#ifndef FT_PATH_H
#define FT_PATH_H

#include "ft_config.h"  /* FT_TICKS_PER_KNOT, FT_TICK_HZ */
#include "ft_pace.h"    /* FT_HALF_ONE */
#include "ft_segment.h" /* ft_segment, ft_weights */
#include "ft_step.h"    /* ft_sample */

#include <stdbool.h>
#include <stdint.h>

#define FT_PATH_TICK (2 * FT_HALF_ONE) /* path units of a tick at pace 1 */
#define FT_PATH_SEGMENT (FT_PATH_TICK * (int32_t)FT_TICKS_PER_KNOT)
#define FT_PATH_SECONDS \
    (FT_C(0.5) / (ft_real)FT_HALF_ONE / (ft_real)FT_TICK_HZ)

/* Targets of the joints at one tick boundary. */
typedef struct {
    ft_turn q[FT_JOINTS];
    ft_real u[FT_JOINTS]; /* half the displacement between the tick's middles
                           * before and after the boundary */
} ft_target;

/* A step from one segment into the next, from s_k to s_(k+1). */
typedef struct {
    uint32_t segment;       /* number of the next segment, like the tail */
    int32_t from, boundary; /* places of s_k and of the boundary in the earlier
                             * segment */
    int32_t to;             /* place of s_(k+1) in the next segment */
} ft_crossing;

/* An opening: the samples of a step across a knot, computed in advance. */
typedef struct {
    ft_crossing of; /* 0 in `to`: not formed */
    ft_target target;
    ft_sample next;
    ft_real bend[FT_JOINTS]; /* the change at the knot that falls into the next
                              * step */
} ft_opening;

/* Convert a place to path time, s. */
static FT_INLINE ft_real ft_path_seconds(int32_t at)
{
    return (ft_real)at * FT_PATH_SECONDS;
}

/* Return weights of half the displacement in a segment. Middle and length are
 * integers, since rounded ends would make the length noisy. */
static FT_INLINE ft_weights ft_path_half_displacement(int32_t from, int32_t to)
{
    const ft_real half = FT_C(0.5) * FT_PATH_SECONDS;

    return ft_segment_increment((ft_real)(from + to) * half,
                                (ft_real)(to - from) * half);
}

/* Return the weights for the change of half the displacement between two steps
 * that meet at a place. Both steps have the same length. */
static inline ft_weights ft_path_half_change(int32_t from, int32_t stride)
{
    return ft_segment_change(ft_path_seconds(from), ft_path_seconds(stride));
}

/* Return whether two steps across a knot are the same. */
static inline bool ft_path_same(const ft_crossing *a, const ft_crossing *b)
{
    return a->segment == b->segment && a->to == b->to && a->from == b->from
           && a->boundary == b->boundary;
}

void ft_path_place(ft_turn q[FT_JOINTS], const ft_segment *g, int32_t at);
void ft_path_within(ft_target *t, ft_sample *next, const ft_segment *g,
                    int32_t from, int32_t boundary, int32_t to);
void ft_path_across(ft_target *t, ft_sample *next, const ft_segment *before,
                    const ft_segment *after, const ft_crossing *step);
void ft_path_change_across(ft_real du[FT_JOINTS], ft_real bend[FT_JOINTS],
                           const ft_segment *before, const ft_segment *after,
                           int32_t from, int32_t to);

#endif
