/* Consistent overhead byte stuffing (COBS), which removes zero bytes. */
#ifndef FT_COBS_H
#define FT_COBS_H

#include <stddef.h>
#include <stdint.h>

#define FT_COBS_BAD ((size_t)-1)

size_t ft_cobs_decode(uint8_t *bytes, size_t size);
size_t ft_cobs_encode(const uint8_t *frame, size_t size, uint8_t *stuffed);

#endif
