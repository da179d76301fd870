/* Dynamixel X servos: a motor with a gear. The board commands a current, or a
 * duty if the servo does not measure its current. ft_dxl.h defines the
 * frames. */
#ifndef FT_DYNAMIXEL_H
#define FT_DYNAMIXEL_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

/* The number for register 0, because number 0 means no setting. */
#define FT_DYNAMIXEL_MODEL 256u

void ft_dynamixel_enable(ft_frame *f, const ft_drive_config *c);
void ft_dynamixel_disable(ft_frame *f, const ft_drive_config *c, bool clear);
void ft_dynamixel_command(ft_frame *f, const ft_drive_config *c,
                          const ft_drive_target *t, float *carried);
ft_drive_heard ft_dynamixel_hear(const ft_frame *f, const ft_drive_config *c,
                                 ft_drive_said *said);
void ft_dynamixel_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                      uint32_t size);
void ft_dynamixel_write(ft_frame *f, const ft_drive_config *c, uint32_t number,
                        uint32_t size, uint32_t value);
void ft_dynamixel_wake(ft_frame *f, const ft_drive_config *c, uint32_t phase);
void ft_dynamixel_look(ft_frame *f, uint32_t tick, bool enabled);

#endif
