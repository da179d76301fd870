/* The governor: lets one joint go where a reference says, never beyond its
 * limits of position, velocity, acceleration and jerk, whatever that says.
 *
 * It makes a motion and knows nothing of measurements. If one tick of
 * bounded jerk leads to the reference's next sample, that is taken as it is.
 * Otherwise the joint catches up: time-optimally, in the frame that moves with
 * the reference. Either is taken only if the joint can still come to rest
 * inside all limits from there; if it cannot, the joint brakes as much as it
 * must.
 *
 * All positions are relative to where the joint is before the tick, so that
 * single precision has the more digits the nearer a limit or the reference is.
 * Times are s. Every comparison is written so that what is not a number fails.
 */
#ifndef FT_GOVERNOR_H
#define FT_GOVERNOR_H

#include "ft_config.h" /* ft_follow_config */
#include "ft_ramp.h"   /* ft_moving, ft_room */

#include <stdint.h>

/* Go on by a tick towards the reference's next sample. now: before, at p = 0;
 * then after. Return the limits that kept it from there, FT_FOLLOW_LIMIT_. */
uint32_t ft_governor_tick(ft_moving *now, const ft_follow_config *c,
                          ft_room room, const ft_moving *aim);

#endif
