/* The reference of live targets: a cubic B-spline over the sender's frames.
 *
 * Knots wait in a ring. The main loop (ft_targets.h) adds knots at the head.
 * When a piece of the curve begins, the tick takes one more knot from the ring.
 * If that knot has not arrived, the last knot is repeated, and the reference
 * comes to rest at the last knot within two frames. A knot does not change
 * after the tick has taken it from the ring.
 *
 * Times are us of the sender's clock, and wrap. Positions are wire
 * positions. */
#ifndef FT_REFERENCE_H
#define FT_REFERENCE_H

#include "ft_model.h" /* FT_JOINTS, ft_real */
#include "ft_ramp.h"  /* ft_moving */

#include <stdbool.h>
#include <stdint.h>

#define FT_KNOTS 64u   /* size of the ring, a power of two */
#define FT_SUPPORT 4u  /* knots that form a piece of the curve */
#define FT_KEPT (FT_SUPPORT + 2u) /* and two before them */

typedef struct {
    uint32_t at, next;    /* times of this and of the next knot */
    bool end;             /* the joints come to rest at this knot */
    int64_t q[FT_JOINTS];
} ft_live_knot;

/* One joint's cubic in the present piece, relative to a base position. */
typedef struct {
    int64_t base;
    ft_real c[4]; /* coefficients of s^0 to s^3, rad or m per s^n */
} ft_cubic;

typedef struct {
    /* of the tick */
    volatile uint32_t used;      /* knots taken or repeated so far */
    volatile uint32_t due;       /* time of the next one */
    uint32_t times[FT_SUPPORT + 2u]; /* times of six knots; the piece goes
                                      * from times[2] to times[3] */
    int64_t q[FT_KEPT][FT_JOINTS];
    uint32_t same;               /* repetitions of the last knot; at FT_SUPPORT
                                  * the reference is at rest */
    bool ended;                  /* the tick has taken the END from the ring */
    ft_cubic joint[FT_JOINTS];

    /* of the main loop */
    volatile uint32_t head;      /* knots ever put in */
    volatile uint32_t spacing;   /* time from knot to knot, us */
    ft_live_knot ring[FT_KNOTS];
} ft_reference;

void ft_reference_begin(ft_reference *r, const int64_t q[FT_JOINTS],
                        uint32_t at);
bool ft_reference_reach(ft_reference *r, uint32_t at);
void ft_reference_turn_to(ft_reference *r, const int64_t to[FT_JOINTS],
                          const float velocity[FT_JOINTS], uint32_t at);
void ft_reference_run_out(ft_reference *r, uint32_t at, bool ended);
ft_real ft_reference_displacement(int64_t from, int64_t to, ft_real unit);
ft_moving ft_reference_sample(const ft_reference *r, uint32_t joint, ft_real t,
                              int64_t from, ft_real pace);

/* Return the seconds since the piece began. */
static inline ft_real ft_reference_time(const ft_reference *r, uint32_t at,
                                        ft_real rest)
{
    return ((ft_real)(int32_t)(at - r->times[2]) + rest) * FT_C(1e-6);
}

#endif
