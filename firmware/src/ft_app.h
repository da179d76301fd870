/* The application's interface to the chip. */
#ifndef FT_APP_H
#define FT_APP_H

#include <stdint.h>

void ft_app_start(uint32_t chip_errors); /* once, before the first tick */
void ft_app_tick(void);                  /* control interrupt, FT_TICK_HZ */
void ft_app_idle(void);                  /* main loop body: port, watchdog */
void ft_app_missed(void);                /* a tick ran when the next was due */

#endif
