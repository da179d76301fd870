/* The supply of servos without a time limit. A servo is in doubt if it must be
 * off or does not answer, but has not reported that it is off since its last
 * command to run. The supply goes off if a servo is in doubt for longer than
 * FT_CUTOFF_TICKS. The supply is also off in reset, for FT_CUTOFF_DARK ticks
 * after the start, with the e-stop, and on the way to the boot loader. The
 * supply comes back in DISARMED only, after FT_CUTOFF_DARK ticks. After this
 * time every servo has lost its power and is off. */
#ifndef FT_CUTOFF_H
#define FT_CUTOFF_H

#include "ft_config.h" /* FT_CUTOFF */

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t doubt; /* ticks for which a servo is in doubt */
    uint32_t dark;  /* ticks without supply, at most FT_CUTOFF_DARK */
    bool on;
} ft_cutoff;

/* Decide for a tick. Return true if the servos may have their supply. */
bool ft_cutoff_tick(ft_cutoff *c, bool doubted, uint32_t state);

#endif
