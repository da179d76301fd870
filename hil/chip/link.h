/* A serial link and the DMA streams that serve it, lent by their models in
 * Python (hil/chip/stm32/serial.py) as long as bytes come in without errors and
 * both streams move them. */
#ifndef LINK_H
#define LINK_H

#include "due.h"

#define LINK_BYTES 1024u /* of either direction; a power of two */

/* One stream or channel. usual: its control word without the lowest bit, which
 * enables it; source: address of the link's data register; request: its number
 * in the multiplexer. flags: its flags in the register that clears flags, by
 * half_bits and complete_bits. stays: enabled after its last byte. bytes: its
 * memory in this process. */
typedef struct {
    uint32_t control, left, peripheral, memory, reload, half, complete;
    uint32_t usual, source, request, flags, half_bits, complete_bits;
    int32_t circular, stays;
    uint8_t *bytes;
} stream;

/* coming: bytes on the wire, from `first` to `last`, which are never reset, and
 * the cycles at which they arrive; until: when the last one has arrived. held:
 * in the data register; shifting: in the shift register until `shifted`; -1:
 * none. seen: flags that a read of the status register has shown; by_reading:
 * true if a read of the data register then clears them. out: sent bytes. */
typedef struct {
    due quiet; /* end of a byte's time of silence on the line */
    int32_t lent, interrupt, by_reading, asks;
    double byte_cycles, until, shifted, arrives[LINK_BYTES];
    uint8_t coming[LINK_BYTES], out[LINK_BYTES];
    uint32_t first, last, gone, status, seen, received;
    int32_t held, shifting;
    stream streams[2]; /* that receives, that sends */
} link_part;

/* Its registers by their numbers; those of a stream exist for each of both
 * streams. */
enum {
    LINK_STATUS,
    LINK_DATA,
    LINK_CLEAR,
    STREAM_CONTROL,
    STREAM_LEFT,
    STREAM_PERIPHERAL,
    STREAM_MEMORY,
    STREAM_FLAGS,
    STREAM_REQUEST
};

struct parts;

int link_line_in(struct parts *l, const uint8_t *data, uint32_t count);
int link_line_out(struct parts *l);
int link_quiet(struct parts *l);
int link_read(struct parts *l, uint32_t what, uint32_t side, uint64_t *value);
int link_write(struct parts *l, uint32_t what, uint32_t side, uint32_t value);

#endif
