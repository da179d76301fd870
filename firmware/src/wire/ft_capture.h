/* A recording on the board: four words of the telemetry block in every so
 * many ticks, in a ring, to be read out afterwards. */
#ifndef FT_CAPTURE_H
#define FT_CAPTURE_H

#include "ft_control.h"  /* ft_control */
#include "ft_messages.h" /* ft_msg_capture, ft_msg_data */

#include <stdbool.h>
#include <stdint.h>

#define FT_CAPTURE_COLUMNS 4u
#define FT_CAPTURE_SAMPLES 1024u /* a power of two */

extern volatile bool ft_capture_on; /* a sample may be due */

void ft_capture_start(const ft_msg_capture *m);
void ft_capture_read(uint32_t first, ft_msg_data *m);
void ft_capture_tick(const ft_control *c, uint32_t tick, uint32_t state);

#endif
