/* The port to the host: frames in and out, nothing ever waits. */
#ifndef FT_PORT_H
#define FT_PORT_H

#include "ft_bus.h"     /* ft_bus */
#include "ft_control.h" /* ft_control */
#include "ft_safety.h"  /* ft_safety, ft_sensors, ft_time */

/* Targets of frames, and sources of reports. */
typedef struct {
    ft_safety *safety;
    ft_control *control;
    const ft_time *time;
    const ft_sensors *sensors;
    FT_IF(FT_DRIVES, const ft_bus *bus;)
} ft_port_ends;

void ft_port_start(void);
void ft_port_idle(const ft_port_ends *to);

#endif
