/* Converts live targets to knots of the reference.
 *
 * The main loop handles late and lost targets, jitter, and clocks that are set.
 * The offset between the sender's clock and the board's is estimated as the
 * smallest delay of the last messages. The sender's frame time is estimated
 * from the targets' time stamps. Targets that come faster than FT_KNOT_LEAST_US
 * are averaged, so that noise of their positions causes no jerk. */
#ifndef FT_TARGETS_H
#define FT_TARGETS_H

#include "ft_messages.h"  /* ft_msg_target, ft_msg_follow */
#include "ft_reference.h" /* ft_reference */

#include <stdbool.h>
#include <stdint.h>

/* Live targets that are averaged to form one knot. */
typedef struct {
    uint32_t n;
    uint32_t first;           /* time of the first target */
    int32_t later;            /* sum of the delays after the first target, us */
    int64_t q[FT_JOINTS];     /* position of the first target */
    int64_t beyond[FT_JOINTS]; /* sum of the displacements from the first
                                * target */
} ft_group;

typedef struct {
    /* members that the tick reads */
    volatile uint32_t lag;    /* delay of the played time, us */
    volatile bool begun;      /* a target has come */
    volatile bool known;      /* the sender's frame time is known */
    volatile bool direct;     /* targets have velocities and are followed
                               * without delay */
    volatile uint32_t newest; /* number of the newest target */
    volatile uint32_t newest_at;
    int64_t to[2][FT_JOINTS]; /* the last two targets with velocities */
    float to_velocity[2][FT_JOINTS];
    uint32_t delay;           /* requested delay or FT_FOLLOW_AUTO, us */
    uint32_t in_force;        /* present delay, us */
    uint32_t spare;           /* time by which targets may be late, us */

    /* members that only the main loop uses */
    uint32_t frame;           /* time from target to target, us */
    uint32_t intervals;       /* number of intervals in this mean */
    bool fixed;               /* frame was requested */
    uint32_t averaged;        /* targets a knot */
    uint32_t offset;          /* board's clock minus the sender's clock, us */
    uint32_t shift;           /* setting back of the sender's clock, us */
    uint32_t heard;           /* time of the last target, board's clock */
    uint32_t last;            /* time of the newest target, */
    uint8_t chunk;            /* its chunk */
    bool ended;
    uint32_t before, at;      /* times of the last knot, and of the knot that is
                               * being averaged */
    uint32_t gap_at;          /* time of the first knot without a target */
    uint32_t skipped;         /* knots without a target */
    ft_group group;
    uint32_t mean_at;         /* mean time of the targets of the last knot */
    int64_t mean[FT_JOINTS];  /* their mean position */
    int64_t knot[FT_JOINTS];  /* the knot */
    ft_real velocity[FT_JOINTS]; /* velocity between the last two means */
    ft_real change[3][FT_JOINTS]; /* its last three changes, the latest first */
    uint32_t clipped;         /* joints with a target beyond their limits */

    /* counts */
    uint32_t taken;
    uint16_t late, lost, refused;
} ft_targets;

void ft_targets_begin(ft_targets *t, ft_reference *r, uint32_t delay,
                      uint32_t frame);
void ft_targets_take(ft_targets *t, ft_reference *r, const ft_msg_target *m,
                     uint32_t now, uint32_t playing,
                     const int64_t held[FT_JOINTS]);

#endif
