/* The link to the host: frames in and out, nothing ever waits. */
#ifndef FT_LINK_H
#define FT_LINK_H

#include "ft_control.h" /* ft_control */
#include "ft_safety.h"  /* ft_safety, ft_view */

/* Where what has come in goes to, and what is told. */
typedef struct {
    ft_safety *safety;
    ft_control *control;
    const ft_view *view;
} ft_link_ends;

void ft_link_start(void);
void ft_link_idle(const ft_link_ends *to);

#endif
