/* The mini-cheetah's frames, which Damiao's drives speak: position 16 bits,
 * velocity, kp, kd and torque 12 bits each, the most significant first. */
#ifndef FT_MIT_H
#define FT_MIT_H

#include "ft_drive.h" /* ft_drive_ranges, ft_drive_target */

void ft_mit_command(uint8_t data[8], const ft_drive_ranges *r,
                    const ft_drive_target *t, float *carried);
void ft_mit_special(uint8_t data[8], uint8_t last);
void ft_mit_state(const uint8_t data[8], const ft_drive_ranges *r,
                  ft_drive_said *said);

#endif
