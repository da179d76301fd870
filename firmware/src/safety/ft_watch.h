/* Slow checks of the main loop: temperature, motor drivers, the stack's end,
 * constants and code in flash, some bytes per round. */
#ifndef FT_WATCH_H
#define FT_WATCH_H

#include "ft_model.h"  /* FT_JOINTS, ft_real */
#include "ft_safety.h" /* ft_alarms, ft_sensors */

#include <stdbool.h>
#include <stdint.h>

/* Return whether all tables, or the whole image, have their check sum. Call
 * both functions only before the first tick. */
bool ft_watch_constants(void);
bool ft_watch_code(void);

/* Make one round of checks. Set an alarm for every check that fails. */
void ft_watch_idle(ft_alarms *alarms, ft_sensors *sensors, uint32_t tick,
                   const ft_real torque[FT_JOINTS]);

/* Advance the thermal models of motors and drivers to this tick, with these
 * torques. Return FT_GOOD, or the first joint whose motor or driver is too warm
 * or has not cooled down yet.
 *
 * Motor and driver are each a first-order model. The model's input is the
 * square of the current that the torque needs. At the continuous current the
 * model's state settles at 1. */
uint32_t ft_heat_idle(uint32_t tick, const ft_real torque[FT_JOINTS]);

#endif
