/* RobStride's drives in the protocol that they are shipped with: ids of 29
 * bits that tell the kind of frame, 16 bits and the receiver; fields of 16
 * bits. A drive answers each frame that it is sent with its state. */
#ifndef FT_ROBSTRIDE_H
#define FT_ROBSTRIDE_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

/* Parameters: a byte, u32 or float. */
enum { FT_ROBSTRIDE_MODE = 0x7005, FT_ROBSTRIDE_POSITION = 0x7019,
       FT_ROBSTRIDE_TIMEOUT = 0x7028 };

void ft_robstride_command(ft_frame *f, const ft_drive_address *a,
                          const ft_drive_ranges *r, const ft_drive_target *t,
                          float *carried);
void ft_robstride_enable(ft_frame *f, const ft_drive_address *a);
void ft_robstride_stop(ft_frame *f, const ft_drive_address *a, bool clear);
void ft_robstride_read(ft_frame *f, const ft_drive_address *a,
                       uint16_t number);
void ft_robstride_write(ft_frame *f, const ft_drive_address *a,
                        uint16_t number, uint32_t value);
ft_drive_heard ft_robstride_hear(const ft_frame *f, const ft_drive_address *a,
                                 const ft_drive_ranges *r,
                                 ft_drive_said *said);

#endif
