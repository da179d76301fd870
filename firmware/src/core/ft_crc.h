/* CRC-32 as zlib computes it. */
#ifndef FT_CRC_H
#define FT_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t ft_crc32(const uint8_t *bytes, size_t size);
uint32_t ft_crc32_more(uint32_t before, const uint8_t *bytes, size_t size);

#endif
