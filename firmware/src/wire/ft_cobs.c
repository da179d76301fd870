/* Byte stuffing; see ft_cobs.h. */
#include "ft_cobs.h"

#include <string.h> /* memmove */

/* Unstuff `size` bytes between two zeros in place. Return the frame's size,
 * which is at most `size`, or FT_COBS_BAD. */
size_t ft_cobs_decode(uint8_t *bytes, size_t size)
{
    size_t from = 0, to = 0;

    while (from < size) {
        size_t code = bytes[from++], run = code - 1u;

        if (code == 0u || run > size - from)
            return FT_COBS_BAD;
        memmove(bytes + to, bytes + from, run);
        from += run;
        to += run;
        if (code < 255u && from < size)
            bytes[to++] = 0;
    }
    return to;
}

/* Stuff a frame and append a zero byte. Return the number of bytes written, at
 * most size + size / 254 + 2. */
size_t ft_cobs_encode(const uint8_t *frame, size_t size, uint8_t *stuffed)
{
    size_t code_at = 0, to = 1, i;
    uint8_t code = 1;

    for (i = 0; i < size; i++) {
        if (frame[i] != 0u) {
            stuffed[to++] = frame[i];
            code++;
        }
        if (frame[i] == 0u || (code == 255u && i + 1u < size)) {
            stuffed[code_at] = code;
            code_at = to++;
            code = 1;
        }
    }
    stuffed[code_at] = code;
    stuffed[to++] = 0;
    return to;
}
