/* How warm motors and drivers get: a first-order model of each, run by the main
 * loop, driven by the square of the current that the torque asks for. The
 * continuous current ends up at 1. */
#ifndef FT_HEAT_H
#define FT_HEAT_H

#include "ft_model.h" /* FT_JOINTS, ft_real */

#include <stdint.h>

/* Let the time up to this tick pass with these torques. Return FT_GOOD, or the
 * first joint whose motor or driver is too warm, and not cool again yet. */
uint32_t ft_heat_idle(uint32_t tick, const ft_real torque[FT_JOINTS]);

#endif
