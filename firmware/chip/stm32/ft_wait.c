/* Waits for hardware. Every wait is bounded. */
#include "ft_board.h" /* FT_CLOCK_MHZ, FT_CLOCK_MHZ_HSI */
#include "ft_chip.h"  /* ft_chip_cycles */
#include "ft_parts.h"

enum { FT_PATIENCE = 400000 }; /* iterations of the waiting loop */

bool ft_wait_for(const volatile uint32_t *reg, uint32_t mask, uint32_t value)
{
    for (uint32_t turns = FT_PATIENCE; turns != 0; turns--) {
        if ((*reg & mask) == value)
            return true;
    }
    return false;
}

/* Wait for this time. The wait also ends if the cycle counter does not run. */
void ft_wait_us(uint32_t us)
{
    uint32_t since = ft_chip_cycles();
    uint32_t cycles = us * (ft_clock_good() ? FT_CLOCK_MHZ : FT_CLOCK_MHZ_HSI);
    for (uint32_t turns = 0; turns < cycles; turns++) {
        if (ft_chip_cycles() - since >= cycles)
            return;
    }
}
