/* The gate that every knot passes before it becomes part of the path. */
#ifndef FT_KNOTS_H
#define FT_KNOTS_H

#include "ft_messages.h" /* ft_msg_knot */
#include "ft_queue.h"    /* ft_queue */
#include "ft_safety.h"   /* ft_alarms */

#include <stdbool.h>
#include <stdint.h>

bool ft_knots_take(ft_queue *q, const ft_msg_knot *m,
                   const int32_t coarse[FT_JOINTS], ft_alarms *alarms);

#endif
