/* Slow checks of the main loop: temperature, motor drivers, the stack's end,
 * and constants and code in flash, some bytes per round. */
#ifndef FT_WATCH_H
#define FT_WATCH_H

#include "ft_model.h"  /* FT_JOINTS, ft_real */
#include "ft_safety.h" /* ft_alarms, ft_sensors */

#include <stdbool.h>
#include <stdint.h>

bool ft_watch_constants(void); /* all of them at once, before the first tick */
bool ft_watch_code(void);      /* likewise */
void ft_watch_idle(ft_alarms *alarms, ft_sensors *sensors, uint32_t tick,
                   const ft_real torque[FT_JOINTS]);

#endif
