/* The governor: lets one joint follow a reference within the joint's limits of
 * position, velocity, acceleration and jerk. The joint also stays among the
 * known positions of the reference. Both guarantees hold for any reference.
 *
 * The governor uses no measurement. The governor takes the reference's next
 * sample on two conditions. First, the joint can reach the sample in one tick
 * with bounded jerk. Second, the joint can come to rest from the sample inside
 * all limits. While braking, the joint stays among the known positions ahead,
 * or within its own braking distance. If a condition fails, the joint catches
 * up time-optimally, in a coordinate frame that moves with the reference. A
 * joint catches up only while it can still come to rest within these positions.
 * In all other cases the joint brakes only as hard as needed. Once the
 * reference has exceeded a limit, the governor no longer assumes that the
 * motion continues beyond the known positions. This caution ends when the
 * reference could come to rest among the known positions.
 *
 * Positions are relative to the joint's position before the tick. Single
 * precision then has more digits near a limit or near the reference. Times are
 * s. All comparisons are written so that NaN fails. */
#ifndef FT_GOVERNOR_H
#define FT_GOVERNOR_H

#include "ft_config.h"  /* ft_follow_config */
#include "ft_outlook.h" /* ft_way */
#include "ft_ramp.h"    /* ft_moving, ft_room */

#include <stdbool.h>
#include <stdint.h>

/* Advance by a tick towards the reference's next sample. now: the sample before
 * the tick, at p = 0; on return the sample after it. wary: whether the
 * reference has exceeded limits, kept between ticks. Return the limits that
 * held the joint back, FT_FOLLOW_LIMIT_. */
uint32_t ft_governor_tick(ft_moving *now, const ft_follow_config *c,
                          ft_room room, const ft_moving *aim,
                          const ft_way *way, bool *wary);

/* Return the next sample of a joint off its reference, time-optimal in a frame
 * that moves with the reference. */
ft_moving ft_catch_up(const ft_moving *now, const ft_follow_config *c,
                      const ft_room *room, const ft_moving *aim);

#endif
