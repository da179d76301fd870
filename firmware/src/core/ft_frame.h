/* One frame of a bus. */
#ifndef FT_FRAME_H
#define FT_FRAME_H

#include "ft_frame_bytes.h" /* FT_FRAME_BYTES */

#include <stdint.h>

#define FT_FRAME_LONG 0x80000000u   /* the id has 29 bits, not 11 */
#define FT_FRAME_REMOTE 0x40000000u /* a request without data (remote frame) */
#define FT_FRAME_NUMBER 0x1FFFFFFFu /* the id itself */

/* size: bytes received or requested. A frame that is longer than every drive's
 * frames is cut to its first bytes. */
typedef struct {
    uint32_t id;
    uint32_t size;
    uint8_t data[FT_FRAME_BYTES]; /* up to 64 with CAN FD */
} ft_frame;

#endif
