/* The whole state of the application. ft_app.c owns the only instance and gives
 * each module its part. A test program may also read the state. */
#ifndef FT_STATE_H
#define FT_STATE_H

#include "ft_bus.h"      /* ft_bus */
#include "ft_control.h"  /* ft_control */
#include "ft_findings.h" /* ft_findings */
#include "ft_safety.h"   /* ft_safety, ft_sensors, ft_time */

typedef struct {
    ft_time time;
    ft_sensors sensors;
    ft_findings found;  /* of this tick */
    ft_safety safety;
    FT_IF(FT_DRIVES, ft_bus bus;)
    ft_control control; /* long members come last */
} ft_state;

extern ft_state ft;

#endif
