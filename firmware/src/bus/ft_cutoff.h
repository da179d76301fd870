/* The supply of servos that have no time limit of their own.
 *
 * It is on only while no servo is in doubt for longer than FT_CUTOFF_TICKS: in
 * doubt is one that was to run and has not said since that it is off, while it
 * may not run or does not answer. Off it is in reset, from the start on for
 * FT_CUTOFF_DARK ticks, with the e-stop, and on the way to the boot loader. It
 * comes back in DISARMED alone, once it has been off for so long that every
 * servo has lost its power, and so is off itself. */
#ifndef FT_CUTOFF_H
#define FT_CUTOFF_H

#include "ft_config.h" /* FT_CUTOFF */

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t doubt; /* ticks for which a servo has been in it */
    uint32_t dark;  /* ticks without supply, at most FT_CUTOFF_DARK */
    bool on;
} ft_cutoff;

/* Decide in a tick. Return whether the servos may have their supply. */
bool ft_cutoff_tick(ft_cutoff *c, bool doubted, uint32_t state);

#endif
