/* Serial links, and the DMA streams that serve them. */
#ifndef LINK_H
#define LINK_H

#include "half_duplex.h"
#include "pins.h"

#define LINKS 6
#define STREAMS 16
#define ROOM 1024u /* sent bytes of a link */
#define LINE_PINS 3

/* A stream or channel, which hil/chip/stm32/serial.py describes. writable:
 * bits of its control word, of which `circular` has it start again. stays:
 * enabled after its last byte; flagged: not started with old flags, which its
 * end sets. usual: its control word at its last start, without the lowest bit,
 * which enables it, or 1; address, request: then in its registers. link,
 * sends: that it serves since. asked: its request in the multiplexer. group:
 * how many streams have their flags in one register, where it is the first of
 * them; half_flag, complete_flag, any_flag: its flags there; half_bits,
 * complete_bits: those that clear them. */
typedef struct {
    uint32_t control, left, peripheral, memory, reload;
    uint32_t writable, circular, usual, address, request, asked, group;
    uint32_t half_flag, complete_flag, any_flag, half_bits, complete_bits;
    int32_t half, complete, stays, flagged, sends, link;
} stream;

/* hil/chip/stm32/serial.py describes a link. receives, transmits, takes, gives:
 * the link and its DMA requests are switched on. asks: flags that request its
 * interrupt. wired: bits of CR3 make it one wire for both directions. line:
 * that wire, or 0. It is on the link's own pin, or with three pins behind a
 * transceiver that has an enable pin and an output. before, after: cycles for
 * which the transceiver drives the wire before the first byte and behind the
 * last one. by_reading: a read of the data register clears flags that a read of
 * the status register has shown. coming: bytes on the wire from `first` to
 * `last`, which are never reset, with their errors and the cycles at which they
 * arrive. room: number of such bytes that there is room for, a power of two.
 * until: cycle until which the line is busy. dma_cycles: cycles for which a
 * byte waits for DMA. held: byte in the data register; shifting: byte in the
 * shift register until `shifted`; -1 without a byte. cleared: TC was cleared
 * since the last byte was out. out: sent bytes. others: bytes that come while
 * it sends. streams: the stream that receives and the one that sends, or -1. */
typedef struct {
    due quiet; /* end of a byte's time of silence on the line */
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

/* Registers of a link, and of a stream; flags are those of a group. */
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
