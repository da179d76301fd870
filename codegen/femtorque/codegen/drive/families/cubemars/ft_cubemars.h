/* CubeMars' AK drives in their MIT mode. A drive answers each frame that it is
 * sent, and sends nothing by itself. It does not report if it is enabled,
 * nor its settings, but its temperature and its error. */
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
