/* All that the application knows. The one there is belongs to ft_app.c, which
 * gives every module its part; a test program may look at it, too. */
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
    ft_control control; /* the longest comes last */
} ft_state;

extern ft_state ft;

#endif
