/* One frame of a bus. */
#ifndef FT_FRAME_H
#define FT_FRAME_H

#include <stdint.h>

#define FT_FRAME_LONG 0x80000000u /* of an id: it has 29 bits, not 11 */

typedef struct {
    uint32_t id;
    uint32_t size; /* bytes */
    uint8_t data[8];
} ft_frame;

#endif
