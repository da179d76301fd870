/* The governor: lets one joint go where a reference says, never beyond its
 * limits of position, velocity, acceleration and jerk, and never beyond the
 * places that the reference is known to lead to, whatever that says.
 *
 * It makes a motion and knows nothing of measurements. The reference's next
 * sample is taken as it is if one tick of bounded jerk leads there, and if the
 * joint can come to rest from it inside all limits, and either among the
 * places that are known ahead or on its own way of braking. Otherwise the
 * joint catches up: time-optimally, in the frame that moves with the
 * reference, as far as it can come to rest inside the same places; where it
 * could not, it brakes as much as it must. Once the reference has broken a
 * limit, the joint does not trust that a motion goes on beyond what is known,
 * until the reference would come to rest among places that are sure.
 *
 * All positions are relative to where the joint is before the tick, so that
 * single precision has the more digits the nearer a limit or the reference is.
 * Times are s. Every comparison is written so that what is not a number fails.
 */
#ifndef FT_GOVERNOR_H
#define FT_GOVERNOR_H

#include "ft_config.h"  /* ft_follow_config */
#include "ft_outlook.h" /* ft_way */
#include "ft_ramp.h"    /* ft_moving, ft_room */

#include <stdbool.h>
#include <stdint.h>

/* Go on by a tick towards the reference's next sample. now: before, at p = 0;
 * then after. wary: of a reference that broke limits; kept. Return the limits
 * that kept it from there, FT_FOLLOW_LIMIT_. */
uint32_t ft_governor_tick(ft_moving *now, const ft_follow_config *c,
                          ft_room room, const ft_moving *aim,
                          const ft_way *way, bool *wary);

/* Return the next sample on a joint's way to a reference that it is not on:
 * time-optimal, in the frame that moves with the reference. */
ft_moving ft_catch_up(const ft_moving *now, const ft_follow_config *c,
                      const ft_room *room, const ft_moving *aim);

#endif
