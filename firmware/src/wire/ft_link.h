/* The link to the host: frames in and out, nothing ever waits. */
#ifndef FT_LINK_H
#define FT_LINK_H

void ft_link_start(void);
void ft_link_idle(void);

#endif
