/* The governor: lets one joint follow a reference within the joint's limits of
 * position, velocity, acceleration and jerk. The joint also stays within the
 * known places of the reference. This holds for any reference.
 *
 * The governor uses no measurement. The governor takes the reference's next
 * sample on two conditions. First, one tick of bounded jerk leads to the
 * sample. Second, from the sample the joint can come to rest inside all limits,
 * among the known places ahead or on its own way of braking. If a condition
 * fails, the joint catches up, time-optimally, in the frame that moves with the
 * reference. A joint catches up only while it can still come to rest inside the
 * same places. Any other joint brakes as much as it must. After the reference
 * has broken a limit, the joint expects no motion beyond the known places. This
 * caution ends when the reference could come to rest among known places.
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

/* Move by a tick towards the reference's next sample. now: the sample before,
 * at p = 0, then the sample after. wary: whether the reference has broken
 * limits, kept from tick to tick. Return the limits that held the joint back,
 * FT_FOLLOW_LIMIT_. */
uint32_t ft_governor_tick(ft_moving *now, const ft_follow_config *c,
                          ft_room room, const ft_moving *aim,
                          const ft_way *way, bool *wary);

/* Return a joint's next sample while the joint is not on its reference. The
 * joint's motion is time-optimal, in the frame that moves with the
 * reference. */
ft_moving ft_catch_up(const ft_moving *now, const ft_follow_config *c,
                      const ft_room *room, const ft_moving *aim);

#endif
