/* Damiao's drives: the mini-cheetah's command, a reply that tells whether the
 * drive is enabled and what ails it, and registers that can be read. A drive
 * answers each frame that it is sent, and sends nothing by itself. */
#ifndef FT_DAMIAO_H
#define FT_DAMIAO_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

/* The last byte of a frame that is no command. */
enum { FT_DAMIAO_CLEAR = 0xFB, FT_DAMIAO_ENABLE = 0xFC,
       FT_DAMIAO_DISABLE = 0xFD };

/* Registers: u32 or, from GEAR on, float. */
enum { FT_DAMIAO_TIMEOUT = 9, FT_DAMIAO_MODE = 10, FT_DAMIAO_FIRMWARE = 14,
       FT_DAMIAO_POSITION = 21, FT_DAMIAO_VELOCITY = 22,
       FT_DAMIAO_TORQUE = 23 };

void ft_damiao_command(ft_frame *f, const ft_drive_address *a,
                       const ft_drive_ranges *r, const ft_drive_target *t,
                       float *carried);
void ft_damiao_special(ft_frame *f, const ft_drive_address *a, uint8_t last);
void ft_damiao_read(ft_frame *f, const ft_drive_address *a, uint8_t number);
void ft_damiao_write(ft_frame *f, const ft_drive_address *a, uint8_t number,
                     uint32_t value);
ft_drive_heard ft_damiao_hear(const ft_frame *f, const ft_drive_address *a,
                              const ft_drive_ranges *r, ft_drive_said *said);

#endif
