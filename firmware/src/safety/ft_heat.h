/* How warm currents make motors and drivers: a first-order model each, in the
 * main loop, of the square of the current that the torque asks for. 1 is where
 * the continuous current ends up. */
#ifndef FT_HEAT_H
#define FT_HEAT_H

#include <stdint.h>

/* Let the time since the last round pass. Return FT_GOOD, or the first joint
 * whose motor or driver is too warm, and not cool again yet. */
uint32_t ft_heat_idle(void);

#endif
