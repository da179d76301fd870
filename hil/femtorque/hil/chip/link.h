/* Serial links, and the DMA streams that serve these links. */
#ifndef LINK_H
#define LINK_H

#include "half_duplex.h"
#include "pins.h"

#define LINKS 6
#define STREAMS 16
#define ROOM 1024u /* sent bytes of a link */
#define LINE_PINS 3

/* A stream or channel, which hil/chip/stm32/serial.py describes. writable: bits
 * of the control word that can be written. circular: the bit that makes the
 * stream start again. stays: the stream is enabled after its last byte.
 * flagged: the end of the stream sets flags, and the stream does not start
 * while they are set. usual: control word at the last start, without the enable
 * bit; 1 before the first start. address, request: of the last start. link,
 * sends: served link and direction. asked: request in the multiplexer. group:
 * number of streams with flags in one register; set for the first of them.
 * half_flag, complete_flag, any_flag: flags in that register. half_bits,
 * complete_bits: bits that clear them. */
typedef struct {
    uint32_t control, left, peripheral, memory, reload;
    uint32_t writable, circular, usual, address, request, asked, group;
    uint32_t half_flag, complete_flag, any_flag, half_bits, complete_bits;
    int32_t half, complete, stays, flagged, sends, link;
} stream;

/* hil/chip/stm32/serial.py describes a link. receives, transmits, takes, gives:
 * the directions of the link and their DMA requests are enabled. asks: flags
 * that raise the interrupt request. wired: bits of CR3 that select half duplex.
 * line: the half-duplex bus, or 0. Without a transceiver the half-duplex bus is
 * connected to the link's pin. A link with three pins has a transceiver with an
 * enable pin and an output. before, after: cycles for which the transceiver
 * drives the wire before the first byte and after the last byte. by_reading: a
 * read of the data register clears flags that a read of the status register has
 * shown. coming: bytes on the wire, with `errors` and the cycle at which each
 * byte `arrives`. first, last: numbers of these bytes, never reset. room:
 * number of places for coming bytes, a power of two. until: cycle until which
 * the line is busy. dma_cycles: cycles for which a byte waits for DMA. held:
 * byte in the data register, or -1. shifting: byte in the shift register until
 * cycle `shifted`, or -1. cleared: TC was cleared since the last byte was sent.
 * out: sent bytes. others: bytes that other nodes send at the same time.
 * streams: the stream that receives and the stream that sends, or -1. */
typedef struct {
    due quiet; /* end of a silence on the line that lasts for one byte */
    int32_t receives, transmits, takes, gives, by_reading, interrupt, pins;
    one_wire *line;
    switched_pin pin[LINE_PINS];
    uint32_t wired, asks, status, seen, received;
    int32_t held, shifting, cleared, streams[2];
    double byte_cycles, dma_cycles, before, after, until, shifted;
    uint32_t first, last, room, gone;
    double *arrives;
    uint8_t *coming, *errors, out[ROOM], others[ROOM];
    double others_end[ROOM];
} serial;

/* Registers of a link and a stream. STREAM_FLAGS: bits of each. */
enum { LINK_STATUS, LINK_DATA, LINK_SENDS, LINK_CLEAR };
enum {
    STREAM_CONTROL,
    STREAM_LEFT,
    STREAM_PERIPHERAL,
    STREAM_MEMORY,
    STREAM_FLAGS,
    STREAM_CLEAR,
    STREAM_REQUEST
};

struct parts;

void link_catch_up(struct parts *l, serial *k);
void link_line_in(struct parts *l, serial *k, const uint8_t *data,
                  uint32_t count, uint32_t errors);
void link_plug(serial *k, one_wire *line);
int link_sends_on_line(const struct parts *l, const serial *k);
void link_quiet(struct parts *l, serial *k);
void link_ask(const struct parts *l, const serial *k);
int link_read(struct parts *l, serial *k, uint32_t word, uint64_t *value);
int link_write(struct parts *l, serial *k, uint32_t word, uint32_t value);
void stream_start(struct parts *l, stream *s);
int stream_read(struct parts *l, stream *s, uint32_t word, uint64_t *value);
int stream_write(struct parts *l, stream *s, uint32_t word, uint32_t value);

#endif
