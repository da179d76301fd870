/* The firmware's check sum by a table of whole bytes. A run spends most time on
 * check sums, and the table is faster than the firmware's code. The simulated
 * host of a run uses this check sum too. */
#include "ft_crc.h"

static uint32_t table[256];

/* Fill the table. The loader calls this function before the first run. */
__attribute__((constructor)) static void fill(void)
{
    uint32_t i, bit;

    for (i = 0; i < 256u; i++) {
        table[i] = i;
        for (bit = 0; bit < 8u; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1u ? 0xedb88320u : 0u);
    }
}

uint32_t ft_crc32_more(uint32_t before, const uint8_t *bytes, size_t size)
{
    uint32_t crc = ~before;
    size_t i;

    for (i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 255u];
    return ~crc;
}

uint32_t ft_crc32(const uint8_t *bytes, size_t size)
{
    return ft_crc32_more(0, bytes, size);
}
