/* The way of a joint to a reference that it is not on: time-optimal in the
 * frame that moves with the reference. The governor looks at each sample before
 * a joint goes there. */
#ifndef FT_CATCH_UP_H
#define FT_CATCH_UP_H

#include "ft_ramp.h" /* ft_moving, ft_room */

ft_moving ft_catch_up(const ft_moving *now, const ft_follow_config *c,
                      const ft_room *room, const ft_moving *aim);

#endif
