/* Frames of the MIT mode of several makers: position in 16 bits; velocity, kp,
 * kd and torque in 12 bits each; the most significant bit first. */
#ifndef FT_MIT_H
#define FT_MIT_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

/* The last byte of a special frame. */
enum { FT_MIT_CLEAR = 0xFB, FT_MIT_ENTER = 0xFC, FT_MIT_EXIT = 0xFD };

void ft_mit_command(ft_frame *f, const ft_drive_config *c,
                    const ft_drive_target *t, float *carried);
void ft_mit_special(ft_frame *f, const ft_drive_config *c, uint8_t last);
void ft_mit_state(const ft_frame *f, const ft_drive_config *c,
                  ft_drive_said *said);

#endif
