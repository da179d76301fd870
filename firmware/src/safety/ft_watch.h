/* What the main loop watches, because it changes slowly: temperature, motor
 * drivers, and the constants in flash, a few bytes a round. */
#ifndef FT_WATCH_H
#define FT_WATCH_H

#include <stdbool.h>

bool ft_watch_constants(void); /* all of them at once, before the first tick */
void ft_watch_idle(void);

#endif
