/* Stubs for images without current loops. */
#include "ft_board.h" /* FT_CURRENTS */
#include "ft_chip.h"
#include "ft_parts.h"

#ifndef FT_CURRENTS

bool ft_currents_start(void)
{
    return true;
}

void ft_currents_run(void)
{
}

void ft_currents_on(void)
{
}

void ft_currents_watch(void)
{
}

void ft_current_ask(uint32_t joint, float share)
{
    (void)joint;
    (void)share;
}

void ft_currents_moved(const int32_t counts[])
{
    (void)counts;
}

uint32_t ft_chip_current_fault(uint32_t *joint)
{
    *joint = 0;
    return FT_CURRENT_GOOD;
}

bool ft_chip_current_zero(uint32_t *joint)
{
    *joint = 0;
    return true;
}

#endif
