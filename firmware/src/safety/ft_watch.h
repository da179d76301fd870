/* What the main loop watches, because it changes slowly: temperature, motor
 * drivers, the stack's end, and constants and code in flash, some bytes per
 * round. */
#ifndef FT_WATCH_H
#define FT_WATCH_H

#include <stdbool.h>

bool ft_watch_constants(void); /* all of them at once, before the first tick */
bool ft_watch_code(void);      /* likewise */
void ft_watch_idle(void);

#endif
