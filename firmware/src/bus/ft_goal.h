/* Goals of servos that close a position loop, and a comparison of the reported
 * load with this loop. The duty of the loop is the error divided by `scale` of
 * ft_drive, plus a drag in the direction of the error. */
#ifndef FT_GOAL_H
#define FT_GOAL_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

#if FT_SERVO_LOOP

/* The loop of a family. full: duty steps of the full supply. drag: duty. most:
 * largest duty without a protection. doubt: error of the loop's gain. */
typedef struct {
    float full, drag, most, doubt;
} ft_loop;

/* A servo's last goals and the finding about its load. scale 0: the servo has
 * no goal of the law, so its load is not known. */
typedef struct {
    float scale, limit;
    uint16_t at, goal[2]; /* last reported position; goals of this tick and the
                           * last */
    uint8_t strained;     /* answers with a wrong load in a row */
} ft_goal;

/* Write the goal of a command into a frame. Return false if the servo must keep
 * its last reported position. */
bool ft_goal_aim(ft_frame *f, const ft_drive_config *c,
                 const ft_drive_target *t, const ft_loop *l);

/* Return the goal that a frame sets. aims, runs: the frame's flags. */
uint32_t ft_goal_take(ft_goal *g, const ft_frame *f, bool aims, bool runs);

/* Compare the load of a running motor, duty steps, with its loop. Return true
 * after too many wrong loads in a row. */
bool ft_goal_strains(ft_goal *g, const ft_loop *l, uint32_t at, int32_t load,
                     bool on);

#endif
#endif
