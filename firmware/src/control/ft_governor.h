/* The governor: lets one joint follow a reference within its limits of
 * position, velocity, acceleration and jerk, and within the known places of the
 * reference. This holds for any reference.
 *
 * The governor uses no measurement. It takes the reference's next sample if one
 * tick of bounded jerk leads there, and if the joint can come to rest from it
 * inside all limits: among the known places ahead, or on its own way of
 * braking. Otherwise the joint catches up, time-optimally, in the frame that
 * moves with the reference, as far as it can still come to rest inside the same
 * places. If it could not, it brakes as much as it must. Once the reference has
 * broken a limit, the joint no longer expects a motion to go on beyond the
 * known places, until the reference would come to rest among sure places.
 *
 * Positions are relative to the joint's position before the tick: near a limit
 * or near the reference single precision then has more digits. Times are s. All
 * comparisons are written so that NaN fails. */
#ifndef FT_GOVERNOR_H
#define FT_GOVERNOR_H

#include "ft_config.h"  /* ft_follow_config */
#include "ft_outlook.h" /* ft_way */
#include "ft_ramp.h"    /* ft_moving, ft_room */

#include <stdbool.h>
#include <stdint.h>

/* Move by a tick towards the reference's next sample. now: the sample before,
 * at p = 0, then the one after. wary: whether the reference has broken limits,
 * kept from tick to tick. Return the limits that held the joint back,
 * FT_FOLLOW_LIMIT_. */
uint32_t ft_governor_tick(ft_moving *now, const ft_follow_config *c,
                          ft_room room, const ft_moving *aim,
                          const ft_way *way, bool *wary);

/* Return the next sample on a joint's way to a reference that it is not on:
 * time-optimal, in the frame that moves with the reference. */
ft_moving ft_catch_up(const ft_moving *now, const ft_follow_config *c,
                      const ft_room *room, const ft_moving *aim);

#endif
