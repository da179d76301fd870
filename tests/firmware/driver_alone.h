/* Stubs of the chip functions that a driver needs if it is compiled alone. */
#include "ft_parts.h"

bool ft_clock_good(void)
{
    return true;
}

bool ft_wait_for(const volatile uint32_t *reg, uint32_t mask, uint32_t value)
{
    (void)reg;
    (void)mask;
    (void)value;
    return true;
}
