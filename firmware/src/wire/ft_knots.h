/* The gate that every knot passes before it becomes part of the path. */
#ifndef FT_KNOTS_H
#define FT_KNOTS_H

#include "ft_messages.h" /* ft_msg_knot */

#include <stdbool.h>

bool ft_knots_take(const ft_msg_knot *m);

#endif
