/* CubeMars' AK drives in their MIT mode. A drive transmits only in answer to a
 * frame. An answer contains temperature and error. A drive reports neither its
 * settings nor whether its motor is enabled. */
#ifndef FT_CUBEMARS_H
#define FT_CUBEMARS_H

#include "ft_drive.h" /* ft_frame, ft_drive_... */

void ft_cubemars_enable(ft_frame *f, const ft_drive_config *c);
void ft_cubemars_disable(ft_frame *f, const ft_drive_config *c, bool clear);
void ft_cubemars_command(ft_frame *f, const ft_drive_config *c,
                         const ft_drive_target *t, float *carried);
ft_drive_heard ft_cubemars_hear(const ft_frame *f, const ft_drive_config *c,
                                ft_drive_said *said);

#endif
