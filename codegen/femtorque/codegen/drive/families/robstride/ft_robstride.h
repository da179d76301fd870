/* RobStride's drives with their factory protocol. An id of 29 bits contains the
 * type of frame, 16 bits of data and the receiver. Fields have 16 bits. A drive
 * answers each frame with its state. */
#ifndef FT_ROBSTRIDE_H
#define FT_ROBSTRIDE_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

void ft_robstride_command(ft_frame *f, const ft_drive_config *c,
                          const ft_drive_target *t, float *carried);
void ft_robstride_enable(ft_frame *f, const ft_drive_config *c);
void ft_robstride_disable(ft_frame *f, const ft_drive_config *c, bool clear);
void ft_robstride_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                      uint32_t size);
void ft_robstride_write(ft_frame *f, const ft_drive_config *c,
                        uint32_t number, uint32_t size, uint32_t value);
ft_drive_heard ft_robstride_hear(const ft_frame *f, const ft_drive_config *c,
                                 ft_drive_said *said);

#endif
