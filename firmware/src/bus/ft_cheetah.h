/* Drives that speak as the mini-cheetah's do, and CubeMars' AK drives in their
 * MIT mode. A drive answers each frame that it is sent, and sends nothing by
 * itself. It does not tell whether it is enabled, nor how it is set; an AK
 * drive tells how warm it is and what ails it. */
#ifndef FT_CHEETAH_H
#define FT_CHEETAH_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

/* The last byte of a frame that is no command. */
enum { FT_CHEETAH_ENTER = 0xFC, FT_CHEETAH_EXIT = 0xFD };

void ft_cheetah_command(ft_frame *f, const ft_drive_address *a,
                        const ft_drive_ranges *r, const ft_drive_target *t,
                        float *carried);
void ft_cheetah_special(ft_frame *f, const ft_drive_address *a, uint8_t last);

/* ails: the reply ends with deg C and the drive's error. */
ft_drive_heard ft_cheetah_hear(const ft_frame *f, const ft_drive_address *a,
                               const ft_drive_ranges *r, bool ails,
                               ft_drive_said *said);

#endif
