/* From targets that are sent live to knots of the reference.
 *
 * Late and lost ones, jitter, clocks that step: all of it is dealt with here,
 * in the main loop. The sender's clock is taken to be behind the board's by
 * the least that any message took of late; its frames are found from its
 * stamps. A sender that is faster than FT_KNOT_LEAST_US has its targets
 * averaged, so that the noise of their positions is no jerk. */
#ifndef FT_TARGETS_H
#define FT_TARGETS_H

#include "ft_messages.h"  /* ft_msg_target, ft_msg_follow */
#include "ft_reference.h" /* ft_reference */

#include <stdbool.h>
#include <stdint.h>

/* Targets that are averaged to one knot. */
typedef struct {
    uint32_t n;
    uint32_t first;           /* time of the first one */
    int32_t later;            /* sum of how much later the others are, us */
    int64_t q[FT_JOINTS];     /* of the first one */
    int64_t beyond[FT_JOINTS]; /* sum of how far beyond it the others are */
} ft_group;

typedef struct {
    /* what the tick looks at */
    volatile uint32_t lag;    /* us from the sender's clock to what is played */
    volatile bool begun;      /* a target has come */
    volatile bool known;      /* so has its time; and how long a frame is */
    volatile bool direct;     /* no delay: targets carry velocities */
    volatile uint32_t newest; /* its number; its time: */
    volatile uint32_t newest_at;
    int64_t to[2][FT_JOINTS]; /* targets that carry velocities, by turns */
    float to_velocity[2][FT_JOINTS];
    uint32_t delay;           /* us, asked for; FT_FOLLOW_AUTO */
    uint32_t in_force;        /* us */
    uint32_t spare;           /* us that targets may be late by */

    /* of the main loop alone */
    uint32_t frame;           /* us from target to target */
    uint32_t intervals;       /* that it is the mean of */
    bool fixed;               /* it was given */
    uint32_t averaged;        /* targets a knot */
    uint32_t offset;          /* from the sender's clock to the board's, us */
    uint32_t shift;           /* by which that clock has been set back */
    uint32_t heard;           /* when, by the board's clock */
    uint32_t last;            /* time of the newest target, */
    uint8_t chunk;            /* its chunk */
    bool ended;
    uint32_t before, at;      /* times of the knot put in last, and of the one
                               * that is gathered */
    uint32_t gap_at;          /* time of the first of the knots between them */
    uint32_t skipped;         /* that nothing came for */
    ft_group group;
    uint32_t mean_at;         /* mean time of the last knot's targets, */
    int64_t mean[FT_JOINTS];  /* where they are in the mean, */
    int64_t knot[FT_JOINTS];  /* and what the knot is */
    ft_real velocity[FT_JOINTS]; /* between the last two means, */
    ft_real change[3][FT_JOINTS]; /* and what it changed by before them, the
                                   * last change first */
    uint32_t clipped;         /* joints with a target beyond their limits */

    /* counted */
    uint32_t taken;
    uint16_t late, lost, refused;
} ft_targets;

void ft_targets_begin(ft_targets *t, ft_reference *r, uint32_t delay,
                      uint32_t frame);
void ft_targets_take(ft_targets *t, ft_reference *r, const ft_msg_target *m,
                     uint32_t now, uint32_t playing,
                     const int64_t held[FT_JOINTS]);

#endif
