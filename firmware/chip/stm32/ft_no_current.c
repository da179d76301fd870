/* Images without current loops. */
#include "ft_board.h" /* FT_CURRENTS */
#include "ft_parts.h"

#ifndef FT_CURRENTS

void ft_currents_start(void)
{
}

void ft_current_ask(uint32_t joint, float share)
{
    (void)joint;
    (void)share;
}

bool ft_current_fault(void)
{
    return false;
}

#endif
