/* Memory of the chip, for C code that models the chip and the board. */
#include "core.h"

/* Find the memory region at an address, or 0. */
uint8_t *core_memory(const core *c, uint32_t address, uint32_t size,
                     int writable)
{
    const memory *m;
    for (m = c->memories; m < c->memories + MEMORIES && m->bytes != 0; m++)
        if (m->start <= address && address <= m->end - size &&
            (m->writable || !writable))
            return m->bytes + (address - m->start);
    return 0;
}
