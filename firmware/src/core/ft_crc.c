/* Computes CRC-32 by half bytes, with a table of 16 words. */
#include "ft_crc.h"

static const uint32_t half_byte[16] = {
    0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu,
    0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
    0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
    0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
};

/* Return the CRC-32 of earlier bytes followed by these bytes. `before` is the
 * CRC-32 of the earlier bytes, 0 if there are none. */
uint32_t ft_crc32_more(uint32_t before, const uint8_t *bytes, size_t size)
{
    uint32_t crc = ~before;
    size_t i;

    for (i = 0; i < size; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ half_byte[crc & 15u];
        crc = (crc >> 4) ^ half_byte[crc & 15u];
    }
    return ~crc;
}

/* Return the CRC-32 of some bytes. */
uint32_t ft_crc32(const uint8_t *bytes, size_t size)
{
    return ft_crc32_more(0, bytes, size);
}
