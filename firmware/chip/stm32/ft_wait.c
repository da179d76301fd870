/* Waiting for hardware, never without an end. */
#include "ft_parts.h"

enum { FT_PATIENCE = 400000 }; /* turns of the waiting loop */

bool ft_wait_for(const volatile uint32_t *reg, uint32_t mask, uint32_t value)
{
    for (uint32_t turns = FT_PATIENCE; turns != 0; turns--) {
        if ((*reg & mask) == value)
            return true;
    }
    return false;
}
