/* bxCAN of the STM32F405: RM0090 section 32. */
#ifndef BXCAN_H
#define BXCAN_H

#include "can.h"

#define BXCAN_WORDS 200 /* registers */
#define BXCANS 2
#define BXCAN_BOXES 3
#define BXCAN_DEPTH 3
#define BXCAN_BANKS 28

/* Bits of MCR and MSR. */
enum { BXCAN_INRQ = 1, BXCAN_SLEEP = 2, BXCAN_TXFP = 4, BXCAN_RFLM = 8 };
enum { BXCAN_NART = 0x10, BXCAN_ABOM = 0x40, BXCAN_RESET = 0x8000 };
enum { BXCAN_INAK = 1, BXCAN_SLAK = 2, BXCAN_ERRI = 4, BXCAN_SLAKI = 0x10 };
enum { BXCAN_TXM = 0x100, BXCAN_RXM = 0x200, BXCAN_SAMP = 0x400 };
enum { BXCAN_RX = 0x800 };

/* These bits of TSR are for mailbox 0. The bits of each next mailbox are eight
 * positions higher. The next bits belong to RF0R, ESR, TIR and RIR, BTR and
 * FMR. Bits of IER: FMPIE0 and the next two bits are for FIFO 0; the bits for
 * FIFO 1 are three positions higher. */
enum { BXCAN_RQCP0 = 1, BXCAN_TXOK0 = 2, BXCAN_ALST0 = 4, BXCAN_TERR0 = 8 };
enum { BXCAN_ABRQ0 = 0x80 };
enum { BXCAN_FULL0 = 8, BXCAN_FOVR0 = 0x10, BXCAN_RFOM0 = 0x20 };
enum { BXCAN_EWGF = 1, BXCAN_EPVF = 2, BXCAN_BOFF = 4 };
enum { BXCAN_TXRQ = 1, BXCAN_RTR = 2, BXCAN_IDE = 4, BXCAN_FINIT = 1 };
#define BXCAN_SILM 0x80000000u
enum { BXCAN_TMEIE = 1, BXCAN_FMPIE0 = 2, BXCAN_FFIE0 = 4, BXCAN_FOVIE0 = 8 };
enum { BXCAN_LECIE = 0x800, BXCAN_ERRIE = 0x8000, BXCAN_SLKIE = 0x20000 };

/* order: of the request. abort: the request ends with the frame. */
typedef struct {
    int32_t state, abort;
    uint32_t flags, order;
} bxcan_box;

/* slots: RIR, RDTR, RDLR and RDHR of each received frame. */
typedef struct {
    uint32_t slots[BXCAN_DEPTH][4], flags;
    int32_t count;
    task releases;
    struct bxcan *of;
} bxcan_fifo;

/* hil/chip/stm32f4/bxcan.py describes a controller. writable: writable bits of
 * each register. mode: present mode, as bits of MSR. wanted: the requested
 * mode. flags: flags of MSR. errors: last error flags of ESR. sending, offered:
 * numbers of mailboxes, or -1. orders: number of requests so far. recovers: the
 * wait for the end of bus off. */
typedef struct bxcan {
    can can;
    uint32_t words[BXCAN_WORDS], writable[BXCAN_WORDS];
    bxcan_box boxes[BXCAN_BOXES];
    bxcan_fifo fifos[2];
    uint32_t mode, wanted, flags, lec, errors, orders;
    int32_t sending, offered;
    waiter recovers;
} bxcan;

struct parts;

void bxcan_begin(struct parts *l, int32_t number);
void bxcan_reset(bxcan *b);
int bxcan_read(bxcan *b, uint32_t word, uint64_t *value);
int bxcan_write(bxcan *b, uint32_t word, uint32_t value);

#endif
