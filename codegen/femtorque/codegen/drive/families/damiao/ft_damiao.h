/* Damiao's drives. A drive accepts the command of the MIT mode. A reply reports
 * the error code and whether the drive is enabled. Registers can be read. A
 * drive transmits only in answer to a frame. */
#ifndef FT_DAMIAO_H
#define FT_DAMIAO_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

void ft_damiao_enable(ft_frame *f, const ft_drive_config *c);
void ft_damiao_disable(ft_frame *f, const ft_drive_config *c, bool clear);
void ft_damiao_command(ft_frame *f, const ft_drive_config *c,
                       const ft_drive_target *t, float *carried);
void ft_damiao_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                   uint32_t size);
void ft_damiao_write(ft_frame *f, const ft_drive_config *c, uint32_t number,
                     uint32_t size, uint32_t value);
ft_drive_heard ft_damiao_hear(const ft_frame *f, const ft_drive_config *c,
                              ft_drive_said *said);

#endif
