/* The port to the host: frames in and out, nothing ever waits. */
#ifndef FT_PORT_H
#define FT_PORT_H

#include "ft_control.h" /* ft_control */
#include "ft_safety.h"  /* ft_safety, ft_view */

/* Targets of frames, and sources of reports. */
typedef struct {
    ft_safety *safety;
    ft_control *control;
    const ft_view *view;
} ft_port_ends;

void ft_port_start(void);
void ft_port_idle(const ft_port_ends *to);

#endif
