/* Cut-off of the supply of servos that have no command timeout. A servo is in
 * doubt in two cases: the servo must be off, or the servo does not answer. In
 * both cases the servo has not reported that it is off since its last command
 * to run. The supply is switched off if a servo is in doubt for longer than
 * FT_CUTOFF_TICKS. The supply is also off in reset, for FT_CUTOFF_DARK ticks
 * after the start, with the e-stop, and on the way to the boot loader. The
 * supply is switched on again only in DISARMED, after FT_CUTOFF_DARK ticks. By
 * then every servo has lost its power and is off. */
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
