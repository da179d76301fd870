/* ODrive's drives with the protocol CANSimple. A drive takes torques. In every
 * tick the board requests the drive's position with a remote frame. A drive
 * sends heartbeats without a request. A heartbeat reports the drive's errors
 * and whether the drive is in closed-loop control. */
#ifndef FT_ODRIVE_CAN_H
#define FT_ODRIVE_CAN_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

void ft_odrive_can_enable(ft_frame *f, const ft_drive_config *c);
void ft_odrive_can_disable(ft_frame *f, const ft_drive_config *c, bool clear);
void ft_odrive_can_command(ft_frame *f, const ft_drive_config *c,
                           const ft_drive_target *t, float *carried);
void ft_odrive_can_poll(ft_frame *f, const ft_drive_config *c);
void ft_odrive_can_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                       uint32_t size);
void ft_odrive_can_write(ft_frame *f, const ft_drive_config *c,
                         uint32_t number, uint32_t size, uint32_t value);
void ft_odrive_can_release(ft_frame *f, const ft_drive_config *c,
                           uint32_t tick);
void ft_odrive_can_look(ft_frame *f, uint32_t tick, bool enabled);
ft_drive_heard ft_odrive_can_hear(const ft_frame *f, const ft_drive_config *c,
                                  ft_drive_said *said);

#endif
