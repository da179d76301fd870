/* moteus controllers. A CAN FD frame consists of subframes that write and read
 * registers. A drive answers each frame with its state or a register. */
#ifndef FT_MOTEUS_H
#define FT_MOTEUS_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

void ft_moteus_enable(ft_frame *f, const ft_drive_config *c);
void ft_moteus_disable(ft_frame *f, const ft_drive_config *c, bool clear);
void ft_moteus_command(ft_frame *f, const ft_drive_config *c,
                       const ft_drive_target *t, float *carried);
void ft_moteus_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                   uint32_t size);
void ft_moteus_write(ft_frame *f, const ft_drive_config *c, uint32_t number,
                     uint32_t size, uint32_t value);
ft_drive_heard ft_moteus_hear(const ft_frame *f, const ft_drive_config *c,
                              ft_drive_said *said);

#endif
