/* Processor in the loop: an image with FT_PIL reads no encoder and drives no
 * motor. Counts come by SENSE, which also grants the tick they are for;
 * duties go out by DRIVE. The plant is with the host, and time with it.
 *
 * While no SENSE comes, ticks run by themselves and the joints are at rest.
 * Outputs that were on are dropped before the first of these: fault BREAK. */
#ifndef FT_PIL_H
#define FT_PIL_H

#include <stdbool.h>
#include <stdint.h>

/* Work of the port: take counts in (all joints, since the plant began) and let
 * the next tick run at once if they are for it; report the last tick's outputs,
 * and whether they are on. */
void ft_pil_sense(const int32_t counts[], bool for_next_tick);
bool ft_pil_driven(float duty[]);

/* Wait for the last plant no longer: a host has come anew. */
void ft_pil_forget(void);

#endif
