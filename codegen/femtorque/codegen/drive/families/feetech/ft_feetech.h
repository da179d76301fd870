/* Feetech's STS servos. In PWM mode the board commands a duty. In position mode
 * the servo closes a position loop, and the board commands a goal. ft_sts.h
 * defines the frames. */
#ifndef FT_FEETECH_H
#define FT_FEETECH_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

/* The number for registers 0 and 1, because number 0 means no setting. */
#define FT_FEETECH_FIRMWARE 256u

void ft_feetech_enable(ft_frame *f, const ft_drive_config *c);
void ft_feetech_disable(ft_frame *f, const ft_drive_config *c, bool clear);
void ft_feetech_command(ft_frame *f, const ft_drive_config *c,
                        const ft_drive_target *t, float *carried);
ft_drive_heard ft_feetech_hear(const ft_frame *f, const ft_drive_config *c,
                               ft_drive_said *said);
void ft_feetech_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                    uint32_t size);
void ft_feetech_write(ft_frame *f, const ft_drive_config *c, uint32_t number,
                      uint32_t size, uint32_t value);
void ft_feetech_wake(ft_frame *f, const ft_drive_config *c, uint32_t phase);
void ft_feetech_look(ft_frame *f, uint32_t tick, bool enabled);

#endif
