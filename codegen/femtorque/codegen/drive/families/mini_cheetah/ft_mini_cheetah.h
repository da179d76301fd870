/* Drives with the firmware of the MIT mini cheetah. A drive answers each frame
 * that it receives, and sends no other frames. A drive reports neither settings
 * nor errors, and does not report whether it is enabled. */
#ifndef FT_MINI_CHEETAH_H
#define FT_MINI_CHEETAH_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

void ft_mini_cheetah_enable(ft_frame *f, const ft_drive_config *c);
void ft_mini_cheetah_disable(ft_frame *f, const ft_drive_config *c,
                             bool clear);
void ft_mini_cheetah_command(ft_frame *f, const ft_drive_config *c,
                             const ft_drive_target *t, float *carried);
ft_drive_heard ft_mini_cheetah_hear(const ft_frame *f,
                                    const ft_drive_config *c,
                                    ft_drive_said *said);
void ft_mini_cheetah_release(ft_frame *f, const ft_drive_config *c,
                             uint32_t tick);

#endif
